"""Which steps of a comparison are open: more blocks may still change what is said of them.

A plan that runs until it is decided goes on with these alone (docs/plan.md, "How many blocks").
"""

from collections.abc import Sequence

from dbdyno.model.comparison import Cell, StepComparison
from dbdyno.model.verdict import BOUNDED, Judgement, Verdict


def open_steps(steps: Sequence[StepComparison]) -> tuple[StepComparison, ...]:
    """Those in which any arm is open; a step without a headline is never judged, and never open.

    An arm that lost more than a tolerance in one step has its answer, and is open in none.
    """
    lost = {cell.arm for step in steps for cell in step.cells if cell.lost}
    return tuple(
        step
        for step in steps
        if any(goes_on(cell) and cell.arm not in lost for cell in step.cells[1:])
    )


def goes_on(cell: Cell) -> bool:
    """Whether a plan that runs until it is decided goes on with an arm in a step.

    Where a tolerance is asked for, its answer ends the step, whatever the word.
    """
    return is_open(cell) if cell.tolerated is None else cell.tolerated.answer == "not yet"


def is_open(cell: Cell) -> bool:
    """Whether more blocks may change what is said of an arm in a step.

    A target missed stays, as one run that missed it suffices. Of an arm that could not be compared
    in any block so far the next one is taken to be no better; in one block it could, so that a
    second makes a comparison. An arm without a block of its own was added to the plan later.
    """
    verdict = cell.verdict
    if verdict is None:
        return False
    if not cell.runs or needs_blocks(verdict):
        return True
    if verdict.reason in BOUNDED:
        return _limited_is_open(verdict, cell)
    failed = verdict.word == "failed" and not verdict.reason
    return (failed or verdict.reason == "nothing to compare") and bool(verdict.judgements)


def needs_blocks(of: Judgement | Verdict) -> bool:
    """Whether a word is open for too few blocks, or for their dependence, and for nothing else."""
    return of.word == "open" and of.reason in ("", "one block", "blocks drift")


def _limited_is_open(verdict: Verdict, cell: Cell) -> bool:
    """Whether a metric can still tell, where its ratio is bounded.

    A limit is a matter of the host or of the turns, and more blocks do not lift it. But the other
    metric may lack blocks, and so may a change to the side to which the limit makes it only larger.
    """
    return any(
        needs_blocks(judgement)
        or (judgement.reason in BOUNDED and _is_towards_change(judgement, cell))
        for judgement in verdict.judgements
    )


def _is_towards_change(judgement: Judgement, cell: Cell) -> bool:
    if judgement.so_far.value > 1:
        return cell.ratio_bound == "at least"
    return cell.ratio_bound == "at most" and judgement.so_far.value < 1
