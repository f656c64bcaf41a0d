"""A block without throughput is a result: it says who stood still, and never counts as the same."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from comparison_builder import comparison
from dbdyno.analysis.step import assemble
from dbdyno.model import Comparison, StepRun
from dbdyno.model.verdict import Aims, Judgement, Verdict
from dbdyno.report import json_document
from dbdyno.stats import interval, power, significance
from dbdyno.stats.sample import Sample
from dbdyno.store import Results
from one_look import decide
from result_builder import build
from run_builder import NOISE, cell, changed, concluded, failed, lifted, plan_of, run, series
from standing_still import Standing, stood_alarms

ARMS = ("base", "other")
SIX = [1_000.0] * 6
AIMS = Aims()


def zeros(rates: Sequence[float], *blocks: int) -> list[float]:
    """The rates, with none in these blocks."""
    return [0.0 if block in blocks else rate for block, rate in enumerate(rates, start=1)]


def verdict(base: Sequence[float], other: Sequence[float], cpu: float | None = None) -> Verdict:
    """What is said of `other`; `cpu`: its µs per operation in blocks where it did any, of 20."""
    runs = [
        run(arm, block, rate, cpu=its if rate and cpu else None)
        for arm, rates, its in (("base", base, 20.0), ("other", other, cpu))
        for block, rate in enumerate(rates, start=1)
    ]
    found = cell(concluded(runs, plan_of(ARMS)), "other").verdict
    assert found is not None
    return found


# --- The word --------------------------------------------------------------------------------


def test_an_arm_that_stood_still_in_two_of_six_blocks_is_not_the_same() -> None:
    found = verdict(SIX, zeros(lifted(0.0), 1, 4))
    (judgement,) = found.judgements
    assert found.word == "open"
    assert found.outcome == (
        "stood still in 2 of 6 blocks; the interval uses the 4 in which both ran"
    )
    assert (judgement.blocks, judgement.stood_still, judgement.base_stood_still) == (4, 2, 0)
    assert judgement.so_far.value == pytest.approx(1.0, rel=0.01), "of the blocks in which both ran"
    assert judgement.blocks_needed is not None, "five of six fell to one side"


@pytest.mark.parametrize("change", [0.2, 0.01, 0.0])
def test_an_arm_that_stood_still_is_never_faster(change: float) -> None:
    assert verdict(SIX, zeros(lifted(change), 2)).word == "open"


def test_less_cpu_in_the_blocks_that_it_ran_makes_an_arm_no_faster_that_stood_still() -> None:
    assert verdict(SIX, lifted(0.0), cpu=10.0).word == "faster"
    found = verdict(SIX, zeros(lifted(0.0), 2), cpu=10.0)
    assert (found.word, found.by) == ("open", ("qps",))
    assert verdict(zeros(SIX, 2), lifted(0.0), cpu=30.0).word == "open", "mirrored"
    assert verdict(SIX, zeros(lifted(0.0), 2), cpu=30.0).word == "slower", "the CPU says so"


def test_the_blocks_that_are_left_say_slower_at_half_the_level() -> None:
    found = verdict(SIX, zeros(lifted(-0.2), 3))
    (judgement,) = found.judgements
    assert found.word == "slower"
    assert judgement.p is not None and judgement.q == pytest.approx(4 * judgement.p)
    assert judgement.p_still == pytest.approx(2 / 2**6)


def test_standing_still_in_most_blocks_is_slower_by_the_sign_test_over_all() -> None:
    """Ten blocks, all to one side: 2 / 2^10, doubled as two ways share the level."""
    wild = [math.exp(-log) * 1_000.0 for log in (0.001, 0.4, 0.01, 0.9)]
    found = verdict([1_000.0] * 10, [*wild, *[0.0] * 6])
    (judgement,) = found.judgements
    assert found.word == "slower"
    assert judgement.p is not None and judgement.p > 0.1
    assert judgement.p_still == pytest.approx(2 / 2**10)
    assert judgement.q == pytest.approx(2 * 4 / 2**10), "at half of the level"


def test_with_nothing_left_to_compare_the_sign_test_has_the_whole_level() -> None:
    found = verdict([1_000.0] * 7, [0.0] * 7)
    (judgement,) = found.judgements
    assert (found.word, found.outcome) == ("slower", "stood still in 7 of 7 blocks")
    assert judgement.q == pytest.approx(2 * 2 / 2**7), "at half of the level"
    assert verdict(SIX, [0.0] * 6).word == "open", "1 in 16, at half of the level"
    assert (judgement.so_far.value, judgement.so_far.low, judgement.p) == (0.0, None, None)
    assert verdict(SIX[:3], [0.0] * 3).word == "open", "1 in 4 by chance"
    assert verdict([1_000.0], [0.0]).reason == "one block"


def test_a_base_that_stood_still_is_the_mirror_image() -> None:
    found = verdict(zeros(SIX, 2, 5), lifted(0.0))
    assert found.word == "open"
    assert found.outcome == (
        "base stood still in 2 of 6 blocks; the interval uses the 4 in which both ran"
    )
    assert verdict([0.0] * 7, [1_000.0] * 7).word == "faster"
    assert verdict(zeros(SIX, 3), lifted(0.2)).word == "faster"
    assert verdict(zeros(SIX, 3), lifted(-0.2)).word == "open"


def test_each_stood_still_once_and_nothing_can_be_told() -> None:
    found = verdict(zeros(SIX, 1), zeros(lifted(-0.3), 2))
    assert found.word == "open"
    assert found.outcome.startswith(
        "stood still in 1 of 6 blocks; base stood still in 1 of 6 blocks; "
    )
    by_turns = verdict(zeros(SIX, *range(1, 4)), zeros(SIX, *range(4, 7)))
    assert by_turns.reason == "nothing to compare"


def test_where_both_stood_still_a_block_is_compared_by_nobody_and_that_is_said() -> None:
    found = verdict(zeros(SIX, 4), zeros(lifted(0.2), 4))
    (judgement,) = found.judgements
    assert (found.word, judgement.blocks, judgement.stood_still) == ("faster", 5, 0)
    assert found.outcome == (
        "both stood still in 1 of 6 blocks, which compare nothing; "
        "the interval uses the 5 in which both ran"
    )
    nothing = verdict([0.0] * 6, [0.0] * 6)
    assert (nothing.reason, nothing.judgements) == ("nothing to compare", ())
    assert "both stood still in 6 of 6 blocks" in nothing.outcome


def test_a_failure_and_a_missed_target_stay_what_they_are() -> None:
    other = series("other", zeros(SIX, 2))
    other[3] = failed(other[3])
    found = cell(concluded([*series("base", SIX), *other], plan_of(ARMS)), "other").verdict
    assert found is not None
    assert found.outcome.startswith("failed in 1 of 6 blocks; stood still in 1 of 6 blocks; ")
    missed = [changed(its, sla_target=9.0, sla_met=False) for its in series("other", zeros(SIX, 2))]
    found = cell(concluded([*series("base", SIX), *missed], plan_of(ARMS)), "other").verdict
    assert found is not None and found.reason == "target missed"


def test_overall_an_arm_that_stood_still_in_a_step_is_not_the_same() -> None:
    def two(arm: str, first: Sequence[float], second: Sequence[float]) -> list[StepRun]:
        others = [changed(its, step="two", ordinal=2) for its in series(arm, second)]
        return [*series(arm, first), *others]

    runs = [*two("base", SIX, SIX), *two("other", lifted(0.0), zeros(lifted(0.0), 6))]
    (whole,) = concluded(runs, plan_of(ARMS)).overall
    assert (whole.steps, whole.judgement.blocks, whole.judgement.stood_still) == (2, 5, 1)
    assert whole.judgement.word == "open"


def judged(*logs: float, own: int = 0, base: int = 0, bound: str = "exact") -> Judgement:
    its = Sample(
        metric="qps", better=1, logs=logs, bound=bound, stood_still=own, base_stood_still=base
    )
    return decide([its], AIMS)[0]


def test_what_the_remaining_blocks_find_to_the_other_side_does_not_count() -> None:
    faster = [0.2 + log for log in NOISE]
    assert judged(*faster).word == "faster"
    found = judged(*faster, own=1)
    assert (found.word, found.q) == ("open", 1.0)


def test_a_generator_at_its_limit_leaves_no_word_of_standing_still_but_limited() -> None:
    reasons = {judged(*NOISE, own=2, bound=bound).reason for bound in ("at least", "unknown")}
    assert reasons == {"generator at its limit"}


def test_further_blocks_are_those_after_which_the_sign_test_would_find_it() -> None:
    assert judged(own=4).blocks_needed == 2, "six to one side are 2 / 2^6"
    assert judged(0.1, -0.1, own=1, base=1).blocks_needed is None
    assert judged(0.1, 0.2, own=2).blocks_needed is None, "as many to either side"


# --- The figures -----------------------------------------------------------------------------


@pytest.mark.parametrize(("less", "more"), [(0, 6), (6, 0), (1, 5), (3, 3), (2, 9), (0, 1)])
def test_the_sign_test_is_the_binomial_one(less: int, more: int) -> None:
    assert significance.sign_p(less, more) == pytest.approx(binomtest(less, less + more).pvalue)
    assert significance.sign_p(0, 0) == 1.0


@pytest.mark.parametrize(("share", "level"), [(1.0, 0.05), (0.9, 0.05), (0.8, 0.025), (0.7, 0.01)])
def test_blocks_for_signs_are_the_fewest_with_the_power(share: float, level: float) -> None:
    def found_with(blocks: int) -> float:
        tails = [k for k in range(blocks + 1) if significance.sign_p(k, blocks - k) <= level]
        lower = [k for k in tails if k < blocks / 2]
        return math.fsum(
            math.comb(blocks, k) * (1 - share) ** k * share ** (blocks - k) for k in lower
        )

    found = power.blocks_for_signs(share, level, 0.8)
    assert found == next(blocks for blocks in range(1, 1_000) if found_with(blocks) >= 0.8)
    assert power.blocks_for_signs(0.5, level, 0.8) is None


@pytest.mark.parametrize(
    ("blocks", "often", "trials"),
    [
        (3, 0.3, 60),
        *(
            pytest.param(blocks, often, 300, marks=pytest.mark.long)
            for blocks, often in ((3, 0.3), (6, 0.05), (6, 0.3), (12, 0.3))
        ),
    ],
)
def test_where_nothing_differs_standing_still_raises_no_more_alarms(
    blocks: int, often: float, trials: int
) -> None:
    found = stood_alarms(
        Standing(steps=2, often=often), blocks, trials, np.random.default_rng(11), AIMS
    )
    assert interval.share_interval(found.count, found.total, 0.99)[0] <= AIMS.level


# --- What is shown ---------------------------------------------------------------------------


WORDS = "stood still in 2 of 6 blocks"


@pytest.fixture(scope="module")
def shown() -> Comparison:
    """A comparison in whose step the second arm stood still in two blocks of six."""
    made = comparison()
    runs = [*series("base", SIX), *series("other", zeros(lifted(0.0), 2, 5))]
    found = concluded(runs, plan_of(ARMS))
    return replace(
        made,
        base="base",
        arms=ARMS,
        blocks=6,
        plan=plan_of(ARMS),
        steps=found.steps,
        overall=found.overall,
        servers={},
        differences=(),
    )


def test_json_gains_keys_with_who_stood_still(shown: Comparison) -> None:
    (step,) = json.loads(json_document.render(shown))["steps"]
    (arm,) = step["arms"]
    assert WORDS in arm["outcome"]
    its = arm["metrics"]["qps"]
    assert (its["stood_still"], its["base_stood_still"], its["blocks"]) == (2, 0, 4)
    assert its["p_still"] is not None


# --- What a run without an operation has -----------------------------------------------------


def test_a_block_without_an_operation_has_no_cpu_per_operation_and_a_rate_of_zero(tmp_path: Path):
    folder = build(tmp_path, blocks=1, steps=("qr100",))
    for path in folder.glob("blocks/001/pg18/*/*/events.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            if line["event"] == "tick" and line["role"] == "query":
                line["per_client"] = [[0, 0, 0, 0] for _ in line["per_client"]]
                for part in line["operations"].values():
                    part |= {"count": 0, "rows": 0, "max_us": 0}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (block,) = Results.open(folder).blocks()
    (still,) = [
        assemble.step_run(step) for its in block.runs() if its.arm == "pg18" for step in its.steps()
    ]
    assert still.ending.status == "ok"
    assert still.metrics["qps"] == 0.0
    assert still.metrics["server_cpu_per_op"] is None
    assert still.metrics["cpupq"] is None
