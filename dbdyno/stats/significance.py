"""Tests whether log ratios of blocks, d_i = ln(arm_i / base_i), lie about 0, and q of many tests.

The margin of a change is a share: 0.03 is three percent, taken as ln(1 + 0.03). Reasons stand in
docs/method.md.
"""

import math
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from dbdyno.stats.interval import ROUNDING_MAX, Spread, mean_and_sd, own_spread

SIGNS_EXACT_MAX = 20
"""Up to so many blocks the sign-flip test goes through all sign vectors."""

P_MAX = 0.9
"""Of p values that are combined: one near 1, as of a rate that is held, has a Cauchy variate that
outweighs the least p of another metric, and 1 itself has none. Simulated alarms of a single look
rise by 0.1 points at most."""

SAME_SHARE = 3
"""By so much the level is divided for *same* at each look: at the whole of it a change as large as
the margin was called the same in 10 to 16 of 100 plans with seven looks (docs/method.md)."""

SIGNS_DRAWN = 9_999

SIGNS_SEED = 6
"""With more blocks it takes this many drawn ones, from this seed."""

SIGNS_KEPT_MAX = 8
"""So many draws are kept, of the last numbers of blocks: the looks at a plan ask by turns."""

SIGNS_IN_MEMORY_MAX = 500
"""So many of the drawn vectors are multiplied at once, which bounds the memory of many tests."""


def t_p(logs: Sequence[float], spread: Spread | None = None) -> float | None:
    """p of a two-sided one-sample t test that their mean is 0; None of fewer than two.

    By their own spread, or another. Without any spread 0 where they differ from 0, else 1.
    """
    from scipy.special import stdtr

    spread = own_spread(logs) if spread is None else spread
    if spread is None or len(logs) < 2:
        return None
    mean, _ = mean_and_sd(logs)
    if not spread.sd:
        return 0.0 if mean else 1.0
    return float(2 * stdtr(spread.freedom, -abs(mean) / spread.sd * math.sqrt(len(logs))))


def combined_p(ps: Sequence[float]) -> float:
    """One p of several tests that depend on each other in any way: Cauchy's (Liu & Xie 2020).

    T = mean of tan((½ - p) · pi), p = ½ - arctan(T) / pi; a p over P_MAX counts as that. The p of a
    single test is its own; 0 where one of them is 0. ValueError of none.
    """
    if len(ps) == 0:
        raise ValueError("no p to combine")
    if len(ps) == 1 or min(ps) == 0:
        return min(ps)
    statistic = math.fsum(math.tan((0.5 - min(p, P_MAX)) * math.pi) for p in ps) / len(ps)
    return 0.5 - math.atan(statistic) / math.pi


def sign_flip_p(logs: Sequence[float]) -> float | None:
    """p of the two-sided sign-flip test that they lie about 0; None of fewer than two.

    The share of sign vectors with a sum at least as far from 0 (Fisher 1935). Exact up to
    SIGNS_EXACT_MAX blocks; beyond, of SIGNS_DRAWN seeded draws and the one that was seen (Phipson
    & Smyth 2010). So it is never under 2 / 2^n: six blocks can come under 5 %, five cannot.
    """
    if len(logs) < 2:
        return None
    values = np.asarray(logs, dtype=float)
    if len(logs) > SIGNS_EXACT_MAX:
        return float(drawn_sign_flip_ps(values[np.newaxis])[0])
    reach = abs(float(values.sum())) - ROUNDING_MAX * max(1.0, float(np.abs(values).sum()))
    if reach <= 0:
        return 1.0
    # Every sum is one of the first half's plus one of the second's; by symmetry one side is half.
    half = len(logs) // 2
    first = _signs(half) @ values[:half]
    second = np.sort(_signs(len(logs) - half) @ values[half:])
    far = sum(len(second) - int(at) for at in np.searchsorted(second, reach - first))
    return min(1.0, 2 * far / (len(first) * len(second)))


def drawn_sign_flip_ps(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The same p of each row by drawn sign vectors: all rows share their number of blocks."""
    slack = ROUNDING_MAX * np.maximum(1.0, np.abs(rows).sum(axis=1))
    reach = np.abs(rows.sum(axis=1)) - slack
    drawn = _drawn_signs(rows.shape[1])
    far = np.zeros(len(rows), dtype=np.int64)
    for first in range(0, SIGNS_DRAWN, SIGNS_IN_MEMORY_MAX):
        some = drawn[first : first + SIGNS_IN_MEMORY_MAX].astype(float)
        far += np.count_nonzero(np.abs(some @ rows.T) >= reach, axis=0)
    ps: npt.NDArray[np.float64] = (far + 1) / (SIGNS_DRAWN + 1)
    return ps


def sign_p(less: int, more: int) -> float:
    """p of the two-sided sign test that a block is as likely to fall to either side (Dixon 1946).

    Twice the binomial tail of the rarer side, at most 1; ties are in neither number. 1 of none.
    """
    from scipy.special import bdtr

    if less + more == 0:
        return 1.0
    return min(1.0, 2 * float(bdtr(min(less, more), less + more, 0.5)))


@cache
def _signs(count: int) -> npt.NDArray[np.float64]:
    """All sign vectors of so many numbers, a row each."""
    rows: npt.NDArray[np.int64] = np.arange(2**count)[:, np.newaxis] >> np.arange(count)
    return np.where(rows & 1, -1.0, 1.0)


@lru_cache(maxsize=SIGNS_KEPT_MAX)
def _drawn_signs(count: int) -> npt.NDArray[np.int8]:
    """SIGNS_DRAWN seeded sign vectors of so many numbers, a row each."""
    draws = np.random.default_rng(SIGNS_SEED).integers(0, 2, (SIGNS_DRAWN, count))
    return (2 * draws - 1).astype(np.int8)


def equivalence_p(
    logs: Sequence[float], margin: float, spread: Spread | None = None
) -> float | None:
    """p of two one-sided t tests that the change lies within ±ln(1 + margin); None under two.

    The larger of the two (Schuirmann 1987): at most 0.05 exactly where the 90 % interval lies
    within. Without any spread 0 where the mean lies within, else 1.
    """
    from scipy.special import stdtr

    spread = own_spread(logs) if spread is None else spread
    if spread is None or len(logs) < 2:
        return None
    mean, _ = mean_and_sd(logs)
    room = math.log1p(margin) - abs(mean)  # the nearer bound's test has the larger p
    if not spread.sd:
        return 0.0 if room > 0 else 1.0
    return float(stdtr(spread.freedom, -room / spread.sd * math.sqrt(len(logs))))


def lower_p(distance: float, spread: Spread, blocks: int) -> float:
    """p of a one-sided t test for a mean that lies `distance` above its bound: small where below.

    Without any spread 0 where it is below the bound, else 1.
    """
    from scipy.special import stdtr

    if not spread.sd:
        return 0.0 if distance < 0 else 1.0
    return float(stdtr(spread.freedom, distance / spread.sd * math.sqrt(blocks)))


def adjusted(ps: Sequence[float]) -> list[float]:
    """The q value of each p: the least share of false ones among those called changed with it.

    Benjamini & Hochberg 1995: q_(i) = min over j ≥ i of p_(j) · m / j, at most 1.
    """
    if len(ps) == 0:
        return []
    values = np.asarray(ps, dtype=float)
    order = np.argsort(values, kind="stable")
    scaled = values[order] * (len(ps) / np.arange(1, len(ps) + 1))  # a factor of 1 changes nothing
    qs = np.empty(len(ps))
    qs[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return [float(q) for q in qs]


def holm(ps: Sequence[float]) -> list[float]:
    """Each p corrected for their number, so that any is under the level by chance that often.

    Holm 1979: of m values the i-th smallest times m - i + 1, and no less than those before; at
    most 1.
    """
    adjusted_ps, largest = [1.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, ps[place] * (len(ps) - rank)))
        adjusted_ps[place] = largest
    return adjusted_ps
