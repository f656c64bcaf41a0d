"""Writes an export: one DuckDB file with all tables, or files of CSV, JSON or Parquet.

Everything goes through a DuckDB file, so that memory stays bounded and all forms say the same. A
file that is already there is replaced whole, or not at all.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dbdyno.model.error import ExportError
from dbdyno.model.extra import library
from dbdyno.report.export.form import SQL_TYPES, ExportTable
from dbdyno.report.export.frames import pieces
from dbdyno.report.export.source import ExportSource
from dbdyno.report.export.tables import TABLES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DATABASE = "duckdb"
COPY_OPTIONS = {
    "csv": "FORMAT csv, HEADER",
    "json": "FORMAT json, ARRAY",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
}
FORMATS = ("csv", "json", "parquet", DATABASE)
DEFAULT_TABLE = "steps"
DEFAULT_FORMAT = "parquet"
READABLE_FROM = "v1.0.0"
"""The oldest DuckDB that can open a database of ours, whatever version writes it."""
MEMORY_MAX = "128MB"
"""Of DuckDB's own; beyond it works on disk. It has one thread, as each takes memory of its own."""


@dataclass(frozen=True, kw_only=True)
class ExportSummary:
    """The outcome of an export."""

    files: dict[Path, int]  # rows by file
    problems: tuple[str, ...]  # what could not be read, a sentence each


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """The tables to write, and their files."""

    to: Path
    format: str
    tables: tuple[str, ...]
    folder: bool  # a file for each table in the folder `to`

    @property
    def files(self) -> dict[str, Path]:
        """The file of each table, of all forms but the database's."""
        names = {name: self.to / f"{name}.{self.format}" for name in self.tables}
        return names if self.folder else dict.fromkeys(self.tables, self.to)


def export(folders: Sequence[Path], wish: ExportRequest, base: str | None = None) -> ExportSummary:
    """Writes the results in `folders` as `wish` says.

    Raises ResultError where a folder holds no result, ExportError where the place cannot be
    written.
    """
    seen: dict[Path, Path] = {}
    for folder in folders:
        if (first := seen.setdefault(folder.resolve(), folder)) is not folder:
            raise ExportError(f"{folder}: is the same folder as {first}; name each once")
    sources = [ExportSource.open(folder, base) for folder in folders]
    try:
        if wish.folder:
            wish.to.mkdir(parents=True, exist_ok=True)
        parent = wish.to if wish.folder else wish.to.parent
        with tempfile.TemporaryDirectory(dir=parent, prefix=".dyno-export-") as temporary:
            files = _write(sources, wish, Path(temporary))
    except OSError as error:
        raise ExportError(f"{wish.to}: cannot be written: {error.strerror}") from error
    problems = tuple(problem for source in sources for problem in source.problems)
    return ExportSummary(files=files, problems=problems)


def wish(to: str, table: str | None, form: str | None) -> ExportRequest:
    """What the words of a command line ask for.

    A folder ends in `/` or is there already. Raises ExportError naming what does not fit.
    """
    known = [one.name for one in TABLES]
    if table is not None and table not in known:
        raise ExportError(f"--table {table}: there is no such table; there are {', '.join(known)}")
    path = Path(to)
    if to.endswith("/") or path.is_dir():
        return _folder_wish(path, table, form)
    ending = path.suffix.removeprefix(".")
    if ending not in FORMATS:
        raise ExportError(
            f"--to {to}: the ending says the form: .csv, .json, .parquet or .duckdb; a folder ends "
            f"in /"
        )
    if form not in (None, ending):
        raise ExportError(f"--format {form}: {to} ends in .{ending}; leave --format out")
    tables = (table,) if table else tuple(known) if ending == DATABASE else (DEFAULT_TABLE,)
    return ExportRequest(to=path, format=ending, tables=tables, folder=False)


def _folder_wish(path: Path, table: str | None, form: str | None) -> ExportRequest:
    form = form or DEFAULT_FORMAT
    if form not in COPY_OPTIONS:
        one_of = ", ".join(COPY_OPTIONS)
        raise ExportError(f"--format {form}: a folder takes {one_of}; name a file for a database")
    tables = (table,) if table else tuple(one.name for one in TABLES)
    return ExportRequest(to=path, format=form, tables=tables, folder=True)


# --- Through DuckDB --------------------------------------------------------------------------


def _write(
    sources: Iterable[ExportSource], wish: ExportRequest, temporary: Path
) -> dict[Path, int]:
    """Fills a database in `temporary`; moves it, or what is copied from it, to its place."""
    database = temporary / "all.duckdb"
    with _opened(database, temporary) as connection:
        _fill(connection, sources, wish.tables, temporary / "rows.jsonl")
        rows = {name: _count(connection, name) for name in wish.tables}
        if wish.format != DATABASE:
            for name in wish.tables:
                to = f"{_text(str(temporary / name))} ({COPY_OPTIONS[wish.format]})"
                connection.execute(f'COPY "{name}" TO {to}')
    if wish.format == DATABASE:
        _move(database, wish.to)
        return {wish.to: sum(rows.values())}
    for name, target in wish.files.items():
        _move(temporary / name, target)
    return {target: rows[name] for name, target in wish.files.items()}


@contextmanager
def _opened(database: Path, temporary: Path) -> Iterator[DuckDBPyConnection]:
    duckdb = library("duckdb", extra="export")
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY_MAX,
        "threads": 1,
        "storage_compatibility_version": READABLE_FROM,
        "temp_directory": str(temporary / "spill"),
    }
    connection = duckdb.connect(str(database), config=settings)
    try:
        yield connection
    except duckdb.Error as error:
        raise ExportError(f"the export cannot be written: {str(error).splitlines()[0]}") from error
    finally:
        connection.close()


def _fill(
    connection: DuckDBPyConnection,
    sources: Iterable[ExportSource],
    wanted: Collection[str],
    rows_file: Path,
) -> None:
    for table in TABLES:
        if table.name in wanted:
            for statement in definition(table):
                connection.execute(statement)
    encoder = msgspec.json.Encoder()
    for table, rows in pieces(sources, wanted):
        rows_file.write_bytes(encoder.encode_lines(rows))
        types = {column.name: SQL_TYPES[column.type] for column in table.columns}
        read = "FROM read_json(?, columns = ?, format = 'newline_delimited')"
        connection.execute(f'INSERT INTO "{table.name}" {read}', [str(rows_file), types])


def definition(table: ExportTable) -> list[str]:
    """The SQL that makes a table, and that says what it and its columns are."""
    columns = ", ".join(f'"{column.name}" {SQL_TYPES[column.type]}' for column in table.columns)
    return [
        f'CREATE TABLE "{table.name}" ({columns})',
        f'COMMENT ON TABLE "{table.name}" IS {_text(f"One row: {table.row}")}',
        *(
            f'COMMENT ON COLUMN "{table.name}"."{column.name}" IS {_text(column.comment)}'
            for column in table.columns
        ),
    ]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _count(connection: DuckDBPyConnection, table: str) -> int:
    found = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()
    assert found is not None
    return int(found[0])


def _move(path: Path, target: Path) -> None:
    """Puts a finished file in its place, synced."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
    path.replace(target)
