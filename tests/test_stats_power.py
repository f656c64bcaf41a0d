"""Power, what can be seen and how many blocks that takes: statsmodels, integrals, simulations."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats as scipy_stats
from scipy.integrate import quad
from statsmodels.stats.power import TTestPower

from dbdyno.stats import power, significance

EFFECTS = (0.01, 0.03, 0.1)
SPREADS = (0.005, 0.02, 0.1)


def power_by_hand(effect: float, sd: float, blocks: int, level: float) -> float:
    """The chance that |T| is beyond its quantile, integrated over the deviation that is seen.

    statsmodels has no number where the noncentral t is far out or the level small.
    """
    shift = math.log1p(effect) / sd * math.sqrt(blocks)
    law, root = scipy_stats.chi(blocks - 1), math.sqrt(blocks - 1)
    critical = scipy_stats.t(blocks - 1).ppf(1 - level / 2)

    def beyond(seen: float) -> float:
        bound = critical * seen / root
        both = scipy_stats.norm.sf(bound - shift) + scipy_stats.norm.cdf(-bound - shift)
        return float(both * law.pdf(seen))

    # Cut where the chance of being seen falls, so that the quadrature finds it.
    edge = min(shift / critical * root, root + 9)
    steps = sorted({0.0, max(0.0, edge - 1), edge, root, root + 9})
    return sum(quad(beyond, *pair)[0] for pair in pairwise(steps))


@pytest.mark.parametrize("blocks", [2, 3, 6, 12, 30])
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_power_is_that_of_statsmodels_and_of_an_integral(blocks: int, level: float) -> None:
    for effect in EFFECTS:
        for sd in SPREADS:
            found = power.power(effect, sd, blocks, level)
            assert found == pytest.approx(power_by_hand(effect, sd, blocks, level), abs=2e-6)
            expected = TTestPower().power(math.log1p(effect) / sd, blocks, level)
            if not math.isnan(expected):
                assert found == pytest.approx(expected, abs=1e-6)


def test_power_has_a_floor_at_the_level_and_none_without_a_spread_or_a_change() -> None:
    assert power.power(0.0, 0.02, 6, 0.05) == pytest.approx(0.05)
    assert power.power(1e-9, 0.02, 2, 0.05) == pytest.approx(0.05)
    assert power.power(0.03, 0.0, 2, 0.05) == 1.0
    assert power.power(0.0, 0.0, 2, 0.05) == 0.0
    assert power.power(0.03, 0.02, 1, 0.05) == 0.0


def test_a_loss_is_found_like_the_gain_that_undoes_it() -> None:
    gain = power.power(1 / 0.97 - 1, 0.02, 6, 0.05)
    assert power.power(-0.03, 0.02, 6, 0.05) == pytest.approx(gain)


@pytest.mark.parametrize(
    ("sd", "percents"),
    [
        (0.005, [1.6, 1.1, 0.8, 0.7, 0.6, 0.5, 0.4]),
        (0.01, [3.3, 2.1, 1.7, 1.4, 1.2, 1.0, 0.7]),
        (0.02, [6.5, 4.3, 3.4, 2.9, 2.3, 2.0, 1.5]),
        (0.04, [13.1, 8.5, 6.7, 5.7, 4.6, 4.0, 3.0]),
    ],
)
def test_what_is_visible_is_the_table_of_the_design(sd: float, percents: list[float]) -> None:
    """Level 5 %, power 80 %, as log ratios in percent, of 3, 4, 5, 6, 8, 10 and 16 blocks."""
    for blocks, percent in zip((3, 4, 5, 6, 8, 10, 16), percents, strict=True):
        found = power.visible(sd, blocks, 0.05, 0.80)
        assert found is not None
        assert 100 * math.log1p(found) == pytest.approx(percent, abs=0.051)


@pytest.mark.parametrize("blocks", [2, 3, 7, 40])
@pytest.mark.parametrize("level", [0.05, 0.05 / 84])
def test_what_is_visible_is_found_with_just_the_wanted_power(blocks: int, level: float) -> None:
    found = power.visible(0.02, blocks, level, 0.80)
    assert found is not None
    assert power.power(found, 0.02, blocks, level) == pytest.approx(0.80, abs=1e-6)


def test_nothing_is_visible_to_one_block_and_everything_without_a_spread() -> None:
    assert power.visible(0.02, 1, 0.05, 0.8) is None
    assert power.visible(0.0, 2, 0.05, 0.8) == 0.0
    assert power.visible(50.0, 2, 0.0001, 0.8) is None  # no number is as large


@pytest.mark.parametrize("level", [0.05, 0.001])
@pytest.mark.parametrize("sd", [0.002, 0.01, 0.02, 0.07])
def test_the_blocks_for_an_effect_suffice_and_one_fewer_do_not(sd: float, level: float) -> None:
    blocks = power.blocks_for(0.03, sd, level, 0.80)
    assert blocks is not None
    assert power.power(0.03, sd, blocks, level) >= 0.80
    assert blocks == 2 or power.power(0.03, sd, blocks - 1, level) < 0.80


@pytest.mark.parametrize("sd", [0.002, 0.01, 0.02, 0.07])
def test_the_blocks_for_equivalence_suffice_and_one_fewer_do_not(sd: float) -> None:
    blocks = power.blocks_for_equivalence(0.03, sd, 0.05, 0.80)
    assert blocks is not None
    assert power.equivalence_power(0.03, sd, blocks, 0.05) >= 0.80
    assert blocks == 2 or power.equivalence_power(0.03, sd, blocks - 1, 0.05) < 0.80


def test_no_number_of_blocks_is_named_beyond_the_limit() -> None:
    needed = power.blocks_for(0.03, 0.02, 0.05, 0.80)
    assert needed == 6
    assert power.blocks_for(0.03, 0.02, 0.05, 0.80, blocks_max=6) == 6
    assert power.blocks_for(0.03, 0.02, 0.05, 0.80, blocks_max=5) is None
    assert power.blocks_for(0.03, 1.0, 0.05, 0.80) is None
    assert power.blocks_for(0.0, 0.0, 0.05, 0.80) is None
    assert power.blocks_for(0.03, 0.0, 0.05, 0.80) == 2
    assert power.blocks_for_equivalence(0.03, 1.0, 0.05, 0.80) is None


@pytest.mark.parametrize("blocks", [2, 3, 4, 6, 10, 100])
@pytest.mark.parametrize("sd", [0.002, 0.02, 0.1])
def test_equivalence_power_is_the_integral_over_the_deviation_seen(blocks: int, sd: float) -> None:
    root, law = math.sqrt(blocks - 1), scipy_stats.chi(blocks - 1)
    room = math.log1p(0.03) / sd * math.sqrt(blocks)
    critical = scipy_stats.t(blocks - 1).ppf(0.95)

    def within(seen: float) -> float:
        return float((2 * scipy_stats.norm.cdf(room - critical * seen / root) - 1) * law.pdf(seen))

    least, most = max(0.0, root - 8), min(root + 8, room / critical * root)
    expected = quad(within, least, most)[0] if least < most else 0.0
    assert power.equivalence_power(0.03, sd, blocks, 0.05) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("blocks", [4, 6, 10])
def test_equivalence_power_is_how_often_nothing_is_called_the_same(blocks: int) -> None:
    logs = np.random.default_rng(blocks).normal(0.0, 0.02, (4000, blocks))
    same = np.mean(
        [(significance.equivalence_p(row, 0.03) or 0.0) <= 0.05 for row in logs.tolist()]
    )
    expected = power.equivalence_power(0.03, 0.02, blocks, 0.05)
    assert same == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 4000))


def test_equivalence_power_without_spread_or_blocks() -> None:
    assert power.equivalence_power(0.03, 0.0, 2, 0.05) == 1.0
    assert power.equivalence_power(0.0, 0.0, 2, 0.05) == 0.0
    assert power.equivalence_power(0.03, 0.02, 1, 0.05) == 0.0


@pytest.mark.parametrize("freedom", [2.5, 6.0, 13.0])
def test_with_lent_freedom_power_is_how_often_such_a_spread_finds(freedom: float) -> None:
    random = np.random.default_rng(7)
    mean = random.normal(math.log1p(0.03), 0.02 / 2, 20_000)
    seen = 0.02 * np.sqrt(random.chisquare(freedom, 20_000) / freedom)
    ps = 2 * scipy_stats.t(freedom).sf(np.abs(mean) / seen * 2)
    expected = power.power(0.03, 0.02, 4, 0.05, freedom)
    assert float((ps <= 0.05).mean()) == pytest.approx(expected, abs=0.015)
    room = (math.log1p(0.03) - np.abs(mean - math.log1p(0.03))) / seen * 2
    same = float((scipy_stats.t(freedom).sf(room) <= 0.05).mean())
    assert same == pytest.approx(power.equivalence_power(0.03, 0.02, 4, 0.05, freedom), abs=0.015)


@pytest.mark.parametrize("freedom", [2.5, 6.0, 13.0])
def test_with_lent_freedom_what_is_visible_is_found_with_the_wanted_power(freedom: float) -> None:
    found = power.visible(0.02, 4, 0.05, 0.80, freedom)
    assert found is not None
    assert power.power(found, 0.02, 4, 0.05, freedom) == pytest.approx(0.80, abs=1e-6)
    own = power.visible(0.02, 4, 0.05, 0.80)
    assert own is not None and (found < own) == (freedom > 3)
