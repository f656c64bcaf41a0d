"""What comparing the base with its A/A arm comes to, counted by hand."""

import math
from collections.abc import Sequence
from random import Random

import pytest

from dbdyno.judge.calibration import uniform_p
from dbdyno.model import StepRun
from dbdyno.model.verdict import Calibration
from run_builder import NOISE, changed, concluded, lifted, plan_of, series

AA_ARM = {"ghost": {"same_as": "base"}}


def calibrated(
    rates: Sequence[float], blocks_each: int | None, **changes: float
) -> Calibration | None:
    """The calibration of an A/A arm with these rates beside a base of constant 1,000."""
    runs = [*series("base", [1_000.0] * len(rates), **changes), *series("ghost", rates, **changes)]
    found = concluded(runs, plan_of(("base", "ghost"), **AA_ARM), blocks_each=blocks_each)
    return found.calibration


def test_each_comparison_is_judged_for_itself() -> None:
    """Three of four blocks: the second is planted as another arm would be, 10 % faster."""
    four = [0.004, -0.006, 0.005, -0.003]
    rates = [*lifted(0.0, four), *lifted(0.1, four), *lifted(0.0, four), *lifted(0.5, four[:2])]
    found = calibrated(rates, 4)
    assert found is not None
    assert (found.arm, found.comparisons, found.blocks_each) == ("ghost", 3, 4)
    assert (found.tests, found.rejected, found.rate) == (3, 1, pytest.approx(1 / 3))
    assert (found.false_verdicts, found.comparisons_false) == (1, 1)
    # Clopper-Pearson of 1 in 3, as tables have it
    assert (found.rate_low, found.rate_high) == (
        pytest.approx(0.0084, abs=1e-4),
        pytest.approx(0.9057, abs=1e-4),
    )
    (noise,) = found.noise
    assert noise.blocks == 14
    assert noise.largest == pytest.approx(0.1, abs=1e-3), "the two blocks left over do not count"


def test_the_aa_arm_of_a_plan_is_one_comparison() -> None:
    found = calibrated(lifted(0.0), None)
    assert found is not None
    assert (found.comparisons, found.blocks_each, found.false_verdicts) == (1, 6, 0)
    (noise,) = found.noise
    mean = sum(NOISE) / 6
    sd = math.sqrt(sum((log - mean) ** 2 for log in NOISE) / 5)
    assert noise.sd == pytest.approx(sd)
    assert noise.sd_low < sd < noise.sd_high
    assert noise.largest == pytest.approx(math.exp(abs(mean)) - 1)
    assert noise.visible is not None and noise.visible > 2 * sd / math.sqrt(6)


def test_both_primary_metrics_are_tests_and_have_their_noise() -> None:
    found = calibrated(lifted(0.0), 3, cpu=20.0)
    assert found is not None
    assert (found.comparisons, found.tests) == (2, 4)
    assert [its.metric for its in found.noise] == ["qps", "cpu_per_op"]


def test_fewer_blocks_than_a_comparison_takes_are_no_calibration() -> None:
    assert calibrated(lifted(0.0)[:3], 4) is None
    assert calibrated(lifted(0.0)[:1], None) is None


def test_without_an_aa_arm_there_is_no_calibration() -> None:
    runs: list[StepRun] = [*series("base", [1_000.0] * 6), *series("other", lifted(0.0))]
    assert concluded(runs, plan_of(("base", "other"))).calibration is None


def test_p_values_that_are_not_uniform_are_seen() -> None:
    """Against scipy.stats.kstest, which takes a second to load and is exact for few."""
    from scipy import stats as oracle

    draw = Random(6)
    uniform = [draw.random() for _ in range(80)]
    small = [p**3 for p in uniform]
    for ps in (uniform, small, uniform[:10]):
        assert uniform_p(ps) == pytest.approx(oracle.kstest(ps, "uniform").pvalue, abs=0.03)
    assert (uniform_p(small) or 1) < 0.001 < 0.05 < (uniform_p(uniform) or 0)
    assert uniform_p(uniform[:7]) is None


def test_a_false_word_on_the_whole_counts_as_a_false_verdict() -> None:
    """Two steps, neither of which can be told, whose noises cancel in their mean."""
    wild = [0.30, -0.25, 0.28, -0.32, 0.27, -0.26]
    first, second = lifted(0.05, wild), lifted(0.05, [-log for log in wild])
    runs = [
        changed(its, step=step, ordinal=ordinal)
        for ordinal, (step, rates) in enumerate((("one", first), ("two", second)), start=1)
        for its in (*series("base", [1_000.0] * 6), *series("ghost", rates))
    ]
    found = concluded(runs, plan_of(("base", "ghost"), **AA_ARM), blocks_each=None)
    assert {its.cells[1].verdict.word for its in found.steps if its.cells[1].verdict} == {"open"}
    assert found.calibration is not None
    assert (found.calibration.tests, found.calibration.false_verdicts) == (3, 1)
