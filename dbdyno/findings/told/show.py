"""The metrics that a step's workload defines, arm by arm."""

from collections import Counter
from collections.abc import Iterable

from dbdyno.model import Cell, StepComparison, ToldFacts, ToldValue
from dbdyno.model.metric.over import over_of
from dbdyno.parts import cells
from dbdyno.parts.part import Group, Section
from dbdyno.parts.table import Column, Row, Table, TableCell

DIGITS = 3
"""Of a difference, whose unit is the workload's."""


def tables(step: StepComparison, base: str, prefix: str) -> Iterable[Table]:
    """A row for each metric, a column for each arm, then each arm by the base."""
    shown: dict[str, ToldValue] = {}
    for facts in step.each(ToldFacts):
        shown = {value.metric: value for value in facts.told} | shown
    if not shown:
        return
    others = step.cells[1:]
    yield Table(
        name=f"{prefix}-told",
        title="What the step tells",
        columns=Column.heads(
            "metric",
            *(Column(text=cell.arm, arm=cell.arm) for cell in step.cells),
            *(Column(text=cell.arm, group=f"beside {base}", arm=cell.arm) for cell in others),
            Column(text="unit", left=True),
            Column(text="better", left=True, title="which way is better"),
        ),
        rows=tuple(
            Row.of(
                value.title,
                *(_cell(step, cell, value.metric) for cell in step.cells),
                *(cells.beside(cell.own_values.get(value.metric), DIGITS) for cell in others),
                value.unit or "",
                value.better or "",
            )
            for value in shown.values()
        ),
        note=cells.sentences(
            "Values that the workload defines, read from what statements returned or asked of the "
            "server after the load, and imported metrics of a provider; no verdict uses them.",
            cells.blocks_note(step.blocks),
        ),
    )


def _cell(step: StepComparison, cell: Cell, metric: str) -> TableCell:
    """The figure of numbers; of texts each that was told, the most frequent first."""
    texts = [
        value.text
        for facts in cell.each(ToldFacts)
        for value in facts.told
        if value.metric == metric and value.text is not None
    ]
    if not texts:
        numbers = (facts.numbers.get(metric) for facts in cell.each(ToldFacts))
        over = over_of(facts.numbers.get(metric) for facts in step.each(ToldFacts))
        return cells.over_blocks(numbers, over=over)
    counted = Counter(texts).most_common()
    if len(counted) == 1:
        return TableCell(text=texts[0])
    return TableCell(text=", ".join(f"{text} ({count})" for text, count in counted))


SECTION = Section.grouped(
    "step",
    lambda subject: tables(subject.step, subject.base, subject.anchor),
    Group(name="-told-part", entry="told", pair=True),
)
