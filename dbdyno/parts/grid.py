"""Tables of things by arms: a row for each thing, the arms side by side under each figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from dbdyno.model import Cell, StepComparison, StepRun
from dbdyno.model.metric.over import taken
from dbdyno.parts import number
from dbdyno.parts.colors import Tone
from dbdyno.parts.part import Column, Row, TableCell

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class GridFigure(Generic[R]):
    """A figure of things: its heading, and how its mean over the blocks is written."""

    heading: str
    of: Callable[[R], float | None]
    words: Callable[[float], str] = number.number
    tone: Callable[[float], Tone] = lambda _: ""


@dataclass(frozen=True, kw_only=True)
class Grid(Generic[R]):
    """Things of a step's runs by arms; `key`: the group and the name of a thing."""

    step: StepComparison
    things: Callable[[StepRun], Iterable[R]]
    key: Callable[[R], tuple[str, str]]
    figures: Sequence[GridFigure[R]]

    def columns(self, first: str) -> tuple[Column, ...]:
        """The things' names, then each figure of each arm."""
        return (
            Column(text=first, left=True),
            *(
                Column(text=cell.arm, group=figure.heading)
                for figure in self.figures
                for cell in self.step.cells
            ),
        )

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The groups and names of all things, in the order in which runs have them."""
        things = (thing for run in self.step.runs for thing in self.things(run))
        return list(dict.fromkeys(map(self.key, things)))

    @property
    def rows(self) -> tuple[Row, ...]:
        """A row for each thing; groups have their names where there are several."""
        keys = self.keys
        several = len({group for group, _ in keys}) > 1
        return tuple(
            Row(
                cells=(
                    TableCell(text=key[1]),
                    *(
                        self._cell(cell, key, figure)
                        for figure in self.figures
                        for cell in self.step.cells
                    ),
                ),
                group=key[0] if several else "",
            )
            for key in keys
        )

    def _cell(self, cell: Cell, key: tuple[str, str], figure: GridFigure[R]) -> TableCell:
        """The mean of the blocks; blank where none has a value."""
        things = (thing for run in cell.runs for thing in self.things(run))
        mean = taken(figure.of(thing) for thing in things if self.key(thing) == key)
        if mean is None:
            return TableCell(text="")
        return TableCell(text=figure.words(mean), tone=figure.tone(mean))
