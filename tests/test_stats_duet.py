"""The arithmetic of a duet, by hand and on drawn seconds."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats

from dbdyno.stats import duet


def test_what_sets_of_cores_differ_by_cancels_in_the_mean_of_halves() -> None:
    change, cores = math.log(0.95), math.log(1.2)
    assert duet.mean_of_halves(change + cores, change - cores) == pytest.approx(change)


def test_the_core_effect_is_half_of_what_halves_differ_by() -> None:
    assert duet.core_effect([(0.10, 0.02), (0.06, 0.02)]) == pytest.approx(0.03)
    with pytest.raises(ValueError, match="no log ratios"):
        duet.core_effect([])


def test_one_half_alone_correlates_as_pearson_has_it() -> None:
    ones, others = [100.0, 110, 95, 105, 120, 90], [50.0, 56, 47, 50, 63, 44]
    found = duet.correlation([list(zip(ones, others, strict=True))])
    assert found is not None
    logs = [[math.log(rate) for rate in rates] for rates in (ones, others)]
    assert found.value == pytest.approx(stats.pearsonr(*logs).statistic)
    assert found.seconds == 6
    assert found.gain == pytest.approx(1 / (1 - found.value))


def test_the_interval_of_independent_seconds_is_that_of_fishers_z() -> None:
    ones, others = [1.0, 1, -1, -1, 0, 0, 0], [0.0, 1, 0, 0, 0, 1, -2]
    rates = [(math.exp(x / 10), math.exp(y / 10)) for x, y in zip(ones, others, strict=True)]
    found = duet.correlation([rates])
    assert found is not None
    # Of seconds with those before them the sides correlate by 1/4 and -2/6: not to the same side,
    # so that each second counts.
    error = 1 / math.sqrt(len(ones) - 3)
    z = math.atanh(1 / math.sqrt(24))
    assert found.value == pytest.approx(1 / math.sqrt(24))
    assert found.low == pytest.approx(math.tanh(z - 1.959964 * error))
    assert found.high == pytest.approx(math.tanh(z + 1.959964 * error))
    assert found.p_negative == pytest.approx(stats.norm.cdf(z / error))


def test_levels_of_halves_are_no_correlation() -> None:
    """Both arms are slow in the first half and fast in the second: that says nothing of seconds."""
    first = [(100.0, 102.0), (102.0, 100.0), (100.0, 100.0), (102.0, 102.0)]
    second = [(4 * one, 4 * other) for one, other in first]
    found = duet.correlation([first, second])
    assert found is not None
    assert found.value == pytest.approx(0.0, abs=1e-9)


def test_too_few_seconds_or_no_spread_have_none() -> None:
    assert duet.correlation([]) is None
    assert duet.correlation([[(100.0, 90.0), (90.0, 100.0)]]) is None
    assert duet.correlation([[(100.0, 100.0 + second) for second in range(9)]]) is None


def test_a_second_of_nothing_is_left_out() -> None:
    pairs = [(100.0, 50.0), (0.0, 55.0), (110.0, 56.0), (95.0, 47.0), (90.0, 44.0), (120.0, 63.0)]
    found = duet.correlation([[*pairs, (105.0, 50.0)]])
    assert found is not None
    assert found.seconds == 6


def seconds(
    draws: random.Random, *, shared: float, divided: float, wave: float = 0.0
) -> list[tuple[float, float]]:
    """Rates of 20 seconds: noise of each arm, noise of both, and what one takes of the other."""
    found, slow = [], [0.0, 0.0]
    for _ in range(20):
        slow = [wave * one + draws.gauss(0, 0.02) for one in slow]
        both, taken = draws.gauss(0, shared), draws.gauss(0, divided)
        found.append((math.exp(slow[0] + both + taken), math.exp(slow[1] + both - taken)))
    return found


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        # 5 % of 400 have a standard error of 1.1 %.
        ({"shared": 0.0, "divided": 0.0}, 0.02, 0.085),
        ({"shared": 0.0, "divided": 0.0, "wave": 0.7}, 0.02, 0.085),
        ({"shared": 0.04, "divided": 0.0}, 0.0, 0.0),
        ({"shared": 0.0, "divided": 0.02}, 0.98, 1.0),
    ],
    ids=["independent", "slow waves", "common noise", "competition"],
)
def test_competition_is_told_and_noise_is_not(
    kind: dict[str, float], least: float, most: float
) -> None:
    draws = random.Random(17)
    found = [duet.correlation([seconds(draws, **kind) for _ in range(4)]) for _ in range(400)]
    told = [one for one in found if one is not None and one.p_negative <= 0.05]
    assert least <= len(told) / len(found) <= most


def test_the_slope_is_that_of_least_squares() -> None:
    planted = [0.0, 0.0, math.log(1.05), math.log(1.05), math.log(1.15), math.log(1.15)]
    found = [0.004, -0.002, 0.051, 0.047, 0.139, 0.146]
    slope, known = duet.slope(planted, found), stats.linregress(planted, found)
    assert slope.value == pytest.approx(known.slope)
    assert slope.error == pytest.approx(known.stderr)
    reach = stats.t.ppf(0.975, 4) * known.stderr
    assert (slope.low, slope.high) == pytest.approx((known.slope - reach, known.slope + reach))
    assert slope.accepted


@pytest.mark.parametrize(
    ("value", "error", "accepted"),
    [(1.0, 0.05, True), (0.88, 0.05, False), (1.12, 0.05, False), (1.0, 0.12, False)],
)
def test_a_slope_has_to_be_near_one_and_known_well(
    value: float, error: float, accepted: bool
) -> None:
    its = duet.Slope(value=value, low=value - 2 * error, high=value + 2 * error, error=error)
    assert its.accepted is accepted


@pytest.mark.parametrize("planted", [[0.0, 0.1], [0.1, 0.1, 0.1]])
def test_too_few_blocks_or_sizes_have_no_slope(planted: list[float]) -> None:
    with pytest.raises(ValueError, match="slope"):
        duet.slope(planted, planted)
