"""The evidence of all blocks so far, in figures: words come at looks alone."""

from __future__ import annotations

from dbdyno.model import Cell, Comparison
from dbdyno.model.metric.primary import called
from dbdyno.model.verdict import Judgement
from dbdyno.parts import number
from dbdyno.report.section.headline import step_name

COLUMNS = 80
NAME_MAX = 36
"""Signs of a step's name, and of an arm's; fewer where figures, which are whole, need the room."""
STEPS_MAX = 12
"""So many steps are shown, the others counted."""


def lines(comparison: Comparison) -> list[str]:
    """A line for each step and arm, at most 80 columns: ratio to the base and its interval."""
    rows = [
        (step_name(comparison, step), cell)
        for step in comparison.steps
        for cell in step.cells[1:]
        if cell.verdict is not None and cell.verdict.judgements
    ]
    if not rows:
        return []
    several = len(comparison.arms) > 2
    names = [f"{name} {cell.arm}" if several else name for name, cell in rows]
    figures = [of_cell(cell) for _, cell in rows]
    room = COLUMNS - 3 - max(map(len, figures))
    width = min(NAME_MAX, room, max(map(len, names)))
    told = [
        f"  {number.few_signs(name, width):<{width}} {words}"
        for name, words in zip(names, figures, strict=True)
    ]
    more = [f"  and {len(told) - STEPS_MAX} more"] if len(told) > STEPS_MAX else []
    whom = "by" if several else f"{comparison.arms[1]} by"
    first = f"so far, {number.blocks(comparison.blocks)}, {whom} {comparison.base}:"
    return [first[:COLUMNS], *told[:STEPS_MAX], *more]


def of_cell(cell: Cell) -> str:
    """Throughput 1.02 [0.98, 1.06], CPU 0.97 [0.94, 1.01]."""
    assert cell.verdict is not None
    return ", ".join(
        f"{called(judgement.metric)} {ratio(judgement)}" for judgement in cell.verdict.judgements
    )


def ratio(judgement: Judgement) -> str:
    """A ratio with the interval of all blocks so far: 1.02 [0.98, 1.06]."""
    so_far = judgement.so_far
    ends = number.interval(so_far.low, so_far.high)
    return number.ratio(so_far.value) + (f" [{ends}]" if ends else "")
