"""What of a query's answer is open, in a line each; and which columns its ORDER BY names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dbdyno.model.catalog import Catalog
from dbdyno.workload.determined.query import query
from dbdyno.workload.determined.row_set import Level, QueryReading, RowSet
from dbdyno.workload.determined.sql_tree import UnclearError, order_items, parsed


@dataclass(frozen=True)
class OpenPart:
    """A part of an answer that neither the text nor the data determine, and why."""

    reason: str
    columns: tuple[int, ...] | None = None  # their values, from 0; None: which rows come
    order: bool = False  # only the order of their values


def of(text: str, catalog: Catalog, names: Sequence[str]) -> list[OpenPart]:
    """The open parts of a query's answer, which has columns of these names.

    Raises ServerError.
    """
    try:
        tree = parsed(text, backticks=catalog.backticks)
        rows = query(tree, Level(QueryReading(catalog, query)))
    except UnclearError as unclear:
        return [OpenPart(str(unclear))]
    except RecursionError:
        return [OpenPart("the query is too deep to be followed")]
    if rows.open:
        return [OpenPart(rows.open)]
    parts = list(_of_columns(rows, ordered=bool(order_items(tree))))
    if parts and not _same(rows, names):
        every = tuple(range(len(names))) if parts[0].order else None
        return [OpenPart(parts[0].reason, every, order=parts[0].order)]
    return parts


def _of_columns(rows: RowSet, *, ordered: bool) -> Iterator[OpenPart]:
    """The columns whose values are open, then those of which the order alone is."""
    opened = [field.value.open for field in rows.fields]
    for place, reason in enumerate(opened):
        if reason:
            yield OpenPart(reason, (place,))
    for place, reason in enumerate(rows.sequence if ordered else ()):
        if reason and not opened[place]:
            yield OpenPart(reason, (place,), order=True)


def _same(rows: RowSet, names: Sequence[str]) -> bool:
    """Whether the columns that were read are those of the answer."""
    own = [field.name.lower() for field in rows.fields]
    return (
        rows.complete
        and len(own) == len(names)
        and all(not name or name == given.lower() for name, given in zip(own, names, strict=True))
    )


def ordered(text: str, names: Sequence[str], *, backticks: bool) -> tuple[int, ...]:
    """The places, from 0, of an answer's columns that the outermost ORDER BY names."""
    try:
        items = order_items(parsed(text, backticks=backticks))
    except UnclearError:
        return ()
    lower = [name.lower() for name in names]
    places = []
    for key in items:
        if isinstance(key, exp.Literal) and not key.is_string:
            places.append(int(key.this) - 1)
        elif isinstance(key, exp.Column) and key.name.lower() in lower:
            places.append(lower.index(key.name.lower()))
    return tuple(place for place in places if 0 <= place < len(names))
