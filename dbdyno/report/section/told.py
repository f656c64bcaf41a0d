"""The metrics that a step's workload defines, arm by arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dbdyno.model import Cell, StepComparison, ToldMetric
from dbdyno.model.metric.over import Over
from dbdyno.parts import cells
from dbdyno.parts.part import Column, Group, Row, Section, Subject, Table, TableCell

DIGITS = 3
"""Of a difference, whose unit is the workload's."""


def table(step: StepComparison, base: str, prefix: str) -> Table | None:
    """A row for each metric, a column for each arm, then each arm by the base."""
    shown: dict[str, ToldMetric] = {}
    for result in step.cells:
        for run in result.runs:
            shown |= {name: one for name, one in run.told.items() if name not in shown}
    if not shown:
        return None
    others = step.cells[1:]
    overs = {name: _over(step, name) for name in shown}
    rows = tuple(
        Row(
            cells=(
                TableCell(text=one.title),
                *(_cell(result, name, overs[name]) for result in step.cells),
                *(cells.beside(result.own_values.get(name), DIGITS) for result in others),
                TableCell(text=one.unit),
                TableCell(text=one.better or ""),
            )
        )
        for name, one in shown.items()
    )
    count = max(len(result.runs) for result in step.cells)
    return Table(
        name=f"{prefix}-told",
        title="What the step tells",
        columns=(
            Column(text="metric", left=True),
            *(Column(text=result.arm, arm=result.arm) for result in step.cells),
            *(Column(text=result.arm, group=f"beside {base}", arm=result.arm) for result in others),
            Column(text="unit", left=True),
            Column(text="better", left=True, title="which way is better"),
        ),
        rows=rows,
        note=cells.sentences(
            "Values that the workload defines, read from what statements returned or asked of the "
            "server after the load, and imported metrics of a provider; no verdict uses them.",
            cells.blocks_note(count),
        ),
    )


def _values(result: Cell, name: str) -> list[float | str]:
    """The arm's values, block by block."""
    told = (run.told.get(name) for run in result.runs)
    return [one.value for one in told if one is not None and one.value is not None]


def _over(step: StepComparison, name: str) -> Over:
    """As the estimates take it: what is nothing in a block has no ratio."""
    compared = [estimate.kind for cell in step.cells if (estimate := cell.own_values.get(name))]
    return "ratio" if compared and "difference" not in compared else "sum"


def _cell(result: Cell, name: str, over: Over) -> TableCell:
    """The figure of numbers; of texts each that was told, the most frequent first."""
    values = _values(result, name)
    texts = [value for value in values if isinstance(value, str)]
    if not texts:
        known = [value for value in values if not isinstance(value, str)]
        return cells.over_blocks(known, over=over)
    counted = Counter(texts).most_common()
    if len(counted) == 1:
        return TableCell(text=texts[0])
    return TableCell(text=", ".join(f"{text} ({count})" for text, count in counted))


def _parts(subject: Subject) -> Iterable[Group]:
    found = table(subject.step, subject.base, subject.anchor)
    if found is not None:
        name = f"{subject.anchor}-told-part"
        yield Group(name=name, title="", parts=(found,), entry="told", pair=True)


SECTION = Section("step", _parts)
