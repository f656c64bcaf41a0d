"""Tests whether log ratios of blocks, d_i = ln(arm_i / base_i), lie about 0, and q of many tests.

The margin of a change is a share: 0.03 is three percent, taken as ln(1 + 0.03). Reasons stand in
docs/method.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from dbdyno.stats.interval import ROUNDING_MAX, mean_and_sd

SIGNS_EXACT_MAX = 20
"""Up to so many blocks the sign-flip test goes through all sign vectors."""

SIGNS_DRAWN = 9_999

SIGNS_SEED = 6
"""With more blocks it takes this many drawn ones, from this seed."""


def t_p(logs: Sequence[float]) -> float | None:
    """p of a two-sided one-sample t test that their mean is 0; None of fewer than two.

    Without any spread 0 where they differ from 0, else 1.
    """
    from scipy.special import stdtr

    if len(logs) < 2:
        return None
    mean, sd = mean_and_sd(logs)
    if not sd:
        return 0.0 if mean else 1.0
    return float(2 * stdtr(len(logs) - 1, -abs(mean) / sd * math.sqrt(len(logs))))


def sign_flip_p(logs: Sequence[float]) -> float | None:
    """p of the two-sided sign-flip test that they lie about 0; None of fewer than two.

    The share of sign vectors with a sum at least as far from 0 (Fisher 1935). Exact up to
    SIGNS_EXACT_MAX blocks; beyond, of SIGNS_DRAWN seeded draws and the one that was seen (Phipson
    & Smyth 2010). So it is never under 2 / 2^n: six blocks can come under 5 %, five cannot.
    """
    if len(logs) < 2:
        return None
    values = np.asarray(logs, dtype=float)
    reach = abs(float(values.sum())) - ROUNDING_MAX * max(1.0, float(np.abs(values).sum()))
    if len(logs) > SIGNS_EXACT_MAX:
        draws = np.random.default_rng(SIGNS_SEED).integers(0, 2, (SIGNS_DRAWN, len(logs)))
        far = int(np.count_nonzero(np.abs((2 * draws - 1) @ values) >= reach))
        return (far + 1) / (SIGNS_DRAWN + 1)
    if reach <= 0:
        return 1.0
    # Every sum is one of the first half's plus one of the second's; by symmetry one side is half.
    half = len(logs) // 2
    first = _signs(half) @ values[:half]
    second = np.sort(_signs(len(logs) - half) @ values[half:])
    far = sum(len(second) - int(at) for at in np.searchsorted(second, reach - first))
    return min(1.0, 2 * far / (len(first) * len(second)))


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


def equivalence_p(logs: Sequence[float], margin: float) -> float | None:
    """p of two one-sided t tests that the change lies within ±ln(1 + margin); None under two.

    The larger of the two (Schuirmann 1987): at most 0.05 exactly where the 90 % interval lies
    within. Without any spread 0 where the mean lies within, else 1.
    """
    from scipy.special import stdtr

    if len(logs) < 2:
        return None
    mean, sd = mean_and_sd(logs)
    room = math.log1p(margin) - abs(mean)  # the nearer bound's test has the larger p
    if not sd:
        return 0.0 if room > 0 else 1.0
    return float(stdtr(len(logs) - 1, -room / sd * math.sqrt(len(logs))))


def adjusted(ps: Sequence[float]) -> list[float]:
    """The q value of each p: the least share of false ones among those called changed with it.

    Benjamini & Hochberg 1995: q_(i) = min over j ≥ i of p_(j) · m / j, at most 1.
    """
    if len(ps) == 0:
        return []
    values = np.asarray(ps, dtype=float)
    order = np.argsort(values, kind="stable")
    scaled = values[order] * (len(ps) / np.arange(1, len(ps) + 1))  # a factor of 1 changes nothing
    found = np.empty(len(ps))
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return [float(q) for q in found]
