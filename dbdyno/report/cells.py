"""Rows of a table that has one for each arm in each of its groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dbdyno.model import Cell as Result
from dbdyno.model import StepComparison
from dbdyno.report.parts import Cell, Row


def rows(
    step: StepComparison,
    groups: Mapping[str, str],
    cells: Callable[[Result, str], Iterable[Cell]],
) -> tuple[Row, ...]:
    """A group for each key of `groups`, named as its value; in it what `cells` has of each arm."""
    return tuple(
        Row(cells=(Cell(text=result.arm), *cells(result, key)), group=name, arm=result.arm)
        for key, name in groups.items()
        for result in step.cells
    )
