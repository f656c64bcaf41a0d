"""Sweeps of a comparison: which steps belong together, curves, peaks and drops by block."""

import math
from collections.abc import Mapping, Sequence

import pytest

from dbdyno.findings.sweeps.facts import Peak, SweepFacts
from dbdyno.findings.sweeps.plan import derived
from dbdyno.judge import arms_and_blocks, step_cells
from dbdyno.model import ResponseTimes, StepRun
from dbdyno.model.sweep import P99, values
from run_builder import failed, plan_of, run

Blocks = Sequence[Mapping[int, float | None]]
"""Of each block the throughput by clients; None: it failed."""

BASE: Blocks = [
    {1: 100, 4: 400, 16: 1000, 64: 900},
    {1: 110, 4: 380, 16: 1000, 64: 500},
    {1: 105, 4: 410, 16: 900, 64: 950},
]
OTHER: Blocks = [
    {1: 100, 4: 500, 16: 800, 64: 400},
    {1: 100, 4: 850, 16: 800, 64: 400},
    {1: 100, 4: 300, 16: 990, 64: 495},
]


def times(us: float, *, paced: bool = False) -> ResponseTimes:
    return ResponseTimes(
        name="query", count=1, buckets=(0,) * 10, p50_us=us, p90_us=us, p99_us=us, p999_us=us,
        max_us=int(us), paced=paced,
    )  # fmt: skip


def runs(arm: str, blocks: Blocks, title: str = "read@clients={}", **more: object) -> list[StepRun]:
    made = []
    for number, curve in enumerate(blocks, start=1):
        for place, (clients, rate) in enumerate(curve.items(), start=1):
            one = run(
                arm, number, rate, step=title.format(clients), ordinal=place,
                metrics={} if rate is None else {P99: 1000.0 * clients}, **more,
            )  # fmt: skip
            made.append(failed(one) if rate is None else one)
    return made


def found(*its: StepRun, arms: Sequence[str] = ("old", "new")) -> SweepFacts:
    plan = plan_of(arms)
    in_order = sorted(its, key=lambda one: one.block)
    return derived(step_cells.rows(plan, arms_and_blocks.arms(plan, None), in_order))


def peaks(old: Blocks, new: Blocks) -> tuple[Peak, Peak]:
    base, other = found(*runs("old", old), *runs("new", new)).peaks
    assert (base.arm, other.arm) == ("old", "new")
    return base, other


def logs(*ratios: float) -> float:
    return math.exp(sum(math.log(one) for one in ratios) / len(ratios))


def test_a_name_tells_what_is_swept_and_what_stays() -> None:
    assert values("read@clients=4,rate=0.5,protocol=simple") == {
        "clients": (4.0, "read@rate=0.5,protocol=simple"),
        "rate": (0.5, "read@clients=4,protocol=simple"),
    }
    assert values("read_range=10@clients=4") == {"clients": (4.0, "read_range=10")}
    assert values("read_range=10") == values("read@late") == {}


def test_each_block_has_a_peak_and_a_drop_of_its_own() -> None:
    base, other = peaks(BASE, OTHER)
    assert (base.clients, base.fewest, base.most, base.blocks) == (16, 16, 64, 3)
    assert (other.clients, other.fewest, other.most, other.blocks) == (16, 4, 16, 3)
    assert base.peak is not None and base.drop_factor is not None
    assert base.peak.value == pytest.approx(logs(1000, 1000, 950))
    assert base.drop_factor.value == pytest.approx(logs(0.9, 0.5, 1.0))
    assert base.drop_factor.high == 1.0
    assert base.ratio is base.drop_ratio is None


def test_peaks_and_drops_are_divided_within_blocks() -> None:
    _, other = peaks(BASE, OTHER)
    assert other.ratio is not None and other.drop_ratio is not None
    assert other.ratio.value == pytest.approx(logs(0.8, 0.85, 990 / 950))
    assert other.ratio.blocks == 3
    drops = (0.5 / 0.9, 400 / 850 / 0.5, 0.5 / 1.0)
    assert other.drop_ratio.value == pytest.approx(logs(*drops))
    assert other.drop_ratio.low is not None and other.drop_ratio.low < logs(*drops)


def test_a_block_that_lacks_a_value_has_no_peak() -> None:
    holed = [{**BASE[0], 64: None}, *BASE[1:]]
    base, other = peaks(holed, OTHER)
    assert (base.blocks, other.blocks) == (2, 3)
    assert other.ratio is not None and other.ratio.blocks == 2
    (peak,) = found(*runs("old", [{**BASE[0], 1: None}]), *runs("new", OTHER[:1])).peaks
    assert (peak.arm, peak.ratio) == ("new", None)


def test_who_stands_still_with_the_most_clients_has_no_drop_in_that_block() -> None:
    base, other = peaks([BASE[0], {**BASE[1], 64: 0.0}], [{**OTHER[0], 64: 0.0}, OTHER[1]])
    assert (base.stood_still, other.stood_still) == (1, 1)
    assert base.drop_factor is not None and base.drop_factor.value == pytest.approx(0.9)
    assert other.drop_ratio is None


def test_points_are_geometric_means_with_their_intervals() -> None:
    (one,) = found(*runs("old", BASE), *runs("new", OTHER)).sweeps
    (point,) = [its for its in one.points if (its.arm, its.value) == ("new", 16.0)]
    assert point.figures["qps"].value == pytest.approx(logs(800, 800, 990))
    low, high = point.figures["qps"].low, point.figures["qps"].high
    assert low is not None and high is not None and low < 800 < high
    assert point.figures[P99].value == pytest.approx(16_000)


def test_what_a_rate_holds_back_has_no_peak() -> None:
    paced = {"response": (times(100, paced=True),)}
    name = "read@clients={},rate=50"
    facts = found(*runs("old", BASE, name, **paced), *runs("new", OTHER, name, **paced))
    (one,) = facts.sweeps
    assert (one.title, one.parameter, one.paced) == ("read@rate=50", "clients", True)
    assert facts.peaks == ()
    closed = {"response": (times(100),)}
    assert len(found(*runs("old", BASE, **closed), *runs("new", OTHER, **closed)).peaks) == 2


def test_a_grid_has_a_sweep_for_each_value_of_the_other_parameter() -> None:
    its = [
        one
        for rate in (10, 20)
        for arm in ("old", "new")
        for one in runs(arm, BASE[:1], f"read@clients={{}},rate={rate}")
    ]
    made = found(*its)
    assert {(one.title, one.parameter) for one in made.sweeps} == {
        ("read@rate=10", "clients"),
        ("read@rate=20", "clients"),
        *((f"read@clients={n}", "rate") for n in BASE[0]),
    }


def test_a_single_value_is_no_sweep_and_a_limit_of_the_generator_is_named() -> None:
    assert found(*runs("old", [{4: 1.0}]), *runs("new", [{4: 1.0}])) == SweepFacts()
    slow = runs("old", BASE, limited=("its threads were busy",))
    assert [peak.limited for peak in found(*slow, *runs("new", OTHER)).peaks] == [True, False]
