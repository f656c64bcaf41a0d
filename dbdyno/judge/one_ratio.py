"""One arm's ratio to the base in one step, on the scale of logs, for a search that adds ratios up.

No word is given: such a search asks many times, and judges all answers together.
"""

import math

from dbdyno.model import Cell, Comparison
from dbdyno.model.error import ServerError
from dbdyno.model.metric.primary import UNDISTURBED, is_cpu, is_second
from dbdyno.model.verdict import Judgement


def log_ratio(comparison: Comparison, step: str, arm: str, by: str) -> tuple[float, float, int]:
    """The mean log ratio of throughput, or of `by` (cpu, undisturbed), its error, and its blocks.

    Raises ServerError where fewer than two blocks have both arms.
    """
    cells = [
        cell
        for compared in comparison.steps
        if compared.step == step
        for cell in compared.cells
        if cell.arm == arm
    ]
    judgement = _judgement(cells[0], by) if cells else None
    so_far = None if judgement is None else judgement.so_far
    if so_far is None or so_far.se is None or so_far.value <= 0:
        raise ServerError(
            f"step `{step}` has no ratio to the good commit in {comparison.blocks} blocks"
            + _failure(comparison)
        )
    return math.log(so_far.value), so_far.se, so_far.blocks


def _judgement(cell: Cell, by: str) -> Judgement | None:
    """The judgement of throughput, of undisturbed time or of CPU."""
    if cell.verdict is None:
        return None
    every = (*cell.verdict.judgements, *cell.costs.values())
    return next((judgement for judgement in every if _is_of(judgement.metric, by)), None)


def _is_of(metric: str, by: str) -> bool:
    if by == "cpu":
        return is_cpu(metric)
    return metric == UNDISTURBED if by == "undisturbed" else not is_second(metric)


def _failure(comparison: Comparison) -> str:
    """The first failure of any arm in any step, with a colon before it; nothing: none failed."""
    for step in comparison.steps:
        for cell in step.cells:
            for run in cell.runs:
                if run.ending.status == "failed":
                    return f": {cell.arm}, step `{step.step}`: {run.ending.reason}"
    return ""
