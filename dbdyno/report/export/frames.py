"""The rows of an export, in pieces that fit memory, or whole as data frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.model import Json
from dbdyno.model.extra import library
from dbdyno.report.export import second_rows, step_rows, wait_rows
from dbdyno.report.export.form import FRAME_TYPES, ExportTable
from dbdyno.report.export.source import ExportSource
from dbdyno.report.export.step_rows import Rows
from dbdyno.report.export.tables import OF_RESULT, OF_STEPS, TABLES, by_name

if TYPE_CHECKING:
    from pandas import DataFrame

ROWS_MAX = 10_000
"""Rows of a piece: some megabytes."""

MAKERS: tuple[tuple[frozenset[str], Callable[[ExportSource], Rows]], ...] = (
    (
        frozenset({"plans", "arms", "settings", "comparisons", "verdicts", "doubts"})
        | {table.name for table in OF_RESULT},
        step_rows.facts,
    ),
    (
        frozenset({"steps", "metrics"}) | {table.name for table in OF_STEPS},
        step_rows.steps,
    ),
    (frozenset({"ticks", "clients"}), partial(ExportSource.each, read=second_rows.load)),
    (
        frozenset({"samples", "device_samples", "owner_samples"}),
        partial(ExportSource.each, read=second_rows.host),
    ),
    (frozenset({"wait_samples"}), partial(ExportSource.each, read=wait_rows.samples)),
)
"""Which tables are made together, as their rows come from the same files."""


def pieces(
    sources: Iterable[ExportSource], wanted: Collection[str]
) -> Iterator[tuple[ExportTable, list[Json]]]:
    """The rows of the tables named `wanted`, each time at most ROWS_MAX of one table."""
    for source in sources:
        for made, make in MAKERS:
            if here := made & set(wanted):
                yield from _cut(make(source), here)


def _cut(rows: Rows, wanted: Collection[str]) -> Iterator[tuple[ExportTable, list[Json]]]:
    waiting: dict[str, list[Json]] = {name: [] for name in wanted}
    for name, row in rows:
        if name in waiting:
            waiting[name].append(row)
            if len(waiting[name]) >= ROWS_MAX:
                yield by_name(name), waiting[name]
                waiting[name] = []
    for name, rest in waiting.items():
        if rest:
            yield by_name(name), rest


def frame(table: ExportTable, rows: list[Json]) -> DataFrame:
    """The rows as a data frame with the table's columns and types. Raises MissingLibraryError."""
    pandas = library("pandas", extra="frames")
    made: DataFrame = pandas.DataFrame(
        {
            column.name: pandas.Series(
                [row[column.name] for row in rows], dtype=FRAME_TYPES[column.type]
            )
            for column in table.columns
        }
    )
    return made


class Result:
    """Result folders as data frames: `result.steps`, `result.ticks` … (docs/export.md).

    A frame is made when it is asked for and not kept. `problems` says what could not be read of
    the frames that were made so far.
    """

    def __init__(self, *folders: Path | str, base: str | None = None) -> None:
        """Raises ResultError in one line where a folder holds no result."""
        self._sources = [ExportSource.open(Path(folder), base) for folder in folders]

    def table(self, name: str) -> DataFrame:
        """The table of this name as a data frame. Raises KeyError where there is none."""
        rows = [row for _, piece in pieces(self._sources, {name}) for row in piece]
        return frame(by_name(name), rows)

    def __getattr__(self, name: str) -> DataFrame:
        if name not in self.__dir__() or name.startswith("_"):
            known = ", ".join(table.name for table in TABLES)
            raise AttributeError(f"there is no table `{name}`; there are {known}")
        return self.table(name)

    def __dir__(self) -> list[str]:
        return ["table", "problems", *(table.name for table in TABLES)]

    @property
    def problems(self) -> list[str]:
        """One sentence for each thing that could not be read."""
        return [problem for source in self._sources for problem in source.problems]
