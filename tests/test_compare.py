"""From runs to a comparison: ratios paired by block, and nothing that was measured is dropped."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.analysis import compare
from dbdyno.model import Cell, Comparison
from dbdyno.model.doubt import DoubtSubject
from dbdyno.model.error import ResultError
from doubted import doubted, flat
from result_builder import build, plant
from result_planted import Planted


def cell(comparison: Comparison, step: str, arm: str) -> Cell:
    """One arm in one step."""
    (found,) = [s for s in comparison.steps if s.step == step]
    return next(its for its in found.cells if its.arm == arm)


@pytest.mark.usefixtures("independent_here")
def test_ratios_are_paired_by_block(tmp_path: Path) -> None:
    """The blocks differ by a factor of three, the pairs by e^0.01, e^0.03, e^0.05."""
    speed = {1: 1.0, 2: 2.0, 3: 3.0}
    lift = {1: math.exp(0.01), 2: math.exp(0.03), 3: math.exp(0.05)}

    def planted(arm: str, step: str, block: int) -> Planted:
        factor = speed[block] * (lift[block] if arm == "pg18" else 1.0)
        numbers = plant(step)
        return replace(numbers, queries_per_s=5_000 * factor, role_cpu_us={})

    found = cell(compare.load(build(tmp_path, steps=("qr100",), planted=planted)), "qr100", "pg18")
    reach = 4.302652729911275 * 0.02 / math.sqrt(3)
    assert found.ratio is not None
    # counts are whole operations, so a rate is exact to 1 in 100,000
    assert found.ratio.value == pytest.approx(math.exp(0.03), abs=2e-5)
    assert found.ratio.low == pytest.approx(math.exp(0.03 - reach), abs=2e-4)
    assert found.ratio.high == pytest.approx(math.exp(0.03 + reach), abs=2e-4)
    assert found.value == pytest.approx(5_000 * 6 ** (1 / 3) * math.exp(0.03), rel=2e-5)
    assert found.metrics["qps"] == found.value


def test_one_block_has_ratios_without_intervals(tmp_path: Path) -> None:
    found = cell(compare.load(build(tmp_path, blocks=1)), "qr100", "pg18")
    assert found.ratio is not None
    assert (found.ratio.low, found.ratio.high, found.ratio.blocks) == (None, None, 1)


def test_steps_come_in_the_order_of_the_run_with_the_base_first(tmp_path: Path) -> None:
    comparison = compare.load(build(tmp_path, blocks=1, arms=("pg18", "pg17")))
    assert [step.step for step in comparison.steps] == ["l.i0", "l.x", "l.i1", "cleanup", "qr100"]
    assert all([its.arm for its in step.cells] == ["pg18", "pg17"] for step in comparison.steps)
    assert comparison.title == "example: pg17 against pg18"


@pytest.mark.long
def test_many_arms_are_counted_in_the_title(tmp_path: Path) -> None:
    comparison = compare.load(build(tmp_path, blocks=1, arms=("a", "b", "c", "d", "e", "f")))
    assert comparison.title == "example: 5 arms against a"


@pytest.mark.long
def test_another_base_can_be_asked_for(tmp_path: Path) -> None:
    folder = build(
        tmp_path, planted=lambda arm, step, block: plant(step, faster=2.0 if arm == "pg18" else 1.0)
    )
    comparison = compare.load(folder, base="pg18")
    assert comparison.arms == ("pg18", "pg17")
    found = cell(comparison, "qr100", "pg17").ratio
    assert found is not None
    assert found.value == pytest.approx(0.5)
    with pytest.raises(ResultError, match=r"no arm `pg99`.*pg17, pg18"):
        compare.load(folder, base="pg99")


@pytest.mark.long
def test_a_failed_step_stays_with_its_reason_and_the_rest_of_its_run_is_skipped(tmp_path: Path):
    folder = build(tmp_path, failed={(2, "pg18", "l.i1"): "the server ended by signal 9"})
    comparison = compare.load(folder)
    found = cell(comparison, "l.i1", "pg18")
    assert [run.ending.status for run in found.runs] == ["ok", "failed", "ok"]
    assert found.runs[1].ending.reason == "the server ended by signal 9"
    assert found.ratio is not None
    assert found.ratio.blocks == 2
    skipped = cell(comparison, "qr100", "pg18")
    assert [run.ending.status for run in skipped.runs] == ["ok", "skipped", "ok"]
    assert (skipped.sla_met, cell(comparison, "qr100", "pg17").sla_met) == (2, 3)


@pytest.mark.long
def test_a_step_that_failed_in_every_block_keeps_its_row(tmp_path: Path) -> None:
    failed = {(block, "pg18", "qr100"): "too slow" for block in (1, 2, 3)}
    found = cell(compare.load(build(tmp_path, failed=failed)), "qr100", "pg18")
    assert (found.value, found.ratio, found.metrics) == (None, None, {})
    assert len(found.runs) == 3


def test_a_step_that_a_run_never_came_to_is_skipped(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=1)
    gone = folder / "blocks" / "001" / "pg18" / "insert-benchmark" / "06-qr100"
    for path in gone.iterdir():
        path.unlink()
    gone.rmdir()
    (run,) = cell(compare.load(folder), "qr100", "pg18").runs
    assert (run.ending.status, run.arm, run.metrics) == ("skipped", "pg18", {})


@pytest.mark.long
def test_maintenance_that_failed_is_among_the_warnings(tmp_path: Path) -> None:
    comparison = compare.load(build(tmp_path, failed={(1, "pg18", "cleanup"): "no room"}))
    failed, *skipped = flat(comparison)
    assert {doubt.subject for doubt in skipped} == {DoubtSubject.SKIPPED}
    place = (failed.step, failed.arm, failed.block, failed.words)
    assert place == ("cleanup", "pg18", 1, "no room")


@pytest.mark.long
def test_an_unfinished_block_is_not_judged_and_is_said(tmp_path: Path) -> None:
    comparison = compare.load(build(tmp_path, broken=True))
    assert comparison.blocks == 2
    assert comparison.incomplete == "2 of 3 blocks done, block 3 begun and not finished"
    assert len(cell(comparison, "qr100", "pg18").runs) == 2


def test_a_plan_that_is_half_done_says_so(tmp_path: Path) -> None:
    comparison = compare.load(build(tmp_path, blocks=1, planned_blocks=4))
    assert comparison.incomplete == "1 of 4 blocks done"


def test_without_a_complete_block_there_is_nothing_to_compare(tmp_path: Path) -> None:
    comparison = compare.load(build(tmp_path, blocks=1, broken=True))
    assert (comparison.blocks, comparison.steps, comparison.servers) == (0, (), {})


@pytest.mark.long
def test_targets_held_are_counted_over_the_blocks(tmp_path: Path) -> None:
    def planted(arm: str, step: str, block: int) -> Planted:
        slow = arm == "pg18" and block == 2 and step == "qr100"
        return plant(step, insert_rows_per_s=100.0) if slow else plant(step)

    comparison = compare.load(build(tmp_path, planted=planted))
    assert cell(comparison, "qr100", "pg18").sla_met == 2
    assert cell(comparison, "qr100", "pg17").sla_met == 3
    assert cell(comparison, "l.i0", "pg17").sla_met is None
    ratio = cell(comparison, "qr100", "pg18").ratio
    assert ratio is not None and ratio.blocks == 3, "a missed target is a result, never dropped"


@pytest.mark.long
def test_the_same_warning_of_many_steps_is_one_line_with_its_places(tmp_path: Path) -> None:
    folder = build(tmp_path, planted=lambda arm, step, block: plant(step, steal_us_per_s=60_000.0))
    comparison = compare.load(folder)
    assert doubted(comparison) == ("CPU taken by other machines: 3.0 % of all cores' time",)
    assert len(flat(comparison)) == 2 * 3 * 5, "arms, blocks and steps"


def test_results_that_were_written_once_are_read_ever_after() -> None:
    """The canned folder: 40,000 rows/s and 5,000 queries/s, pg18 5 % faster."""
    comparison = compare.load(Path(__file__).parent / "example_results" / "example")
    for step, rate in (("l.i0", 40_000), ("qr100", 5_000)):
        assert cell(comparison, step, "pg17").value == pytest.approx(rate)
        found = cell(comparison, step, "pg18").ratio
        assert found is not None
        assert found.value == pytest.approx(1.05)
    metrics = cell(comparison, "qr100", "pg17").metrics
    assert metrics["cpupq"] == pytest.approx(112.72)
    assert metrics["server_cpu_per_op"] == pytest.approx(100.0)
    assert doubted(comparison) == ()
    assert comparison.incomplete is None
