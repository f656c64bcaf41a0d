"""The form of an export's table: typed columns, and those that many tables begin with."""

from dataclasses import dataclass, replace
from typing import Literal

Type = Literal["text", "integer", "number", "boolean", "time"]

SQL_TYPES: dict[Type, str] = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "time": "TIMESTAMP",
}
FRAME_TYPES: dict[Type, str] = {
    "text": "string",
    "integer": "Int64",
    "number": "float64",
    "boolean": "boolean",
    "time": "datetime64[us]",
}
"""The same for pandas: whole numbers and truth values that may be missing, NaN for numbers."""


@dataclass(frozen=True, kw_only=True)
class ExportColumn:
    """A named column."""

    name: str
    type: Type
    unit: str  # empty where it has none
    what: str

    @property
    def comment(self) -> str:
        """The meaning, with the unit."""
        return f"{self.what} ({self.unit})" if self.unit else self.what


@dataclass(frozen=True, kw_only=True)
class ExportTable:
    """A table: what one of its rows is, and its columns."""

    name: str
    row: str
    columns: tuple[ExportColumn, ...]


def columns(text: str) -> tuple[ExportColumn, ...]:
    """Columns from lines of "name | type | unit | what"."""
    found = []
    for line in text.strip().splitlines():
        name, kind, unit, what = (part.strip() for part in line.split("|"))
        column = ExportColumn(name=name, type=kind, unit=unit, what=what)  # type: ignore[arg-type]
        assert column.type in SQL_TYPES, line
        found.append(column)
    return tuple(found)


RESULT = columns("""
    result | text | | the result folder, as it was named
    plan   | text | | the plan's name
""")

RUN = columns("""
    workload | text    | | the workload's name
    arm      | text    | | the arm's name
    block    | integer | | the block's number, from 1
    void     | integer | | 0; where this is a void try of the block: 1 for the first, and so on
    judged   | boolean | | whether the block is complete and not void: only then reports count it
    ordinal  | integer | | the step's place in its workload, from 1
    step     | text    | | the step's name
""")


def table(name: str, row: str, own: str) -> ExportTable:
    """A table whose rows begin with the result and the step of a run."""
    made = of_result(name, row, own)
    return replace(made, columns=(*RESULT, *RUN, *made.columns[len(RESULT) :]))


def of_result(name: str, row: str, own: str) -> ExportTable:
    """A table whose rows begin with the result alone."""
    return ExportTable(name=name, row=" ".join(row.split()), columns=(*RESULT, *columns(own)))
