"""The ratio and its interval after looks, by the order of stages."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats as scipy_stats

from dbdyno.model.ratio import Ratio
from dbdyno.stats import interval, stage_wise
from dbdyno.stats.interval import Spread
from dbdyno.stats.stage_wise import Stage

KNOWN = 1e5
"""Degrees of freedom of a variance that is as good as known."""
COUNTS = (3, 4, 6, 8, 12, 20, 30)
LEVEL = 0.05 / len(COUNTS)


def logs(mean: float, count: int, sd: float = 1.0) -> list[float]:
    """Log ratios with exactly this mean and standard deviation."""
    values = np.arange(count) - (count - 1) / 2
    its: list[float] = (mean + sd * values / values.std(ddof=1)).tolist()
    return its


def stages(
    counts: Sequence[int], count: int, level: float = LEVEL, freedom: float | None = None
) -> list[Stage]:
    """Looks at so many blocks, before one at `count`."""
    return [
        Stage(information=its / count, freedom=freedom or its - 1, level=level) for its in counts
    ]


def ends(found: Ratio) -> tuple[float, float, float]:
    """Low end, estimate and high end as log ratios."""
    assert found.low is not None and found.high is not None
    return math.log(found.low), math.log(found.value), math.log(found.high)


def test_without_earlier_looks_it_is_the_mean_with_its_t_interval() -> None:
    seen = logs(0.1, 6, 0.05)
    spread = Spread(sd=0.04, freedom=7.5, lent=2.5)
    assert stage_wise.ended(seen, spread, []) == interval.log_interval(seen, spread=spread)


def test_earlier_looks_that_could_show_next_to_nothing_change_nothing() -> None:
    seen = logs(0.02, 8, 0.05)
    spread = Spread(sd=0.05, freedom=7)
    never = stages((3, 4, 6), 8, level=1e-12)
    found = ends(stage_wise.ended(seen, spread, never))
    assert found == pytest.approx(ends(interval.log_interval(seen)), abs=1e-7)


def normal_chance(mean: float, seen: Sequence[float], counts: Sequence[int], level: float) -> float:
    """F(mean) of normal log ratios with a deviation of 1, by scipy's multivariate normal."""
    critical = scipy_stats.norm.isf(level / 2)
    numbers = np.array([*counts, len(seen)])
    ties = np.sqrt(np.minimum.outer(numbers, numbers) / np.maximum.outer(numbers, numbers))
    drift = mean * np.sqrt(numbers)

    def within(place: int, last: tuple[float, float]) -> float:
        """The looks before show no change, and this one's statistic lies between these."""
        lows = np.array([-critical] * place + [last[0]]) - drift[: place + 1]
        highs = np.array([critical] * place + [last[1]]) - drift[: place + 1]
        its = scipy_stats.multivariate_normal(cov=ties[: place + 1, : place + 1])
        return float(its.cdf(highs, lower_limit=lows))

    own = float(np.mean(seen)) * math.sqrt(len(seen))
    more = sum(within(place, (critical, np.inf)) for place in range(len(counts)))
    return more + within(len(counts), (own, np.inf))


@pytest.mark.parametrize(
    ("mean", "counts", "level"),
    [(0.75, (3,), LEVEL), (1.3, (3, 4), LEVEL), (-0.9, (4, 8), 0.02), (0.01, (3, 4, 6), 0.03)],
)
def test_of_a_known_variance_its_chances_are_those_of_normal_variates(
    mean: float, counts: tuple[int, ...], level: float
) -> None:
    seen = logs(mean, 2 * counts[-1])
    found = stage_wise.ended(
        seen, Spread(sd=1.0, freedom=KNOWN), stages(counts, len(seen), level, KNOWN)
    )
    for end, chance in zip(ends(found), (0.025, 0.5, 0.975), strict=True):
        assert normal_chance(end, seen, counts, level) == pytest.approx(chance, abs=2e-4)


def test_the_other_way_round_it_is_mirrored() -> None:
    spread = Spread(sd=0.1, freedom=7)
    one, other = (
        ends(stage_wise.ended(logs(mean, 8, 0.1), spread, stages((3, 4, 6), 8)))
        for mean in (0.15, -0.15)
    )
    assert one == pytest.approx([-end for end in reversed(other)], abs=1e-6)


@pytest.mark.parametrize("place", range(1, len(COUNTS)))
def test_what_a_look_just_shows_is_no_change_of_0_and_smaller_than_its_mean(place: int) -> None:
    count = COUNTS[place]
    error = 0.1 / math.sqrt(count)
    mean = 1.001 * interval.t_quantile(1 - LEVEL / 2, count - 1) * error
    seen = logs(mean, count, 0.1)
    found = stage_wise.ended(seen, Spread(sd=0.1, freedom=count - 1), stages(COUNTS[:place], count))
    low, estimate, high = ends(found)
    assert 0 < low < estimate < mean < high


def test_without_scatter_it_is_the_ratio_alone() -> None:
    found = stage_wise.ended([0.1] * 6, Spread(sd=0.0, freedom=5), stages((3, 4), 6))
    assert ends(found) == pytest.approx((0.1, 0.1, 0.1))


@pytest.mark.parametrize("sd", [1e-9, 50.0])
def test_next_to_no_scatter_and_a_wild_one_have_an_interval(sd: float) -> None:
    found = stage_wise.ended(logs(0.3, 6, sd), Spread(sd=sd, freedom=5), stages((2, 3, 4), 6))
    assert found.low is not None and found.high is not None
    assert 0 <= found.low < found.value < found.high


def test_a_look_to_which_the_next_adds_nothing_counts_as_that_one() -> None:
    spread = Spread(sd=0.1, freedom=7)
    seen = logs(0.15, 8, 0.1)
    once = stage_wise.ended(seen, spread, stages((3, 4), 8))
    assert stage_wise.ended(seen, spread, stages((3, 4, 4, 8), 8)) == once
