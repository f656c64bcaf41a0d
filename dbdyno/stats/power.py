"""Power: which change so many blocks find, and how many blocks find one.

Changes (`effect`, `margin`) are shares: 0.03 is three percent, taken as ln(1 + 0.03). Reasons stand
in docs/method.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from dbdyno.stats.interval import LOG_CHANGE_MAX, ROUNDING_MAX, t_quantile

SPREADS_MAX = 9.0
"""An estimated deviation is never further from the true one than so many of its own."""

BLOCKS_MAX = 1000
"""More blocks than this are not worth naming."""

VARIANCE_FLOOR = 1e-5
"""What a variance of 0 counts as, by the median of those that are not."""

ASSURED_POINTS = 200
"""Quantiles of the unknown variance over which power is averaged."""


def power(effect: float, sd: float, blocks: int, level: float) -> float:
    """The share of comparisons in which a two-sided paired t test at `level` finds `effect`.

    `sd` is that of the log ratios. T² is noncentral F with 1 and n - 1 degrees of freedom and
    noncentrality n · ln(1 + effect)² / sd². 0 with fewer than two blocks.
    """
    if blocks < 2:
        return 0.0
    change = abs(math.log1p(effect))
    if sd <= 0:
        return 1.0 if change else 0.0
    return _shifted_power(change / sd * math.sqrt(blocks), blocks, level)


def _shifted_power(shift: float, blocks: int, level: float) -> float:
    """Power where the mean lies `shift` of its standard errors from 0."""
    return float(_shifted_powers(np.array([shift]), blocks, level)[0])


def _shifted_powers(
    shifts: npt.NDArray[np.float64], blocks: int, level: float
) -> npt.NDArray[np.float64]:
    """The same of each."""
    from scipy.special import ncfdtr

    critical = t_quantile(1 - level / 2, blocks - 1)
    found = 1 - ncfdtr(1, blocks - 1, shifts**2, critical**2)
    found[np.isnan(found)] = 1.0  # what it says of shifts many times the critical value
    return np.maximum(found, level)  # never less: near a shift of 0 ncfdtr loses itself


def equivalence_power(margin: float, sd: float, blocks: int, level: float) -> float:
    """The share of comparisons without any change in which two one-sided tests pass at `level`.

    They pass where |mean| < ln(1 + margin) - t(1 - level, n - 1) · s / √n; that probability is
    averaged over s, which is independent of the mean (Phillips 1990): s / sd has the density of
    √(chi² / (n - 1)). 0 with fewer than two blocks.
    """
    from scipy.special import gammaln, ndtr

    if blocks < 2:
        return 0.0
    if sd <= 0:
        return 1.0 if margin > 0 else 0.0
    freedom = blocks - 1
    room = math.log1p(margin) / sd * math.sqrt(blocks)  # in standard errors of the mean
    critical = t_quantile(1 - level, freedom)
    reach = SPREADS_MAX / math.sqrt(2 * freedom)
    least, most = max(0.0, 1 - reach), min(1 + reach, room / critical)
    if least >= most:
        return 0.0
    points, weights = _legendre()
    spread = least + (most - least) * points
    scale = math.log(2) + freedom / 2 * math.log(freedom / 2) - float(gammaln(freedom / 2))
    density = np.exp(scale + (freedom - 1) * np.log(spread) - freedom / 2 * spread**2)
    within = 2 * ndtr(room - critical * spread) - 1
    return min(1.0, float((most - least) * (weights * density) @ within))


@cache
def _legendre() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Points and weights of an integral from 0 to 1 (Gauss-Legendre)."""
    points, weights = np.polynomial.legendre.leggauss(64)
    return (points + 1) / 2, weights / 2


def visible(sd: float, blocks: int, level: float, power: float) -> float | None:
    """The smallest change, as a share, that so many blocks find with this power.

    None with one block, and where they are so few and so far apart that no change has a number.
    """
    if blocks < 2:
        return None
    change = _shift_found(blocks, level, power) * sd / math.sqrt(blocks)
    return math.expm1(change) if change <= LOG_CHANGE_MAX else None


@cache
def _shift_found(blocks: int, level: float, power: float) -> float:
    """By how many standard errors the mean has to lie from 0 to be found with this power."""
    low, high = 0.0, 1.0
    while _shifted_power(high, blocks, level) < power:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        if _shifted_power(middle, blocks, level) < power:
            low = middle
        else:
            high = middle
    return high


def blocks_for(
    effect: float, sd: float, level: float, power: float, blocks_max: int = BLOCKS_MAX
) -> int | None:
    """The fewest blocks that find `effect` with this power; None: more than `blocks_max`."""
    change = abs(math.log1p(effect))
    if sd <= 0:
        return 2 if change else None
    return _first_that(
        lambda blocks: _shifted_power(change / sd * math.sqrt(blocks), blocks, level) >= power,
        blocks_max,
    )


def blocks_for_equivalence(
    margin: float, sd: float, level: float, power: float, blocks_max: int = BLOCKS_MAX
) -> int | None:
    """The fewest blocks that find with this power that nothing differs; None: more than that."""
    return _first_that(
        lambda blocks: equivalence_power(margin, sd, blocks, level) >= power, blocks_max
    )


def blocks_for_signs(
    share: float, level: float, power: float, blocks_max: int = BLOCKS_MAX
) -> int | None:
    """The fewest blocks in which a two-sided sign test finds that this share falls to one side.

    With this power, by exact binomial sums; None: not with `blocks_max`, as of a half or less.
    """
    from scipy.special import bdtr, bdtrik

    if share <= 0.5:
        return None
    blocks = np.arange(1, blocks_max + 1)
    rarer = np.floor(bdtrik(level / 2, blocks, 0.5) + ROUNDING_MAX)  # at most, to be found
    possible = 2 * bdtr(rarer, blocks, 0.5) <= level
    found = np.where(possible, bdtr(rarer, blocks, 1 - share), 0.0)
    enough = np.flatnonzero(found >= power)
    return int(blocks[enough[0]]) if len(enough) else None


def _first_that(enough: Callable[[int], bool], blocks_max: int) -> int | None:
    """The fewest blocks, from 2, of which it is true; None where not even `blocks_max` are.

    Once true of some it has to be true of more: looked for by doubling, then by halves.
    """
    high = 2
    while not enough(high):
        if high >= blocks_max:
            return None
        high = min(2 * high, blocks_max)
    low = high // 2  # not enough, or under 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def moderated(variances: Sequence[float], freedom: int) -> tuple[list[float], float]:
    """Variances drawn towards what they have in common, and their degrees of freedom.

    Empirical Bayes of Smyth 2004 (Statistical Applications in Genetics and Molecular Biology 3):
    s² ~ sigma² · chi²_d / d with 1/sigma² ~ chi²_d0 / (d0 · s0²); d0 and s0 by the moments of
    ln s², and each becomes (d0 · s0² + d · s²) / (d0 + d) with d0 + d degrees of freedom, but no
    more than all of them have together. Where they vary no more than chance would have it, d0 is
    infinite and all become their mean. One alone stays as it is. Variances of 0, which have no
    logarithm, count as VARIANCE_FLOOR of the median of the others.
    """
    if freedom < 1 or min(variances, default=0.0) < 0:
        raise ValueError("variances are not negative and have at least 1 degree of freedom")
    positive = [variance for variance in variances if variance > 0]
    if len(variances) < 2 or not positive:
        return list(variances), float(freedom)
    floor = VARIANCE_FLOOR * float(np.median(positive))
    seen = np.maximum(np.asarray(variances, dtype=float), floor)
    prior, prior_freedom = _prior(seen, freedom)
    if math.isinf(prior_freedom):
        return [prior] * len(variances), float(freedom * len(variances))
    both = prior_freedom + freedom
    posterior = (prior_freedom * prior + freedom * seen) / both
    return [float(variance) for variance in posterior], min(both, freedom * len(variances))


def _prior(seen: npt.NDArray[np.float64], freedom: int) -> tuple[float, float]:
    """The variance s0² and the degrees of freedom d0 of what the variances were drawn from."""
    from scipy.special import digamma, polygamma

    half = freedom / 2
    logs = np.log(seen) - digamma(half) + math.log(half)
    excess = float(np.var(logs, ddof=1) - polygamma(1, half))
    if excess <= 0:
        return float(seen.mean()), math.inf
    prior_half = _trigamma_inverse(excess)
    prior = math.exp(float(logs.mean() + digamma(prior_half)) - math.log(prior_half))
    return prior, 2 * prior_half


def _trigamma_inverse(value: float) -> float:
    """The number whose trigamma it is, by Newton's method (Smyth 2004, appendix)."""
    from scipy.special import polygamma

    if value > 1e7:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    number = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, number))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, number))
        number += step
        if -step / number < 1e-8:
            break
    return number


def assured_power(
    effect: float, variance: float, freedom: float, blocks: int, level: float
) -> float:
    """`power` where the variance is itself only known with so many degrees of freedom.

    Averaged over sigma² = variance · freedom / chi²_freedom at ASSURED_POINTS quantiles of equal
    probability (O'Hagan, Stevens & Campbell 2005, assurance). Freedom may be infinite.
    """
    from scipy.special import chdtri

    if math.isinf(freedom) or variance <= 0 or blocks < 2:
        return power(effect, math.sqrt(variance), blocks, level)
    points = (np.arange(ASSURED_POINTS) + 0.5) / ASSURED_POINTS
    deviations = np.sqrt(variance * freedom / chdtri(freedom, points))
    shifts = abs(math.log1p(effect)) / deviations * math.sqrt(blocks)
    return float(_shifted_powers(shifts, blocks, level).mean())
