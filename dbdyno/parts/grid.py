"""Tables of things by arms: a row for each thing, the arms side by side under each figure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from dbdyno.model import StepComparison, StepRun
from dbdyno.model.metric.over import taken
from dbdyno.parts import number
from dbdyno.parts.colors import Tone
from dbdyno.parts.table import Column, Row, Table, TableCell

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class GridFigure(Generic[R]):
    """A figure of things: its heading, and how its mean over the blocks is written."""

    heading: str
    of: Callable[[R], float | None]
    words: Callable[[float], str] = number.number
    tone: Callable[[float], Tone] = lambda _: ""

    def cell(self, things: Iterable[R]) -> TableCell:
        """The mean of a thing's blocks; blank where none has a value."""
        mean = taken(map(self.of, things))
        if mean is None:
            return TableCell(text="")
        return TableCell(text=self.words(mean), tone=self.tone(mean))


@dataclass(frozen=True, kw_only=True)
class Grid(Generic[R]):
    """What a run has several of, each known by a group and a name."""

    heading: str  # of the names
    things: Callable[[StepRun], Iterable[R]]
    key: Callable[[R], tuple[str, str]]  # group and name
    figures: Sequence[GridFigure[R]]

    def table(self, step: StepComparison, *, name: str, title: str) -> Table:
        """A row for each thing, in the order of the runs; groups are named where several are."""
        things: dict[tuple[str, str], dict[str, list[R]]] = {}
        for run in step.runs:
            for thing in self.things(run):
                things.setdefault(self.key(thing), {}).setdefault(run.arm, []).append(thing)
        several = len({group for group, _ in things}) > 1
        under = [(figure, cell.arm) for figure in self.figures for cell in step.cells]
        return Table(
            name=name,
            title=title,
            columns=Column.heads(
                self.heading, *(Column(text=arm, group=figure.heading) for figure, arm in under)
            ),
            rows=tuple(
                Row.of(
                    called,
                    *(figure.cell(by_arm.get(arm, ())) for figure, arm in under),
                    group=group if several else "",
                )
                for (group, called), by_arm in things.items()
            ),
        )
