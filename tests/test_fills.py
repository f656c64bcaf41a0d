"""Fills: golden copies of several, what is counted of them, and how far apart they are."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import keeping_fake
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.judge import fills as units_of
from dbdyno.judge.arm_vs_base import ArmInStep, StepKey, contest
from dbdyno.judge.overall import wholes
from dbdyno.judge.pairing import facing
from dbdyno.model import Comparison, Json, Plan, Schedule, StepRun, WorkloadUse
from dbdyno.model.error import PlanError
from dbdyno.model.golden import GoldenUse
from dbdyno.model.looks import Look
from dbdyno.model.plan import fill_of
from dbdyno.model.verdict import Aims, Judgement
from dbdyno.parts import known
from dbdyno.plan import calibration, schedule
from dbdyno.run import blocks, starting_state
from dbdyno.run.check import block_time, dry_run, preflight
from dbdyno.stats import decision, fills, power
from dbdyno.stats.fills import FillCount, FillVariance, Units
from dbdyno.stats.interval import Spread, own_spread
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.sample import Sample
from dbdyno.store import Results, continuation
from doubted import doubted
from run_builder import changed, run
from test_golden import step

PLAN = """
name = "kept"
base = "a"
arms.a = { engine = "fake", fake = { default_us = 100, jitter = 0.1 } }
arms.b = { engine = "fake", fake = { default_us = 101, jitter = 0.1 } }
[server]
data_dir = "DATA"
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query", "hot-points"]
parameters = { rows = 1000, seconds = 1, warmup_s = 0 }
save = "post-fill"
[schedule]
blocks = 8
fills = 4
"""
LOGS = {1: 0.01, 2: 0.03, 3: -0.02, 4: 0.02, 5: 0.03, 6: 0.01, 7: 0.0, 8: 0.04}
"""The means of four fills: 2, 2, -1 and 3 %; their mean is 1.5 %, their deviation √3 %."""


def text(data: Path = Path("/data"), **schedule: object) -> str:
    keys = {"blocks": 8, "fills": 4} | schedule
    written = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value)
    head, _ = PLAN.replace("DATA", str(data)).split("blocks = 8")
    return head + written


# --- Keys ------------------------------------------------------------------------------------


def server(name: str) -> Any:
    return SimpleNamespace(name=name, keeper=SimpleNamespace(identity={"version": "17.6"}))


def with_copies(monkeypatch: pytest.MonkeyPatch, **schedule: object) -> Plan:
    keeping_fake.install(monkeypatch, Path("/data"), 0.0)
    return plan.parse(text(**schedule), None)


def points(of: Plan, arm: str) -> tuple[starting_state.StartingPoint, ...]:
    use = WorkloadUse(name="w", save="post-s1")
    return starting_state.points(of, use, [step(1, "INSERT INTO "), step(2)], server(arm))


def test_blocks_begin_from_their_fills_by_turns() -> None:
    assert [fill_of(block, 3) for block in range(1, 8)] == [1, 2, 3, 1, 2, 3, 1]
    assert {Schedule().fill(block) for block in range(1, 8)} == {1}


def test_the_first_fill_has_the_key_that_it_has_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = points(with_copies(monkeypatch, fills=None), "a")
    several = points(with_copies(monkeypatch, fills=4), "a")
    assert (len(alone), len(several)) == (1, 4)
    assert alone[0].key == several[0].key
    assert "fill" not in alone[0].parts and "ghost" not in alone[0].parts
    assert len({one.key for one in several}) == 4


def test_the_steps_up_to_a_fill_have_the_seed_of_its_first_block(monkeypatch: pytest.MonkeyPatch):
    of = with_copies(monkeypatch)
    found = points(of, "a")
    assert [one.seed for one in found] == [
        schedule.block(of, number).seed for number in range(1, 5)
    ]
    assert [one.parts["seed"] for one in found] == [one.seed for one in found]


def test_an_aa_arm_has_fills_of_its_own_and_a_hidden_one_shares_those_of_the_base(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = with_copies(monkeypatch, aa_arm=True)
    hidden = replace(of.arms[0], name="a.again2", same_as="a", shown=False)
    of = replace(of, arms=(*of.arms, hidden))
    base, aa_arm, again = (points(of, name) for name in ("a", "ghost", "a.again2"))
    assert [one.key for one in again] == [one.key for one in base]
    assert not {one.key for one in aa_arm} & {one.key for one in base}
    assert aa_arm[0].parts["ghost"] == "ghost"
    assert [one.seed for one in aa_arm] == [one.seed for one in base], "the same rows"


# --- The plan --------------------------------------------------------------------------------


def test_fills_without_a_state_that_is_kept_are_refused() -> None:
    without = text().replace('save = "post-fill"\n', "")
    with pytest.raises(PlanError) as error:
        plan.parse(without, Path("/plans/p.toml"))
    assert str(error.value) == (
        "/plans/p.toml: key `schedule.fills`: no workload keeps a state; add `save`, such as "
        'save = "post-fill", or remove it'
    )


@pytest.mark.parametrize("count", [0, 65])
def test_fills_are_from_1_to_64(count: int) -> None:
    with pytest.raises(PlanError, match=r"schedule\.fills") as error:
        plan.parse(PLAN.replace("fills = 4", f"fills = {count}"), None)
    assert len(str(error.value).splitlines()) == 1


def test_a_plan_that_goes_on_keeps_its_fills() -> None:
    before: Json = {"arms": [], "blocks": 8, "schedule": {"blocks": 8}}
    more = before | {"schedule": {"blocks": 8, "fills": 4}}
    assert continuation.refused(before, more, 1) == "`schedule.fills` is 4 now and was null"
    assert continuation.refused(more, more, 1) is None


def test_a_calibration_of_fills_has_one_of_each_in_a_comparison(monkeypatch: pytest.MonkeyPatch):
    made = calibration.of(with_copies(monkeypatch, fills=None), 10, None, 6)
    assert made.name == "kept.calibration.fills"
    its = made.schedule
    assert (its.fills, its.comparison, its.blocks, its.aa_arm) == (6, 6, 60, True)


@pytest.mark.parametrize(
    ("comparisons", "asked", "count", "line"),
    [
        (10, None, 3, "--fills: must be from 4 to 64, not 3"),
        (
            1, None, 6,
            "--fills: 6 blocks are under two for each of 6 fills: raise --comparisons or --blocks",
        ),
    ],
)  # fmt: skip
def test_too_few_fills_or_blocks_to_calibrate_get_one_line(
    monkeypatch: pytest.MonkeyPatch, comparisons: int, asked: int | None, count: int, line: str
) -> None:
    with pytest.raises(PlanError) as error:
        calibration.of(with_copies(monkeypatch), comparisons, asked, count)
    assert str(error.value) == line


def test_fills_of_a_plan_that_keeps_nothing_are_not_calibrated() -> None:
    without = text(fills=None).replace('save = "post-fill"\n', "")
    with pytest.raises(PlanError, match=r"key `workloads\.save`: missing, so every block fills"):
        calibration.of(plan.parse(without, None), 10, None, 6)


# --- By hand ---------------------------------------------------------------------------------


def test_the_interval_of_fills_is_that_of_their_means() -> None:
    means = Units(fills=4).means(LOGS)
    assert means == pytest.approx({1: 0.02, 2: 0.02, 3: -0.01, 4: 0.03})
    its = fills.log_interval(tuple(means.values()), None)
    reach = 3.18245 * 0.0173205 / 2  # t of three degrees of freedom, by the error of four means
    assert math.log(its.value) == pytest.approx(0.015)
    assert math.log(its.low or 0) == pytest.approx(0.015 - reach, abs=1e-6)
    assert math.log(its.high or 0) == pytest.approx(0.015 + reach, abs=1e-6)


def test_two_or_three_fills_are_no_outer_stratum() -> None:
    for count in (1, 2, 3):
        assert Units(fills=count).means(LOGS) == LOGS


def test_the_scatter_between_fills_is_what_analysis_of_variance_says() -> None:
    # Means 1, 4 and 1 %, 2 % together. Between: 2 · (1 + 4 + 1) / 2 = 6, within: 3 · 2 / 3 = 2;
    # the variance of a fill is (6 - 2) / 2 = 2, that of a mean of two blocks 6 / 2 = 3.
    logs = {1: 0.0, 2: 0.03, 3: 0.0, 4: 0.02, 5: 0.05, 6: 0.02}
    found = fills.scatter(logs, 3)
    assert found is not None
    assert found.between.value == pytest.approx(2e-4)
    assert found.within.value == pytest.approx(2e-4)
    assert (found.between.freedom, found.within.freedom) == (2, 3)
    assert (found.means.value, found.means.freedom) == (pytest.approx(3e-4), 2)
    assert found.between.low == 0.0 and (found.between.high or 0) > 2e-4


def test_one_block_of_each_fill_tells_no_scatter_between_fills() -> None:
    assert fills.scatter({1: 0.0, 2: 0.03, 3: 0.0}, 3) is None
    assert fills.scatter({}, 3) is None


def test_a_shared_variance_is_no_smaller_with_more_blocks() -> None:
    # 4 / 6 + 1 = 5 / 3, in 1e-4; degrees of freedom 25 / 9 / (4 / 9 / 5 + 1 / 5) = 9.615
    between = FillVariance(value=1e-4, freedom=5)
    its = fills.widened(Spread(sd=0.02, freedom=5), 6, between)
    assert its.sd**2 / 6 == pytest.approx(5 / 3 * 1e-4)
    assert its.freedom == pytest.approx(9.6154, abs=1e-4)
    many = fills.widened(Spread(sd=0.02, freedom=999), 1000, between)
    assert many.sd / math.sqrt(1000) > 0.01
    same = Spread(sd=0.02, freedom=5)
    assert fills.widened(same, 6, None) is same


# --- What is counted -------------------------------------------------------------------------


def contest_of(units: Units, rates: list[float]) -> ArmInStep:
    base = [run("base", block, 1_000.0) for block in range(1, len(rates) + 1)]
    other = [run("new", block, rate) for block, rate in enumerate(rates, start=1)]
    found = contest(StepKey("w", 1, "one"), facing(other, base, units))
    assert found is not None
    return found


def rates() -> list[float]:
    return [1_000 * math.exp(log) for log in LOGS.values()]


def throughput(one: ArmInStep) -> Sample:
    return next(iter(one.samples([one.headline])))


def test_with_four_fills_the_tests_count_fills() -> None:
    sample = throughput(contest_of(Units(fills=4), rates()))
    assert sample.logs == pytest.approx((0.02, 0.02, -0.01, 0.03))
    assert sample.fills == FillCount(planned=4, blocks=8)
    judged = judgement(sample)
    assert (judged.blocks, judged.fills) == (8, 4)
    assert judged.sd == pytest.approx(math.sqrt(3) / 100)
    assert judged.p == pytest.approx(0.18169, abs=1e-4)  # t = 1.5 / (√3 / 2) = 1.732, 3 of freedom


def test_a_look_counts_the_fills_that_its_blocks_begin_from() -> None:
    one = contest_of(Units(fills=4), rates()).within((1, 2, 3, 4, 5))
    assert throughput(one).logs == pytest.approx((0.02, 0.03, -0.02, 0.02))
    few = contest_of(Units(fills=4), rates()).within((1, 2, 3))
    assert len(throughput(few).logs) == 3


def test_a_fill_stood_still_where_one_of_its_blocks_did() -> None:
    its = rates()
    its[6] = 0.0  # block 7, of the third fill
    sample = throughput(contest_of(Units(fills=4), its))
    assert (len(sample.logs), sample.stood_still, sample.base_stood_still) == (3, 1, 0)
    assert sample.fills == FillCount(planned=4, blocks=6)
    assert sample.blocks == 4


def test_further_blocks_that_add_no_fill_are_not_asked_for() -> None:
    sample = throughput(contest_of(Units(fills=4), rates()))
    assert judgement(sample).word == "open"
    assert judgement(sample, coming=[Look(blocks=16, share=0.25)]).blocks_needed is None
    few = throughput(contest_of(Units(fills=30), rates()))
    assert (few.fills, len(few.logs)) == (FillCount(planned=30, blocks=8), 8)
    assert judgement(few, coming=[Look(blocks=30, share=0.25)]).blocks_needed == 22


def test_the_whole_of_a_workload_counts_fills_too() -> None:
    one = contest_of(Units(fills=4), rates())
    two = replace(one, where=StepKey("w", 2, "two"))
    whole = next(its for its in wholes([one, two]) if its.sample.metric == one.headline)
    assert whole.sample.logs == pytest.approx((0.02, 0.02, -0.01, 0.03))
    assert whole.sample.fills == FillCount(planned=4, blocks=8)


def test_the_whole_leaves_out_steps_that_only_blocks_with_a_fill_of_their_own_have() -> None:
    later = contest_of(Units(fills=2), rates())
    before = replace(later.within((1, 2)), where=StepKey("w", 0, "before"))
    whole = next(its for its in wholes([before, later]) if its.sample.metric == later.headline)
    assert (whole.steps, len(whole.sample.logs)) == (1, 8)


def judgement(sample: Sample, coming: list[Look] | None = None) -> Judgement:
    look = Look(blocks=8, share=0.5)
    family = [Unit(samples=(sample,), looks=((look, (sample,)),))]
    ((found,),) = decision.decide(family, Aims(), done=8, coming=coming or [])
    return found


@pytest.mark.usefixtures("independent_here")
def test_with_one_fill_the_variance_of_a_calibration_widens_interval_and_tests() -> None:
    between = FillVariance(value=1e-4, freedom=5)
    plain = judgement(throughput(contest_of(Units(), rates())))
    wider = judgement(throughput(contest_of(Units(between={"qps": between}), rates())))
    (_, low, high), (_, wider_low, wider_high) = plain.told, wider.told
    assert low and high and wider_low and wider_high and plain.p and wider.p
    assert wider_low < low < high < wider_high and wider.p > plain.p
    assert wider.sd == pytest.approx(plain.sd), "the scatter between blocks is told as it is"
    own = own_spread(tuple(LOGS.values()))
    assert own is not None
    spread = fills.widened(own, 8, between)
    visible = power.visible(spread.sd, 8, 0.025, 0.8, spread.freedom)
    assert plain.visible is not None and wider.visible == pytest.approx(visible)


def test_no_number_of_blocks_settles_what_one_fill_leaves_open() -> None:
    one = contest_of(Units(between={"qps": FillVariance(value=4e-4, freedom=5)}), rates())
    plain = contest_of(Units(), rates())
    assert judgement(throughput(plain)).blocks_needed is not None
    assert judgement(throughput(one)).blocks_needed is None


def test_the_whole_has_at_most_the_mean_of_its_steps_deviations() -> None:
    one = contest_of(Units(between={"qps": FillVariance(value=4e-4, freedom=5)}), rates())
    two = replace(contest_of(Units(), rates()), where=StepKey("w", 2, "two"))
    whole = next(its for its in wholes([one, two]) if its.sample.metric == "qps")
    assert whole.sample.between_fills == FillVariance(value=pytest.approx(1e-4), freedom=5)


# --- Which results begin from one fill ---------------------------------------------------------


def golden_use(number: int, made: int, ordinal: int = 2) -> GoldenUse:
    at = {"workload": "w", "step": "fill", "step_ordinal": ordinal, "made_unix_ns": made}
    return GoldenUse(began=number > 1, key="k", **at)


def test_blocks_begin_from_one_fill_where_their_copies_are_one() -> None:
    def kept(*made: int) -> dict[tuple[str, int, str], GoldenUse]:
        return {("w", at, "a"): golden_use(at, its) for at, its in enumerate(made, start=1)}

    assert units_of.copied_after(kept(5, 5, 5), "w") == 2
    assert units_of.copied_after(kept(5, 6), "w") is None, "each of two nodes has its own"
    assert units_of.copied_after(kept(5), "w") is None
    assert units_of.copied_after(kept(5, 5), "other") is None


# --- A plan with fills, on a fake that keeps its data ------------------------------------------


def golden_of(results: Results, arm: str) -> list[tuple[int, bool, str]]:
    """Of each run its fill, whether it began from a copy, and the copy's key."""
    runs = [run for block in results.blocks() for run in block.runs() if run.arm == arm]
    uses = [run.golden()["sysbench"] for run in runs]
    return [(use.fill, use.began, use.key) for use in uses]


def measured(of: Plan, parent: Path) -> tuple[Results, Comparison]:
    outcome = blocks.run(of, parent, wait=True)
    assert outcome.failed == 0
    return Results.open(outcome.folder), compare.load(outcome.folder)


@pytest.mark.long
def test_the_first_block_of_each_fill_makes_a_copy_and_later_ones_begin_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    keeping_fake.install(monkeypatch, data, 0.01)
    of = plan.parse(text(data), None)
    prepared = preflight.prepare(of)
    assert len(prepared.copy_bytes) == 8, "four fills of two arms"
    lines = list(dry_run.of_blocks(of, prepared))
    assert ["*" in line for line in lines[:8]] == [False] * 4 + [True] * 4
    outlook = list(dry_run.of_workload(of, of.workloads[0], prepared))
    assert any(line.endswith("(kept, 4 fills)") for line in outlook)
    times = [block_time.block_s(of, prepared, number) for number in range(1, 9)]
    assert min(times[:4]) > max(times[4:])
    results, found = measured(of, tmp_path)
    for arm in ("a", "b"):
        its = golden_of(results, arm)
        assert [(fill, began) for fill, began, _ in its] == [
            *((fill, False) for fill in range(1, 5)),
            *((fill, True) for fill in range(1, 5)),
        ]
        keys = [key for _, _, key in its]
        assert keys[:4] == keys[4:] and len(set(keys)) == 4
    names = [
        [step.name for step in run.steps()] for block in results.blocks() for run in block.runs()
    ]
    assert names[:8] == [["fill", "point-query", "hot-points"]] * 8
    assert names[8:] == [["point-query", "hot-points"]] * 8
    (one,) = [step for step in found.steps if step.step == "point-query"]
    verdict = one.cells[1].verdict
    assert verdict is not None
    (said,) = [its for its in verdict.judgements if its.metric == "qps"]
    assert (said.blocks, said.fills) == (8, 4)
    logs = {
        new.block: math.log((new.metrics["qps"] or 0) / (base.metrics["qps"] or 0))
        for base, new in zip(one.cells[0].runs, one.cells[1].runs, strict=True)
    }
    expected = fills.log_interval(tuple(Units(fills=4).means(logs).values()), None)
    assert (said.so_far.value, said.own_low, said.own_high) == (
        expected.value,
        expected.low,
        expected.high,
    )
    assert one.cells[1].ratio == said.estimate
    assert any(
        line.startswith("fills: intervals and tests of sysbench count") for line in doubted(found)
    )
    assert known.price([said]) == "more fills"


@pytest.mark.long
def test_two_fills_are_judged_by_blocks_and_said_to_be_too_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    keeping_fake.install(monkeypatch, data, 0.01)
    _, found = measured(plan.parse(text(data, fills=2, blocks=4), None), tmp_path)
    assert any(
        line.startswith("few fills: 2 fills of sysbench are too few") for line in doubted(found)
    )
    said = [its for step in found.steps for cell in step.cells if cell.verdict
            for its in cell.verdict.judgements]  # fmt: skip
    assert said and all(its.fills is None for its in said)


@pytest.mark.long
def test_a_result_of_one_fill_warns_until_a_calibration_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, parent = tmp_path / "data", tmp_path / "results"
    keeping_fake.install(monkeypatch, data, 0.02)
    of = plan.parse(text(data, fills=None, blocks=4), None)
    results, before = measured(of, parent)
    assert (
        "one fill: all blocks of sysbench begin from one golden copy of each arm, so the scatter "
        "between fills is in no interval; `--fills 6` of `dyno calibrate` measures it"
    ) in doubted(before)
    other, calibrated = measured(calibration.of(of, 3, None, 6), parent)
    base, aa_arm = (golden_of(other, arm) for arm in ("a", "ghost"))
    assert not {key for _, _, key in base} & {key for _, _, key in aa_arm}
    assert calibrated.calibration is not None
    noises = [one for one in calibrated.calibration.fills if one.metric == "qps"]
    assert [(one.step, one.fills, one.blocks) for one in noises] == [
        ("point-query", 6, 18),
        ("hot-points", 6, 18),
    ]
    # Two arms with a fill each, 2 % apart: the ratio scatters by 2.8 %, as far as six fills tell.
    for one in noises:
        assert 0.012 < one.sd < 0.06 and one.blocks_sd < one.sd
        assert one.sd_low is not None and one.sd_low < one.sd < (one.sd_high or 0)
    after = compare.load(results)
    assert (
        "fills: intervals and words of sysbench have the scatter between fills in them that "
        "kept.calibration.fills measured"
    ) in doubted(after)
    for old, new in zip(before.steps, after.steps, strict=True):
        if new.step != "fill":
            assert width(new.cells[1].ratio) > 1.5 * width(old.cells[1].ratio)
            assert new.cells[1].verdict is not None and old.cells[1].verdict is not None


def test_a_result_of_one_arm_has_no_interval_to_warn_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    keeping_fake.install(monkeypatch, data, 0.0)
    of = plan.parse(text(data, fills=None, blocks=2), None)
    _, found = measured(replace(of, arms=of.arms[:1]), tmp_path)
    assert not any("one fill" in line for line in doubted(found))


def width(ratio: Any) -> float:
    return float(ratio.high - ratio.low)


def test_a_run_without_its_state_keeps_blocks_as_units() -> None:
    its: StepRun = changed(run("base", 1, 1.0))
    assert facing([its], [its]).units == Units()
