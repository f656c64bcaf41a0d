"""Which steps more blocks may still decide."""

from typing import cast

import pytest

from dbdyno.model import Bound, Cell, PairedEstimate, StepComparison, StepRun
from dbdyno.model.open_steps import is_open, open_steps
from dbdyno.model.verdict import Judgement, Reason, Verdict, Word


def judgement(word: Word, ratio: float = 1.1, reason: Reason = "") -> Judgement:
    return Judgement(
        metric="qps", blocks=1, p=None, p_sign=None, q=None,
        so_far=PairedEstimate(value=ratio, low=None, high=None, blocks=1),
        sd=None, margin=0.03, word=word, reason=reason,
    )  # fmt: skip


def cell(
    word: Word | None,
    *judged: Judgement,
    reason: Reason = "",
    runs: int = 3,
    bound: Bound = "exact",
) -> Cell:
    verdict = None
    if word is not None:
        verdict = Verdict(word=word, reason=reason, by=(), judgements=judged)
    return Cell(
        arm="b", runs=(cast(StepRun, None),) * runs, value=None, value_bound="exact", ratio=None,
        ratio_bound=bound, sla_met=None, metrics={}, estimates={}, verdict=verdict,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "reason", "expected"),
    [
        ("open", "", True),
        ("open", "one block", True),
        ("slower", "", False),
        ("faster", "", False),
        ("same", "", False),
        ("failed", "target missed", False),
        ("failed", "", False),
        ("open", "nothing to compare", False),
        (None, "", False),
    ],
)
def test_a_word_that_blocks_may_change_is_open(word: Word | None, reason: Reason, expected: bool):
    assert is_open(cell(word, reason=reason)) is expected


@pytest.mark.parametrize(("word", "reason"), [("failed", ""), ("open", "nothing to compare")])
def test_what_could_be_compared_in_one_block_may_be_in_the_next(word: Word, reason: Reason) -> None:
    assert is_open(cell(word, judgement("open", reason="one block"), reason=reason))


def test_an_arm_that_was_added_later_is_open_before_its_first_block() -> None:
    assert is_open(cell("open", reason="nothing to compare", runs=0))
    assert not is_open(cell(None, runs=0)), "of a step that is never judged there is nothing to say"


@pytest.mark.parametrize(
    ("ratio", "bound", "expected"),
    [
        (1.1, "at least", True),
        (1.1, "at most", False),
        (0.9, "at most", True),
        (0.9, "at least", False),
        (1.1, "unknown", False),
    ],
)
def test_a_limited_step_is_open_where_the_limit_makes_its_change_only_larger(
    ratio: float, bound: Bound, expected: bool
) -> None:
    limit: Reason = "generator at its limit"
    limited = judgement("open", ratio, limit)
    beside = cell("open", limited, judgement("same"), reason=limit, bound=bound)
    assert is_open(beside) is expected
    assert is_open(cell("open", limited, judgement("open"), reason=limit, bound=bound))


def test_a_step_is_open_where_any_arm_is() -> None:
    def step(*cells: Cell) -> StepComparison:
        return StepComparison(workload="w", ordinal=1, step="s", headline="qps", cells=cells)

    base = cell(None)
    assert open_steps([step(base, cell("slower"), cell("same"))]) == ()
    still = step(base, cell("slower"), cell("open"))
    assert open_steps([step(base, cell("same")), still]) == (still,)
