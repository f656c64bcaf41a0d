"""Power: which change so many blocks find, and how many blocks find one.

Changes (`effect`, `margin`) are shares: 0.03 is three percent, taken as ln(1 + 0.03). Reasons stand
in docs/method.md.
"""

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from dbdyno.stats.interval import LOG_CHANGE_MAX, ROUNDING_MAX, t_quantile

SPREADS_MAX = 9.0
"""An estimated deviation is never further from the true one than so many of its own."""

BLOCKS_MAX = 1000
"""More blocks than this are not worth naming."""


def power(
    effect: float, sd: float, blocks: int, level: float, freedom: float | None = None
) -> float:
    """The share of comparisons in which a two-sided paired t test at `level` finds `effect`.

    `sd` is that of the log ratios, known with `freedom` (n - 1 where None). T² is noncentral F with
    1 and so many degrees of freedom and noncentrality n · ln(1 + effect)² / sd². 0 with fewer than
    two blocks.
    """
    if blocks < 2:
        return 0.0
    change = abs(math.log1p(effect))
    if sd <= 0:
        return 1.0 if change else 0.0
    shift = change / sd * math.sqrt(blocks)
    return _shifted_power(shift, blocks - 1 if freedom is None else freedom, level)


def _shifted_power(shift: float, freedom: float, level: float) -> float:
    """Power where the mean lies `shift` of its standard errors from 0."""
    from scipy.special import ncfdtr

    critical = t_quantile(1 - level / 2, freedom)
    power = 1 - float(ncfdtr(1, freedom, shift**2, critical**2))
    if math.isnan(power):
        return 1.0  # what it says of shifts many times the critical value
    return max(power, level)  # never less: near a shift of 0 ncfdtr loses itself


def equivalence_power(
    margin: float, sd: float, blocks: int, level: float, freedom: float | None = None
) -> float:
    """The share of comparisons without any change in which two one-sided tests pass at `level`.

    They pass where |mean| < ln(1 + margin) - t(1 - level, n - 1) · s / √n; that probability is
    averaged over s, which is independent of the mean (Phillips 1990): s / sd has the density of
    √(chi² / freedom); `freedom` None: n - 1. 0 with fewer than two blocks.
    """
    from scipy.special import gammaln, ndtr

    if blocks < 2:
        return 0.0
    if sd <= 0:
        return 1.0 if margin > 0 else 0.0
    freedom = blocks - 1 if freedom is None else freedom
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


def visible(
    sd: float, blocks: int, level: float, power: float, freedom: float | None = None
) -> float | None:
    """The smallest change, as a share, that so many blocks find with this power.

    `freedom` of `sd`, n - 1 where None. None with one block, and where they are so few and so far
    apart that no change has a number.
    """
    if blocks < 2:
        return None
    shift = _shift_found(blocks - 1 if freedom is None else freedom, level, power)
    change = shift * sd / math.sqrt(blocks)
    return math.expm1(change) if change <= LOG_CHANGE_MAX else None


@lru_cache(maxsize=4096)
def _shift_found(freedom: float, level: float, power: float) -> float:
    """By how many standard errors the mean has to lie from 0 to be found with this power."""
    low, high = 0.0, 1.0
    while _shifted_power(high, freedom, level) < power:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        if _shifted_power(middle, freedom, level) < power:
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
    return first_that(
        lambda blocks: _shifted_power(change / sd * math.sqrt(blocks), blocks - 1, level) >= power,
        blocks_max,
    )


def blocks_for_equivalence(margin: float, sd: float, level: float, power: float) -> int | None:
    """The fewest blocks that find with this power that nothing differs; None: more than that."""
    return first_that(
        lambda blocks: equivalence_power(margin, sd, blocks, level) >= power, BLOCKS_MAX
    )


@lru_cache(maxsize=4096)
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
    powers = np.where(possible, bdtr(rarer, blocks, 1 - share), 0.0)
    enough = np.flatnonzero(powers >= power)
    return int(blocks[enough[0]]) if len(enough) else None


def first_that(enough: Callable[[int], bool], blocks_max: int = BLOCKS_MAX) -> int | None:
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
