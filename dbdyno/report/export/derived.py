"""Tables from the facts of findings: their columns from the fields of rows, and their rows.

A field of facts that is a tuple of rows is a table of the field's name. Of a row, a field that has
a meaning (`dbdyno.model.facts.says`) is a column; a nested row adds columns that begin with the
field's name; a tuple of further rows makes a row of each, which begins with the outer one.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Meta

from dbdyno.model import Json, StepRun
from dbdyno.model.facts import Facts
from dbdyno.report.export.form import RESULT, RUN, Column, Table, Type

TYPES: Mapping[type, Type] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    datetime: "time",
}


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a row, or of facts."""

    name: str
    form: Any  # its type, without what it means and without None
    meaning: Meta | None  # None: it says nothing of its own

    @property
    def column(self) -> Column:
        """The field as a column of its own."""
        assert self.meaning is not None, f"{self.name} has no meaning"
        extra = self.meaning.extra or {}
        return Column(
            name=self.name,
            type=TYPES[self.form],
            unit=str(extra["unit"]),
            what=self.meaning.description or "",
        )

    @property
    def rows(self) -> Any:
        """What its rows are, where it holds further rows."""
        if get_origin(self.form) is tuple:
            inner = get_args(self.form)[0]
            return inner if is_dataclass(inner) else None
        return None


@cache
def fields_of(form: Any) -> tuple[Field, ...]:
    """The fields of a row, or of facts, in their order."""
    hints = get_type_hints(form, include_extras=True)
    return tuple(_field(field.name, hints[field.name]) for field in fields(form))


def _field(name: str, hint: Any) -> Field:
    meaning = next((part for part in get_args(hint)[1:] if isinstance(part, Meta)), None)
    form = get_args(hint)[0] if meaning is not None else hint
    if get_origin(form) in (Union, types.UnionType):
        (form,) = (part for part in get_args(form) if part is not types.NoneType)
    if get_origin(form) is Literal:
        form = type(get_args(form)[0])
    return Field(name=name, form=form, meaning=meaning)


def tables(facts: type[Facts], *, key: tuple[Column, ...] = RUN) -> Iterator[Table]:
    """The tables of a finding; `key`: the columns after those of the result."""
    whole: Any = facts  # for mypy, to which a type of dataclasses has no hash
    for field in fields_of(whole):
        form = field.rows
        if form is not None:
            assert field.meaning is not None, f"{field.name}: what is one of its rows?"
            columns = (*RESULT, *key, *_columns(form))
            yield Table(name=field.name, row=field.meaning.description or "", columns=columns)


def _columns(form: Any, prefix: str = "") -> Iterator[Column]:
    """The columns of a row, those of further rows last."""
    inner: list[Any] = []
    for field in fields_of(form):
        if field.rows is not None:
            inner.append(field.rows)
        elif is_dataclass(field.form):
            yield from _columns(field.form, f"{prefix}{field.name}_")
        else:
            column = field.column
            yield Column(
                name=f"{prefix}{field.name}", type=column.type, unit=column.unit, what=column.what
            )
    for rows in inner:
        yield from _columns(rows, prefix)


def rows(facts: Facts) -> Iterator[tuple[str, Json]]:
    """The rows of each table of a finding, without the columns that they begin with."""
    whole: Any = type(facts)
    for field in fields_of(whole):
        if field.rows is not None:
            for value in getattr(facts, field.name):
                yield from ((field.name, row) for row in _rows(value))


def of_run(run: StepRun) -> Iterator[tuple[str, Json]]:
    """The rows of all findings of a step of a run, each with the name of its table."""
    for facts in run.findings.values():
        yield from rows(facts)


def _rows(value: Any, prefix: str = "") -> Iterable[Json]:
    """A row, or a row of each further one in it."""
    own: Json = {}
    inner: list[Any] = []
    further = False
    form: Any = type(value)
    for field in fields_of(form):
        content = getattr(value, field.name)
        if field.rows is not None:
            further = True
            inner += content
        elif is_dataclass(field.form):
            empty = dict.fromkeys(column.name for column in _columns(field.form))
            (nested,) = [empty] if content is None else _rows(content)
            own |= {f"{prefix}{field.name}_{name}": each for name, each in nested.items()}
        else:
            own[f"{prefix}{field.name}"] = content
    if not further:
        return [own]
    return [own | row for value in inner for row in _rows(value, prefix)]
