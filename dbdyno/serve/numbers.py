"""The tables of `dyno export` for one result: on a page, as CSV and as JSON."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec

from dbdyno.model import Json
from dbdyno.parts import number
from dbdyno.report.export.form import ExportColumn, ExportTable
from dbdyno.report.export.frames import pieces
from dbdyno.report.export.source import ExportSource
from dbdyno.report.export.tables import TABLES
from dbdyno.serve.folders import ListedResult
from dbdyno.serve.frame import Frame
from dbdyno.store import Results, safe_name

FIRST = "steps"
"""The table that is shown where none is named."""
ROWS_MAX = 300
"""Rows on a page; files have all."""
KNOWN = frozenset({"result", "plan"})
"""Columns that say the same in every row of one result."""
FORMS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


@dataclass(frozen=True, kw_only=True)
class TableExcerpt:
    """The first rows of a table, as texts."""

    columns: tuple[ExportColumn, ...]
    rows: list[list[str]]
    more: bool  # whether there are others


def page(frame: Frame, result: ListedResult, table: ExportTable) -> str:
    """A table's first rows, with the ways to the others and to the files."""
    body = frame.filled(
        "numbers.html.j2",
        result=result,
        table=table,
        tables=TABLES,
        shown=shown(result, table),
        rows_max=ROWS_MAX,
    )
    title = f"{result.plan}: {table.name}"
    return frame.page(title, body, at="numbers", result=result)


def shown(result: ListedResult, table: ExportTable) -> TableExcerpt:
    """The first rows of a table; of a large one no more is read than they need."""
    columns = tuple(column for column in table.columns if column.name not in KNOWN)
    rows = list(islice(_rows(result, table, columns), ROWS_MAX + 1))
    return TableExcerpt(columns=columns, rows=rows[:ROWS_MAX], more=len(rows) > ROWS_MAX)


def text(result: ListedResult, table: ExportTable, form: str) -> Iterator[str]:
    """All rows as CSV, or as one JSON array, in pieces. Raises ResultError before the first."""
    made = _pieces(result, table)
    return _csv(table, made) if form == "csv" else _json(table, made)


def file_name(result: ListedResult, table: ExportTable, form: str) -> str:
    """The name under which a browser saves the file."""
    return f"{safe_name(result.plan)}-{table.name}.{form}"


def _pieces(result: ListedResult, table: ExportTable) -> Iterator[list[Json]]:
    source = ExportSource(result.key, Results.open(result.path))
    return (rows for _, rows in pieces([source], {table.name}))


def _rows(
    result: ListedResult, table: ExportTable, columns: tuple[ExportColumn, ...]
) -> Iterator[list[str]]:
    for rows in _pieces(result, table):
        for row in rows:
            yield [_cell(row[column.name], column) for column in columns]


def _cell(value: object, column: ExportColumn) -> str:
    """A value as a reader wants it; nothing where it is unknown."""
    if value is None or value != value:
        return ""
    if column.type == "number" and isinstance(value, float | int):
        return number.number(float(value))
    if column.type == "boolean":
        return "yes" if value else "no"
    if column.type == "time":
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return str(value)


def _csv(table: ExportTable, made: Iterator[list[Json]]) -> Iterator[str]:
    names = [column.name for column in table.columns]
    yield ",".join(names) + "\n"
    for rows in made:
        text = io.StringIO()
        writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
        writer.writerows(rows)
        yield text.getvalue()


def _json(table: ExportTable, made: Iterator[list[Json]]) -> Iterator[str]:
    before = "["
    for rows in made:
        wanted = [{column.name: row[column.name] for column in table.columns} for row in rows]
        yield before + msgspec.json.encode(wanted).decode()[1:-1]
        before = ","
    yield "[]" if before == "[" else "]"
