"""What a trial is: a question, rows that answer it, and the commits whose programs are measured."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target" / "trials"
NOW = "now"

Figures = Mapping[str, float | str]
"""What one run says: numbers, and words such as a verdict."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """A commit whose programs are measured."""

    name: str  # `now`, or the commit as it was asked for
    commit: str  # as git describes it
    package: Path  # the folder in which its package `dbdyno` lies
    generator: Path  # its dyno-loadgen

    @property
    def dyno(self) -> list[str]:
        """The beginning of a command line of its `dyno`, to be run in `package`."""
        return [sys.executable, "-m", "dbdyno"]

    @property
    def environment(self) -> dict[str, str]:
        """What its `dyno` needs, to import its own package and to start its own generator."""
        own = {"PYTHONPATH": str(self.package), "DYNO_LOADGEN": str(self.generator)}
        return {**os.environ, **own}


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A run that has ended, as a line of the trial's file has it."""

    row: str
    side: str
    commit: str
    round: int
    figures: Figures


@dataclass(frozen=True, kw_only=True)
class Column:
    """A figure of the table."""

    figure: str
    heading: str  # with its unit
    digits: int = 2
    ratio: bool = False  # whether the table has the ratio of both sides, pair by pair


Measure = Callable[[Side], Figures]
"""One run of a row with the programs of a side."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A table that answers a question."""

    name: str
    question: str
    rounds: int  # so often each row is measured, with each side
    minutes: float  # about what that takes, with one side
    rows: tuple[str, ...]
    columns: tuple[Column, ...]
    opened: Callable[[], AbstractContextManager[Mapping[str, Measure]]]
    """What measures each row; what these share, such as a server, is there meanwhile."""
    summary: Callable[[Sequence[Kept]], Iterable[str]] | None = None
    """Further lines of Markdown below the table; None: the table is all."""
    by_row: bool = True  # whether the table has the rows, or the summary alone


def planned(trial: Trial, sides: Sequence[Side]) -> Iterator[tuple[str, Side, int]]:
    """All runs in their order: row, side and round, counted from 1.

    The sides of a row follow each other, so that their ratio is of one time; which is the first
    alternates. Every other round has the rows in reverse.
    """
    for number in range(1, trial.rounds + 1):
        for row in trial.rows if number % 2 else reversed(trial.rows):
            for side in sides if number % 2 else reversed(sides):
                yield row, side, number
