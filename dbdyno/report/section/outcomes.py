"""How the operations of a step ended, by name: what completed apart from what rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dbdyno.model import Outcomes, StepComparison
from dbdyno.model.headlines import Kind, kind_of
from dbdyno.model.metric.over import taken
from dbdyno.parts import cells, number
from dbdyno.parts.part import Column, Row, Table, TableCell

_WAYS: tuple[tuple[str, Callable[[Outcomes], int]], ...] = (
    ("completed", lambda ended: ended.completed),
    ("rolled back", lambda ended: ended.rolled_back),
    ("failed", lambda ended: ended.failed),
    ("tried again", lambda ended: ended.retried),
)


def table(step: StepComparison, prefix: str) -> Iterable[Table]:
    """A row for each operation; nothing where all that ended completed or failed."""
    every = _ended(step)
    names = list(dict.fromkeys((ended.role, ended.name) for ended in every))
    if not names:
        return
    several = len({role for role, _ in names}) > 1
    yield Table(
        name=f"{prefix}-outcomes",
        title="Operations",
        columns=(
            Column(text="operation", left=True),
            *(Column(text=cell.arm, group=way) for way, _ in _WAYS for cell in step.cells),
        ),
        rows=tuple(
            Row(
                cells=(TableCell(text=name), *_row(step, role, name)), group=role if several else ""
            )
            for role, name in names
        ),
        note=" ".join(_notes(step, every)),
    )


def headline_of(step: StepComparison) -> Kind:
    """What its headline counts: the operations that it names, where it does."""
    return kind_of(step.headline, named(_ended(step)))


def _ended(step: StepComparison) -> list[Outcomes]:
    return [ended for cell in step.cells for run in cell.runs for ended in run.roles.outcomes]


def named(every: Sequence[Outcomes]) -> list[str]:
    """The operations that a headline counts, where it does not count all."""
    counted = dict.fromkeys(ended.name for ended in every if ended.counted)
    return list(counted) if len(counted) < len({ended.name for ended in every}) else []


def _row(step: StepComparison, role: str, name: str) -> Iterable[TableCell]:
    for _, way in _WAYS:
        for cell in step.cells:
            own = [
                way(ended)
                for run in cell.runs
                for ended in run.roles.outcomes
                if (ended.role, ended.name) == (role, name)
            ]
            yield TableCell(text=number.number(taken(own)) if own else "")


def _notes(step: StepComparison, every: Sequence[Outcomes]) -> Iterable[str]:
    """What the counts are, and which of them are the throughput."""
    yield "Whole operations in the window; what rolled back was to do so, and is no error."
    if counted := named(every):
        yield f"The throughput counts what completed of {', '.join(counted)}."
    if any(len(cell.runs) > 1 for cell in step.cells):
        yield f"{cells.MEANS}."
