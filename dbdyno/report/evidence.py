"""The evidence of all blocks so far, in figures: words come at looks alone."""

from dbdyno.model import Cell, Comparison
from dbdyno.model.metric.primary import called
from dbdyno.model.verdict import Judgement
from dbdyno.parts import number

COLUMNS = 80
NAME_MAX = 36
"""Signs of the names of a step and its arm that figures stand beside; below longer ones."""
STEPS_MAX = 12
"""So many steps are shown, the others counted."""


def lines(comparison: Comparison) -> list[str]:
    """A line for each step and arm, at most 80 columns: ratio to the base and its interval."""
    rows = [
        (comparison.name_of(step), cell)
        for step in comparison.steps
        for cell in step.cells[1:]
        if cell.verdict is not None and cell.verdict.judgements
    ]
    if not rows:
        return []
    several = len(comparison.arms) > 2
    names = [f"{name} {cell.arm}" if several else name for name, cell in rows]
    width = min(NAME_MAX, max(map(len, names)))
    shown = zip(names[:STEPS_MAX], rows, strict=False)
    told = [line for name, (_, cell) in shown for line in of_step(name, width, of_cell(cell))]
    more = [f"  and {len(rows) - STEPS_MAX} more"] if len(rows) > STEPS_MAX else []
    whom = "by" if several else f"{comparison.arms[1]} by"
    first = f"so far, {number.blocks(comparison.blocks)}, {whom} {comparison.base}:"
    return [first[:COLUMNS], *told, *more]


def of_step(name: str, width: int, figures: str) -> tuple[str, ...]:
    """A name with its figures beside it, or below where there is no room for both."""
    line = f"  {name:<{width}} {figures}"
    return (line,) if len(line) <= COLUMNS else (f"  {name}", f"    {figures}")


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
