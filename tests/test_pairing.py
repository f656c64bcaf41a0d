"""Ratios are taken to the base run that was measured next to the arm's own."""

from dataclasses import replace

import pytest

from dbdyno.judge.pairing import by_block, by_block_of_each, facing, placed, ratio
from dbdyno.model import StepRun
from run_builder import cell, concluded, failed, plan_of, run

DOUBLE = {"again": {"same_as": "base", "shown": False}}


def at(arm: str, position: int | None, rate: float, block: int = 1) -> StepRun:
    """A run at its place in the block."""
    return run(arm, block, rate, position=position)


def test_the_nearest_by_place_is_taken_and_of_two_the_earlier() -> None:
    bases = [at("base", 0, 100.0), at("again", 4, 200.0)]
    for position, rate in ((1, 100.0), (2, 100.0), (3, 200.0), (5, 200.0)):
        (pair,) = facing([at("other", position, 300.0)], bases).compared("qps").pairs.values()
        assert pair.base == rate, position


def test_the_earlier_wins_a_tie_also_where_it_is_hidden() -> None:
    bases = [at("base", 4, 100.0), at("again", 0, 200.0)]
    (pair,) = facing([at("other", 2, 300.0)], bases).compared("qps").pairs.values()
    assert pair.base == 200.0


def test_a_nearest_base_that_failed_leaves_the_next() -> None:
    bases = [at("base", 0, 100.0), failed(at("again", 4, 200.0))]
    faced = facing([at("other", 5, 300.0)], bases)
    assert faced.compared("qps").pairs[1].base == 100.0
    assert [its.arm for its in faced.base_runs] == ["base"]


def test_only_bases_of_the_same_block_count() -> None:
    bases = [at("base", 0, 100.0, block=1), at("base", 3, 200.0, block=2)]
    others = [at("other", 3, 300.0, block=1), at("other", 0, 300.0, block=2)]
    pairs = facing(others, bases).compared("qps").pairs
    assert {block: pair.base for block, pair in pairs.items()} == {1: 100.0, 2: 200.0}


def test_without_places_the_base_itself_comes_before_its_aa_arms() -> None:
    bases = [at("base", None, 100.0), at("again", None, 200.0)]
    assert facing([at("other", None, 300.0)], bases).compared("qps").pairs[1].base == 100.0


def test_all_metrics_by_block_are_each_metric_by_block() -> None:
    runs = [at("base", 0, 100.0, block=2), failed(at("base", 0, 1.0, block=3)), at("base", 0, 0.0)]
    found = by_block_of_each(runs)
    assert found["qps"] == {2: 100.0, 1: 0.0}
    for name in {name for one in runs for name in one.metrics}:
        values = by_block(runs, name)
        assert found.get(name, {}) == values
        assert list(found.get(name, {})) == list(values), "sums go through them in one order"


def test_a_value_of_0_makes_no_pair() -> None:
    assert facing([at("other", 1, 300.0)], [at("base", 0, 0.0)]).compared("qps").pairs == {}
    assert facing([at("other", 1, 0.0)], [at("base", 0, 100.0)]).compared("qps").pairs == {}
    assert ratio([at("base", 0, 0.0)], [at("other", 1, 300.0)], "qps") is None


def test_a_place_is_that_of_the_block_unless_the_step_had_an_order_of_its_own() -> None:
    own = at("other", 0, 1.0)
    of_block = replace(own, position=None)
    unknown = replace(own, position=None, block=2)
    found = placed([own, of_block, unknown], {(1, own.facts.workload): ("base", "other")})
    assert [its.position for its in found] == [0, 1, None]


def test_a_hidden_aa_arm_is_no_column_but_a_reference() -> None:
    """The host slows down within the block: beside the near base nothing differs."""
    runs = [
        its
        for block in (1, 2, 3)
        for its in (
            at("base", 0, 1_000.0, block),
            at("one", 1, 1_000.0, block),
            at("two", 4, 800.0, block),
            at("again", 5, 800.0, block),
        )
    ]
    found = concluded(runs, plan_of(("base", "one", "two", "again"), **DOUBLE))
    (step,) = found.steps
    assert [its.arm for its in step.cells] == ["base", "one", "two"]
    for arm in ("one", "two"):
        its = cell(found, arm)
        assert its.ratio is not None and its.ratio.value == pytest.approx(1.0)
        assert its.verdict is not None and its.verdict.word == "same"
    assert cell(found, "base").value == pytest.approx(1_000.0), "its own runs alone"
    plain = concluded(runs, plan_of(("base", "one", "two", "again")))
    far = cell(plain, "two").ratio
    assert far is not None and far.value == pytest.approx(0.8), "without an A/A arm it would not"
