"""What is said of an arm in a step: planted changes, planted nothing, and what arms did instead."""

import math
from collections.abc import Sequence
from typing import Any, cast

import pytest

from dbdyno.judge.verdicts import together
from dbdyno.model import PairedEstimate, Ratio, StepRun
from dbdyno.model.verdict import Aims, Judgement, Reason, Verdict, Word
from dbdyno.stats import interval
from run_builder import NOISE, cell, changed, concluded, failed, lifted, plan_of, run, series
from verdict_builder import said

pytestmark = pytest.mark.usefixtures("independent_blocks")

ARMS = ("base", "other")
SIX = [1_000.0] * 6


def verdict(base: Sequence[StepRun], other: Sequence[StepRun], **how: Any) -> Verdict:
    """What is said of `other` in the one step."""
    found = cell(concluded([*base, *other], plan_of(ARMS), **how), "other").verdict
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (0.10, "faster"),
        (-0.10, "slower"),
        (0.012, "faster, within the margin"),
        (-0.012, "slower, within the margin"),
        (0.0, "same"),
    ],
)
def test_a_planted_change_of_throughput_comes_out_in_its_word(change: float, word: str) -> None:
    found = verdict(series("base", SIX), series("other", lifted(change)))
    (judgement,) = found.judgements
    assert (said(found), found.by, found.outcome) == (word, ("qps",), "")
    assert judgement.so_far.value == pytest.approx((1 + change) * math.exp(sum(NOISE) / 6))
    assert judgement.so_far.low is not None and judgement.so_far.high is not None
    assert judgement.so_far.low < judgement.so_far.value < judgement.so_far.high


def test_more_cpu_for_an_operation_is_slower_where_throughput_cannot_tell() -> None:
    wild = [0.2, -0.2, 0.15, -0.15, 0.1, -0.1]
    base = [run("base", block, 1_000.0, cpu=20.0) for block in range(1, 7)]
    other = [
        run("other", block, rate, cpu=cpu)
        for block, rate, cpu in zip(
            range(1, 7), lifted(0.0, wild), lifted(0.06, rate=20.0), strict=True
        )
    ]
    found = verdict(base, other)
    assert (found.word, found.by) == ("slower", ("cpu_per_op",))
    assert [one.word for one in found.judgements] == ["open", "slower"]


def test_of_more_throughput_for_more_cpu_the_worse_is_the_word() -> None:
    base = series("base", SIX, cpu=20.0)
    found = verdict(base, series("other", lifted(0.1), cpu=25.0))
    assert (found.word, found.by, found.against) == ("slower", ("cpu_per_op",), ("qps",))


def test_what_cannot_be_told_has_a_price_in_blocks_and_minutes() -> None:
    wild = [0.06, -0.06, 0.04, -0.04, 0.05, -0.05]
    found = verdict(series("base", SIX), series("other", lifted(0.0, wild)), minutes=7.5)
    (judgement,) = found.judgements
    assert found.word == "open"
    assert judgement.blocks_needed is not None and judgement.blocks_needed > 0
    assert judgement.minutes_needed == pytest.approx(7.5 * judgement.blocks_needed)
    without = verdict(series("base", SIX), series("other", lifted(0.0, wild)))
    assert without.judgements[0].minutes_needed is None


def test_the_aims_decide_what_is_the_same() -> None:
    base, other = series("base", SIX), series("other", lifted(0.0))
    assert verdict(base, other, aims=Aims(margin=0.001)).word == "open"
    assert verdict(base, other, aims=Aims(margin=0.10)).word == "same"


def test_the_steps_of_an_arm_are_one_family_and_arms_are_families_of_their_own() -> None:
    """q is p times the tests by its rank: ten steps of one arm, of which one changed."""
    steps = [f"s{number}" for number in range(10)]
    wild = [0.03, -0.03, 0.02, -0.02, 0.025, -0.026]
    base = [
        changed(its, step=step, ordinal=number)
        for number, step in enumerate(steps)
        for its in series("base", SIX)
    ]
    other = [
        changed(its, step=step, ordinal=number)
        for number, step in enumerate(steps)
        for its in series("other", lifted(0.2 if number == 3 else 0.0, wild))
    ]
    lone = [changed(its, step="s3", ordinal=3) for its in series("lone", lifted(0.2, wild))]
    found = concluded([*base, *other, *lone], plan_of((*ARMS, "lone")))
    many, one = cell(found, "other", "s3").verdict, cell(found, "lone", "s3").verdict
    assert many is not None and one is not None
    (of_ten,), (of_one,) = many.judgements, one.judgements
    assert of_ten.p is not None and of_one.p is not None
    assert of_ten.q == pytest.approx(2 * 11 * of_ten.p)  # half the level; ten steps and the whole
    assert of_one.q == pytest.approx(2 * of_one.p)


def test_costs_are_a_family_of_their_own_in_every_measured_step() -> None:
    costs = {"wal_bytes_per_op": 100.0, "cs_per_op": 2.0}
    more = {"wal_bytes_per_op": 150.0, "cs_per_op": 2.0}
    base = series("base", SIX, cpu=20.0, metrics=costs)
    other = series("other", lifted(0.0), cpu=20.0, metrics=more)
    found = cell(concluded([*base, *other], plan_of(ARMS)), "other")
    assert set(found.costs) == {"wal_bytes_per_op", "cs_per_op"}
    assert found.costs["wal_bytes_per_op"].word == "slower"
    assert found.costs["wal_bytes_per_op"].so_far.value == pytest.approx(1.5)
    assert found.costs["cs_per_op"].word == "same"
    assert found.verdict is not None and found.verdict.word == "same"


def test_the_ratio_of_the_tables_is_that_of_the_verdict() -> None:
    found = cell(
        concluded([*series("base", SIX), *series("other", lifted(0.05))], plan_of(ARMS)), "other"
    )
    assert found.ratio is not None and found.verdict is not None
    (judgement,) = found.verdict.judgements
    assert (found.ratio.value, found.ratio.low, found.ratio.high) == (
        pytest.approx(judgement.so_far.value),
        pytest.approx(judgement.so_far.low),
        pytest.approx(judgement.so_far.high),
    )


def test_the_interval_of_a_metric_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float, ...]] = []
    whole = interval.log_interval

    def counted(
        logs: Sequence[float], confidence: float = 0.95, spread: interval.Spread | None = None
    ) -> Ratio:
        if spread is None:
            asked.append(tuple(logs))
        return whole(logs, confidence, spread)

    monkeypatch.setattr(interval, "log_interval", counted)
    metrics = {"qps": SIX[0], "rps": 3.0, "cs_per_op": 2.0}  # one that judges, two that explain
    others = [changed(its, metrics=metrics) for its in series("other", SIX)]
    found = cell(
        concluded([*(changed(i, arm="base") for i in others), *others], plan_of(ARMS)), "other"
    )
    assert found.verdict is not None
    assert set(found.costs) == {"rps", "cs_per_op"}
    assert len(asked) == len(metrics)


# --- Outcomes --------------------------------------------------------------------------------


def test_a_missed_target_is_the_verdict_and_says_how_often_it_was_held() -> None:
    base = series("base", SIX, sla_target=1_000.0, sla_met=True)
    other = series("other", lifted(0.2), sla_target=1_000.0, sla_met=True)
    missed = [changed(its, sla_met=its.block < 3) for its in other]
    found = verdict(base, missed)
    assert (found.word, found.reason, found.by) == ("failed", "target missed", ())
    assert found.outcome == "held 1,000 rows/s in 2 of 6 blocks"
    assert len(found.judgements) == 1, "what was measured stays beside it"


def test_a_target_that_the_base_missed_is_said_of_the_base() -> None:
    base = [
        changed(its, sla_met=its.block != 4)
        for its in series("base", SIX, sla_target=1_000.0, sla_met=True)
    ]
    found = verdict(base, series("other", lifted(0.2), sla_target=1_000.0, sla_met=True))
    assert (said(found), found.outcome) == (
        "target missed",
        "base held 1,000 rows/s in 5 of 6 blocks",
    )


@pytest.mark.parametrize("change", [0.2, 0.0, -0.2])
@pytest.mark.parametrize("status", ["failed", "skipped"])
def test_an_arm_that_failed_in_a_block_has_no_other_word(change: float, status: str) -> None:
    """The other blocks are those in which it did well: their figures are shown without a word."""
    other = series("other", lifted(change))
    other[1] = failed(other[1], status)
    found = verdict(series("base", SIX), other)
    assert (found.word, found.outcome) == ("failed", f"{status} in 1 of 6 blocks")
    assert found.judgements[0].blocks == 5
    assert {one.word for one in found.judgements} == {"open"}
    assert found.judgements[0].so_far.value == pytest.approx(1 + change, rel=0.01)


def test_a_base_that_failed_in_a_block_is_no_yardstick() -> None:
    base = series("base", SIX)
    base[4] = failed(base[4])
    found = verdict(base, series("other", lifted(0.2)))
    assert (found.word, found.outcome) == ("failed", "base failed in 1 of 6 blocks")


def test_an_arm_that_failed_in_one_step_has_no_word_over_all() -> None:
    other = series("other", lifted(0.2))
    other[1] = failed(other[1])
    well = [changed(one, step="two", ordinal=2) for one in series("other", lifted(0.2))]
    bases = [changed(one, step="two", ordinal=2) for one in series("base", SIX)]
    found = concluded([*series("base", SIX), *other, *bases, *well], plan_of(ARMS))
    assert {one.judgement.word for one in found.overall} == {"failed"}
    words = {step.step: step.cells[1].verdict for step in found.steps}
    assert words["two"] is not None
    assert words["two"].word == "faster", "of this step nothing failed"


def test_where_failures_leave_one_block_failed_is_the_verdict() -> None:
    other = series("other", lifted(0.2, NOISE[:3]))
    base = series("base", SIX[:3])
    found = verdict(base, [other[0], failed(other[1]), failed(other[2], "skipped")])
    assert found.word == "failed"
    assert found.outcome == "failed in 1 of 3 blocks; skipped in 1 of 3 blocks"
    of_base = verdict([base[0], failed(base[1]), failed(base[2])], other)
    assert (of_base.word, of_base.outcome) == ("failed", "base failed in 2 of 3 blocks")


def test_a_damaged_run_is_no_failure_of_its_arm() -> None:
    other = series("other", lifted(0.2, NOISE[:2]))
    lost = [changed(failed(its, reason="events.jsonl"), damaged=True) for its in other]
    found = verdict(series("base", SIX[:2]), lost)
    assert (said(found), found.outcome) == ("nothing to compare", "damaged in 2 of 2 blocks")


def test_a_generator_at_its_limit_lets_only_that_stand_which_it_cannot_have_made() -> None:
    base, other = series("base", SIX), series("other", lifted(0.2))
    at_limit = [changed(its, limited=("busy",)) for its in other]
    assert verdict(base, at_limit).word == "faster", "it is at least so much faster"
    slower = [changed(its, limited=("busy",)) for its in series("other", lifted(-0.2))]
    found = verdict(base, slower)
    assert (said(found), found.by) == ("generator at its limit", ("qps",))
    with_cpu = [changed(its, metrics={**its.metrics, "cpu_per_op": 24.0}) for its in slower]
    of_cpu = verdict(series("base", SIX, cpu=20.0), with_cpu)
    assert (of_cpu.word, of_cpu.by) == ("slower", ("cpu_per_op",))


def test_the_base_and_steps_without_a_headline_have_no_verdict() -> None:
    vacuum = [
        changed(its, step="vacuum", ordinal=2, headline=None, measured=False)
        for its in [*series("base", SIX), *series("other", SIX)]
    ]
    runs = [*series("base", SIX), *series("other", SIX), *vacuum]
    found = concluded(runs, plan_of(ARMS))
    assert cell(found, "base").verdict is None
    assert cell(found, "other", "vacuum").verdict is None
    assert cell(found, "other").verdict is not None


def test_without_a_value_nothing_is_compared() -> None:
    base = [changed(its, metrics={}) for its in series("base", SIX)]
    found = verdict(base, series("other", SIX))
    assert (said(found), found.judgements) == ("nothing to compare", ())


# --- One word of two metrics -----------------------------------------------------------------


LIMITED = "generator at its limit"


def of_word(name: str, text: str) -> Judgement:
    """A metric of this word, with its shade, or of this reason to be open."""
    word, _, shade = text.partition(", ")
    reason = word if word in (LIMITED, "one block") else ""
    return Judgement(
        metric=name,
        blocks=6,
        so_far=PairedEstimate(value=1.0, low=None, high=None, blocks=6),
        p=None,
        p_sign=None,
        q=None,
        sd=None,
        margin=0.03,
        word=cast(Word, "open" if reason else word),
        within_margin=bool(shade),
        reason=cast(Reason, reason),
    )


@pytest.mark.parametrize(
    ("throughput", "cpu", "word", "by"),
    [
        ("slower", "open", "slower", "q"),
        ("slower", "slower, within the margin", "slower", "q"),
        ("slower, within the margin", "slower", "slower", "c"),
        ("slower, within the margin", "same", "slower, within the margin", "q"),
        ("faster", "same", "faster", "q"),
        ("faster", "faster", "faster", "qc"),
        ("faster, within the margin", "slower", "slower", "c"),
        ("same", "same", "same", "qc"),
        ("same", "open", "open", "c"),
        (LIMITED, "same", LIMITED, "q"),
        (LIMITED, "open", LIMITED, "q"),
        (LIMITED, "faster", "faster", "c"),
        ("same", "one block", "same", "q"),
        ("one block", "one block", "one block", "qc"),
    ],
)
def test_two_metrics_come_to_one_word(throughput: str, cpu: str, word: str, by: str) -> None:
    found = together([of_word("q", throughput), of_word("c", cpu)])
    assert (said(found), found.by) == (word, tuple(by))


# --- Overall ---------------------------------------------------------------------------------


def two_steps(arm: str, first: Sequence[float], second: Sequence[float]) -> list[StepRun]:
    """Two steps of an arm, `one` and `two`."""
    others = [changed(its, step="two", ordinal=2) for its in series(arm, second)]
    return [*series(arm, first), *others]


def test_overall_the_datum_is_the_mean_of_a_block() -> None:
    """Steps that move against each other within blocks leave no noise between blocks."""
    runs = [
        *two_steps("base", SIX, SIX),
        *two_steps("other", lifted(0.05), lifted(0.05, [-log for log in NOISE])),
    ]
    (found,) = concluded(runs, plan_of(ARMS)).overall
    assert (found.arm, found.workload, found.steps) == ("other", "w", 2)
    assert found.judgement.metric == "qps"
    assert found.judgement.word == "faster"
    assert found.judgement.q == 0.0, "it is one of the family"
    for value in found.judgement.told:
        assert value == pytest.approx(1.05)


def test_overall_takes_blocks_in_which_all_steps_are() -> None:
    runs = [*two_steps("base", SIX, SIX), *two_steps("other", lifted(0.05), lifted(0.05)[:4])]
    (found,) = concluded(runs, plan_of(ARMS)).overall
    assert (found.steps, found.judgement.blocks) == (2, 4)


def test_overall_leaves_out_what_does_not_compare() -> None:
    other = two_steps("other", lifted(0.05), lifted(0.5))
    missed = [
        changed(its, sla_met=False, sla_target=9.0) if its.facts.ordinal == 2 else its
        for its in other
    ]
    limited = [changed(its, limited=("busy",)) if its.facts.ordinal == 2 else its for its in other]
    for runs in (missed, limited):
        (found,) = concluded([*two_steps("base", SIX, SIX), *runs], plan_of(ARMS)).overall
        assert found.steps == 1
        assert found.judgement.so_far.value == pytest.approx(1.05, rel=1e-3)


def test_overall_of_different_headlines_is_of_throughput() -> None:
    def as_load(its: StepRun) -> StepRun:
        return changed(its, headline="ips", metrics={"ips": its.metrics["qps"]})

    runs = [*two_steps("base", SIX, SIX), *two_steps("other", lifted(0.05), lifted(0.05))]
    loads = [as_load(its) if its.facts.ordinal == 2 else its for its in runs]
    (found,) = concluded(loads, plan_of(ARMS)).overall
    assert (found.judgement.metric, found.steps) == ("throughput", 2)


def test_overall_is_said_by_cpu_too() -> None:
    base = [run("base", block, 1_000.0, cpu=20.0) for block in range(1, 7)]
    other = [
        run("other", block, 1_000.0, cpu=cpu)
        for block, cpu in zip(range(1, 7), lifted(0.06, rate=20.0), strict=True)
    ]
    both = [*base, *other]
    twice = [*both, *(changed(its, step="two", ordinal=2) for its in both)]
    rates, costs = concluded(twice, plan_of(ARMS)).overall
    assert (rates.judgement.metric, rates.judgement.word) == ("qps", "same")
    assert (costs.judgement.metric, costs.judgement.word) == ("cpu_per_op", "slower")
    assert (rates.steps, costs.steps) == (2, 2)


def test_the_whole_of_one_step_is_that_step_and_no_further_test() -> None:
    found = concluded([*series("base", SIX), *series("other", lifted(0.05))], plan_of(ARMS))
    (whole,) = found.overall
    verdict = cell(found, "other").verdict
    assert verdict is not None
    assert (whole.judgement,) == verdict.judgements
    assert whole.judgement.p is not None
    assert whole.judgement.q == pytest.approx(2 * whole.judgement.p), (
        "it shares its chance of error with no other"
    )


def test_overall_leaves_out_steps_that_only_the_block_of_the_copy_has() -> None:
    runs = [*two_steps("base", SIX[:1], SIX), *two_steps("other", lifted(0.5)[:1], lifted(0.05))]
    (found,) = concluded(runs, plan_of(ARMS)).overall
    assert (found.steps, found.judgement.blocks) == (1, 6)
    assert found.judgement.so_far.value == pytest.approx(1.05, rel=1e-3)
