"""How the operations of a step ended, by name: what completed apart from what rolled back."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.findings.outcomes.facts import OutcomeFacts, Outcomes, named, outcomes_of
from dbdyno.model import StepComparison
from dbdyno.parts import cells
from dbdyno.parts.grid import Grid, GridFigure
from dbdyno.parts.part import Group, Section, Subject, Table

_WAYS: tuple[GridFigure[Outcomes], ...] = (
    GridFigure(heading="completed", of=lambda ended: ended.completed),
    GridFigure(heading="rolled back", of=lambda ended: ended.rolled_back),
    GridFigure(heading="failed", of=lambda ended: ended.failed),
    GridFigure(heading="tried again", of=lambda ended: ended.retried),
)


def table(step: StepComparison, prefix: str) -> Table:
    """A row for each operation."""
    grid = Grid(
        step=step,
        things=lambda run: run.of(OutcomeFacts).outcomes,
        key=lambda ended: (ended.role, ended.name),
        figures=_WAYS,
    )
    return Table(
        name=f"{prefix}-outcomes",
        title="Operations",
        columns=grid.columns("operation"),
        rows=grid.rows,
        note=" ".join(_notes(step)),
    )


def _notes(step: StepComparison) -> Iterable[str]:
    """What the counts are, and which of them are the throughput."""
    yield "Whole operations in the window; what rolled back was to do so, and is no error."
    if counted := named(outcomes_of(step)):
        yield f"The throughput counts what completed of {', '.join(counted)}."
    if any(len(cell.runs) > 1 for cell in step.cells):
        yield f"{cells.MEANS}."


def _parts(subject: Subject) -> Iterable[Group]:
    if outcomes_of(subject.step):
        yield Group(
            name=f"{subject.anchor}-outcomes-part",
            title="",
            parts=(table(subject.step, subject.anchor),),
            entry="operations",
            pair=True,
        )


SECTION = Section("step", _parts)
