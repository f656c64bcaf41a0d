"""The columns that a SELECT or a RETURNING gives."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from dbdyno.workload.determined.row_set import Field, Level, RowSet, RowValue
from dbdyno.workload.determined.sql_tree import UnclearError, clause, words
from dbdyno.workload.determined.value import called, name_of, named, value


def is_star(item: exp.Expr) -> bool:
    """Whether it stands for several columns."""
    return isinstance(item, exp.Star) or (
        isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
    )


def outputs(items: Sequence[exp.Expr], level: Level, rows: RowSet) -> Iterator[Field]:
    """The columns that a SELECT or a RETURNING gives."""
    for item in items:
        if isinstance(item, exp.Star):
            yield from _starred(rows, level)
        elif is_star(item):
            source = level.sources.get(named(clause(item, "table"), level))
            if source is None:
                raise UnclearError(f"no table is known for `{words(item)}`")
            yield from _starred(source, level)
        else:
            made = settled(value(item.unalias(), level))
            name = _output_name(item, level)
            if isinstance(item, exp.Alias):
                level.outputs.setdefault(name, made)
            yield Field(name, made)


def _output_name(item: exp.Expr, level: Level) -> str:
    """How a column of the answer is called; empty: as the server likes."""
    if isinstance(item, exp.Alias):
        return named(clause(item, "alias"), level)
    if isinstance(item, exp.Column):
        return named(item.this, level)
    call = called(item.this if isinstance(item, exp.Window) else item)
    return "" if call is None or level.reading.catalog.backticks else name_of(call)


def _starred(rows: RowSet, level: Level) -> Iterator[Field]:
    for field in rows.fields:
        if level.group is None or level.fixes(level.group, field.value):
            yield field
        else:
            reason = f"`GROUP BY`{level.title} leaves open `{field.name}`"
            yield Field(field.name, replace(field.value, open=field.value.open or reason))


def settled(made: RowValue) -> RowValue:
    """A value of a group, which is open where the group does not fix it."""
    return replace(made, open=made.open or made.apart, apart="")
