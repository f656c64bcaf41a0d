"""Tables from the facts of findings: their columns from the fields of rows, and their rows.

A field of facts that has a meaning (`dbdyno.model.facts.says`) is a table of its name; it is a
tuple of rows. Of a row, a field that has a meaning is a column; a ratio has its interval beside
it; a nested row adds columns that begin with the field's name (`of_base`: with `base`); a tuple of
figures is a column for each (`columns`), a tuple of names one text. A tuple of further rows makes a
row of each, which begins with the outer one; if they have a meaning they are a table of their own:
`work_functions` of `functions` in a row of `work`.
"""

import types
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Meta

from dbdyno.model import Comparison, Json, Ratio, StepRun
from dbdyno.model.facts import Facts
from dbdyno.report.export.form import RESULT, ExportColumn, ExportTable, Type

TYPES: Mapping[Any, Type] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    datetime: "time",
    Ratio: "number",
}


@dataclass(frozen=True, kw_only=True)
class RowField:
    """A field of a row, or of facts."""

    name: str
    form: Any  # its type, without what it means and without None
    meaning: Meta | None  # None: it is no column, and no table

    @property
    def row(self) -> Any:
        """The type of its rows, where it holds further rows; else None."""
        inner = get_args(self.form)[0] if get_origin(self.form) is tuple else None
        return inner if is_dataclass(inner) else None

    @property
    def what(self) -> str:
        """What it means."""
        return (self.meaning and self.meaning.description) or ""

    @property
    def extra(self) -> Mapping[str, str]:
        """What its meaning says besides: its unit and its table, or its columns."""
        return (self.meaning and self.meaning.extra) or {}

    def column(self, name: str, what: str) -> ExportColumn:
        """A column of the field's type and unit."""
        unit = self.extra.get("unit", "")
        return ExportColumn(name=name, type=TYPES[self.form], unit=unit, what=what)

    @property
    def table(self) -> str:
        """The name of its table."""
        return self.extra.get("table") or self.name


WHOSE = frozenset({"workload", "ordinal", "step", "base", "arm"})
"""The columns of a row that say whose it is; further rows with a table of their own have them."""
Told = tuple[ExportColumn, Callable[[Any], Any]]
"""A column, and how its value is had of a row."""


@cache
def fields_of(form: Any) -> tuple[RowField, ...]:
    """The fields of a row, or of facts, in their order."""
    hints = get_type_hints(form, include_extras=True)
    return tuple(_field(field.name, hints[field.name]) for field in fields(form))


def _field(name: str, hint: Any) -> RowField:
    meaning = next((part for part in get_args(hint)[1:] if isinstance(part, Meta)), None)
    form = hint if meaning is None else get_args(hint)[0]
    if get_origin(form) in (Union, types.UnionType):
        (form, *_) = (part for part in get_args(form) if part is not types.NoneType)
    if get_origin(form) is Literal:
        form = type(get_args(form)[0])
    return RowField(name=name, form=form, meaning=meaning)


# --- Tables ----------------------------------------------------------------------------------


def tables(facts: Any, key: tuple[ExportColumn, ...]) -> Iterator[ExportTable]:
    """The tables of a type of facts; `key`: the columns between those of the result and its own."""
    for field in fields_of(facts):
        if field.meaning is not None:
            whose = (*RESULT, *key)
            yield ExportTable(
                name=field.table, row=field.what, columns=(*whose, *_columns(field.row))
            )
            whose += tuple(column for column, _ in _own(field.row) if column.name in WHOSE)
            for inner in _apart(field.row):
                columns = (*whose, *_columns(inner.row))
                yield ExportTable(
                    name=f"{field.table}_{inner.name}", row=inner.what, columns=columns
                )


def _apart(form: Any) -> Iterator[RowField]:
    """The fields of a row that hold further rows, which are a table of their own."""
    return (field for field in fields_of(form) if field.row is not None and field.meaning)


def _columns(form: Any) -> Iterator[ExportColumn]:
    """The columns of a row, those of its further rows last."""
    yield from (column for column, _ in _own(form))
    further = _further(form)
    if further is not None:
        yield from _columns(further.row)


def _further(form: Any) -> RowField | None:
    """The field of a row that holds further rows, each of which is a row of the same table."""
    return next(
        (field for field in fields_of(form) if field.row is not None and not field.meaning), None
    )


@cache
def _own(form: Hashable, prefix: str = "") -> tuple[Told, ...]:
    """The columns of a row itself, and how their values are had."""
    return tuple(told for field in fields_of(form) for told in _of_field(field, prefix))


def _of_field(field: RowField, prefix: str) -> Iterator[Told]:
    name, get = f"{prefix}{field.name}", attrgetter(field.name)
    if field.row is not None or (field.meaning is None and not is_dataclass(field.form)):
        return
    if field.form is Ratio:
        ends = "" if field.name == "ratio" else f"{field.name}_"
        yield field.column(name, field.what), _then(get, attrgetter("value"))
        for end, what in (("low", "lower end"), ("high", "upper end")):
            said = f"{what} of its 95 % interval; null with one block"
            yield field.column(f"{prefix}{ends}{end}", said), _then(get, attrgetter(end))
    elif is_dataclass(field.form):
        nested: Any = field.form
        for column, inner in _own(nested, f"{prefix}{field.name.removeprefix('of_')}_"):
            what = f"{column.what}, {field.what}" if field.what else column.what
            yield replace(column, what=what), _then(get, inner)
    elif get_args(field.form) == (str, ...):
        text = ExportColumn(name=name, type="text", unit="", what=field.what)
        yield text, lambda row: ", ".join(get(row))
    elif get_origin(field.form) is tuple:
        form = TYPES[get_args(field.form)[0]]
        for place, (title, what) in enumerate(field.extra.items()):
            column = ExportColumn(name=title, type=form, unit="", what=what)
            yield column, _then(get, itemgetter(place))
    else:
        yield field.column(name, field.what), get


def _then(get: Callable[[Any], Any], inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A part of a part; None where that is not there."""

    def had(row: Any) -> Any:
        part = get(row)
        return None if part is None else inner(part)

    return had


# --- Rows ------------------------------------------------------------------------------------


def of_run(run: StepRun) -> Iterator[tuple[str, Json]]:
    """The rows of all findings of a step of a run, each with the name of its table."""
    for facts in run.findings.values():
        yield from rows(facts)


def of_comparison(comparison: Comparison) -> Iterator[tuple[str, Json]]:
    """The rows of all findings of a result, likewise."""
    for facts in comparison.findings.values():
        yield from rows(facts)


def rows(facts: Facts) -> Iterator[tuple[str, Json]]:
    """The rows of each table of facts, without the columns that they begin with."""
    form: Any = type(facts)
    for field in fields_of(form):
        for value in getattr(facts, field.name) if field.meaning is not None else ():
            yield from ((field.table, row) for row in _rows(value))
            yield from ((f"{field.table}_{name}", row) for name, row in _rows_apart(value))


def _rows_apart(value: Any) -> Iterator[tuple[str, Json]]:
    """Its further rows that are in tables of their own, with the names of their fields."""
    form: Any = type(value)
    whose = {column.name: get(value) for column, get in _own(form) if column.name in WHOSE}
    for field in _apart(form):
        for inner in getattr(value, field.name):
            yield from ((field.name, whose | row) for row in _rows(inner))


def _rows(value: Any) -> Iterator[Json]:
    """A row, or a row of each further one in it."""
    form: Any = type(value)
    own = {column.name: get(value) for column, get in _own(form)}
    further = _further(form)
    if further is None:
        yield own
    else:
        for inner in getattr(value, further.name):
            yield from (own | row for row in _rows(inner))
