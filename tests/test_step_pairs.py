"""Two steps of one arm beside each other: which belong together, and their ratios by block."""

import math

import pytest

from dbdyno.findings.step_pairs.facts import StepPair
from dbdyno.findings.step_pairs.plan import derived
from dbdyno.model import Cell, StepComparison
from run_builder import step_run

RATES = {
    "a": {"load": 100.0, "read.pre": 200.0, "read": 150.0},
    "b": {"load": 100.0, "read.pre": 200.0, "read": 190.0},
}


def cell(arm: str, step: str, rates: list[float | None], headline: str | None) -> Cell:
    """An arm's runs of a step, a block each; None: it failed."""
    runs = tuple(
        step_run(
            workload="w", arm=arm, block=block, ordinal=1, step=step, measured=headline is not None,
            status="failed" if rate is None else "ok", reason=None, headline=headline,
            metrics={} if rate is None else {headline or "": rate},
        )
        for block, rate in enumerate(rates, start=1)
    )  # fmt: skip
    return Cell(
        arm=arm, runs=runs, value=None, value_bound="exact", ratio=None, ratio_bound="exact",
        sla_met=None, metrics={}, estimates={},
    )  # fmt: skip


def step(
    name: str, *rates: float | None, headline: str | None = "qps", workload: str = "w"
) -> StepComparison:
    """A step of one arm."""
    cells = (cell("a", name, list(rates), headline),)
    return StepComparison(workload=workload, ordinal=1, step=name, headline=headline, cells=cells)


def pairs(*steps: StepComparison) -> list[tuple[str, str]]:
    return [(pair.first_step, pair.second_step) for pair in derived(steps).across]


def one(*steps: StepComparison) -> StepPair:
    (found,) = derived(steps).across
    return found


# --- Before and after the writes -------------------------------------------------------------


def test_a_step_before_the_writes_is_beside_its_twin_after_them() -> None:
    found = one(step("read.pre", 200.0, 400.0), step("read", 150.0, 300.0))
    assert (found.kind, found.first_step, found.second_step) == ("post by pre", "read.pre", "read")
    assert (found.first_clients, found.second_clients) == (None, None)
    assert found.ratio is not None
    assert found.ratio.blocks == 2
    for value in (found.ratio.value, found.ratio.low, found.ratio.high):
        assert value == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("pre", "post"),
    [
        ("random-points.pre_range=10", "random-points_range=10"),
        ("point-query.pre@clients=4", "point-query@clients=4"),
    ],
)
def test_the_mark_may_stand_before_what_else_the_name_says(pre: str, post: str) -> None:
    assert pairs(step(pre, 1.0), step(post, 1.0)) == [(pre, post)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (step("scan.warmpre", 1.0), step("scan.warm", 1.0)),
        (step("read.prefix", 1.0), step("readfix", 1.0)),
        (step("postwrite.pre", None, headline=None), step("postwrite", None, headline=None)),
        (step("read.pre", 1.0), step("write", 1.0)),
        (step("read.pre", 1.0), step("read", 1.0, workload="another")),
        (step("scan.pre", 1.0, headline="qps"), step("scan", 1.0, headline="scan")),
    ],
)
def test_what_is_no_pair_is_none(first: StepComparison, second: StepComparison) -> None:
    assert pairs(first, second) == []


def test_pairs_are_of_the_same_block_and_a_failed_step_has_none() -> None:
    """Blocks differ by ten times; pairs by e^0.1 and e^0.3. In the third, one step failed."""
    before = step("read.pre", 100.0, 1_000.0, 1.0)
    after = step("read", 100 * math.exp(0.1), 1_000 * math.exp(0.3), None)
    found = one(before, after).ratio
    assert found is not None
    assert found.blocks == 2
    assert found.value == pytest.approx(math.exp(0.2))
    assert found.low is not None and found.low < found.value
    assert one(before, step("read", None, None, None)).ratio is None


# --- Scale-up --------------------------------------------------------------------------------


def test_more_clients_are_beside_the_fewest_whatever_the_order_of_the_steps() -> None:
    found = derived(
        [
            step("read@clients=10", 900.0),
            step("read@clients=2", 200.0),
            step("write@clients=2", 50.0),
            step("read@clients=4", 380.0),
            step("write@clients=4", 100.0),
        ]
    ).across
    clients = [(pair.first_clients, pair.second_clients) for pair in found]
    assert clients == [(2, 4), (2, 10), (2, 4)]
    assert [(pair.first_step, pair.second_step) for pair in found] == [
        ("read@clients=2", "read@clients=4"),
        ("read@clients=2", "read@clients=10"),
        ("write@clients=2", "write@clients=4"),
    ]
    assert all(pair.kind == "scale-up" for pair in found)
    values = [pair.ratio.value for pair in found if pair.ratio is not None]
    assert values == pytest.approx([1.9, 4.5, 2.0])


def test_steps_that_differ_in_more_than_clients_are_sweeps_of_their_own() -> None:
    names = ["a@clients=1,rate=0", "a@clients=2,rate=0", "a@clients=1,rate=5", "a@clients=2,rate=5"]
    assert pairs(*(step(name, 1.0) for name in names)) == [
        ("a@clients=1,rate=0", "a@clients=2,rate=0"),
        ("a@clients=1,rate=5", "a@clients=2,rate=5"),
    ]
    assert pairs(step("a@rate=1", 1.0), step("a@rate=2", 1.0)) == []
    assert pairs(step("a@subclients=1", 1.0), step("a@subclients=2", 1.0)) == []


def test_every_arm_has_its_own_pairs_the_base_first() -> None:
    made = [
        StepComparison(
            workload="w", ordinal=1, step=name, headline="qps",
            cells=tuple(cell(arm, name, [rates[name]], "qps") for arm, rates in RATES.items()),
        )
        for name in ("load", "read.pre", "read")
    ]  # fmt: skip
    found = derived(made).across
    assert [pair.arm for pair in found] == ["a", "b"]
    values = [pair.ratio.value for pair in found if pair.ratio is not None]
    assert values == pytest.approx([0.75, 0.95])
