"""Which steps of a comparison are open: more blocks may still change what is said of them.

A plan that runs until it is decided goes on with these alone (docs/plan.md, "How many blocks").
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.model.comparison import Cell, StepComparison
from dbdyno.model.verdict import Judgement, Verdict, Word

UNDECIDED: frozenset[Word] = frozenset({"cannot tell", "one block"})
"""Words that only say that there are too few blocks."""
INSTEAD: frozenset[Word] = frozenset({"failed", "not compared"})
"""The verdict if fewer than two blocks have both arms."""


def open_steps(steps: Sequence[StepComparison]) -> tuple[StepComparison, ...]:
    """Those in which any arm is open; a step without a headline is never judged, and never open."""
    return tuple(step for step in steps if any(is_open(cell) for cell in step.cells[1:]))


def is_open(cell: Cell) -> bool:
    """Whether more blocks may change what is said of an arm in a step.

    `target missed` stays, as one run that missed it suffices. Of an arm that could not be compared
    in any block so far the next one is taken to be no better; in one block it could, so that a
    second makes a comparison. An arm without a block of its own was added to the plan later.
    """
    verdict = cell.verdict
    if verdict is None:
        return False
    if not cell.runs or verdict.word in UNDECIDED:
        return True
    if verdict.word in INSTEAD:
        return bool(verdict.judgements)
    return verdict.word == "limited" and _limited_is_open(verdict, cell)


def _limited_is_open(verdict: Verdict, cell: Cell) -> bool:
    """Whether a metric can still tell, where the load generator was at its limit.

    The limit itself is a matter of the host, and more blocks do not lift it. But the other metric
    may lack blocks, and so may a change to the side to which the limit makes it only larger.
    """
    return any(
        judgement.word in UNDECIDED
        or (judgement.word == "limited" and _is_towards_change(judgement, cell))
        for judgement in verdict.judgements
    )


def _is_towards_change(judgement: Judgement, cell: Cell) -> bool:
    if judgement.ratio > 1:
        return cell.ratio_bound == "at least"
    return cell.ratio_bound == "at most" and judgement.ratio < 1
