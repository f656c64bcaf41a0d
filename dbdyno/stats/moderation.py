"""Variances that steps lend each other, with care: few blocks tell little of their own scatter.

Empirical Bayes of Smyth 2004 (Statistical Applications in Genetics and Molecular Biology 3), of
whose degrees of freedom a part is lent: with three or four blocks all of them raise false alarms to
6 to 28 % (docs/method.md, "Borrowed variances").
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dbdyno.stats.interval import ROUNDING_MAX, Spread

Numbers = npt.NDArray[np.float64]

LENT_MAX = 4.0
"""Degrees of freedom that a step gets at most, however many others there are."""
LENT_SHARE = 0.5
"""Of what the fit would lend: how alike steps are is itself a guess from few blocks."""
RAISED = 2.0
"""By so much, divided by the number of steps, the common variance is raised: it is an estimate."""
LOUD = 4.0
"""A step that is louder than the others let expect gets its chance of that, times this, of the
loan: nothing to speak of is lent to what is of another kind (after Phipson et al. 2016)."""
FREEDOM_MAX = 1e4
"""More degrees of freedom make no difference."""
TRIGAMMA_MIN, TRIGAMMA_MAX = 1e-4, 1e6
"""Beyond these a number has no trigamma that is worth to be told apart."""
NEWTON_STEPS = 20
"""It gains half of its digits with each and begins on the safe side."""


def spreads(units: Sequence[Sequence[float]]) -> list[Spread]:
    """The scatter of each unit's log ratios; all have the same blocks, at least two, in one order.

    With d = n - 1, s0² and d0 by the moments of ln s² over the G units, r̄² how far they share their
    noise and F the chance of so large an s² under F(d, d0):

        u = 1 + 2 / G;  others = (G - 1) · d / (1 + (G - 1) · r̄²)
        lent = min(½ · min(d0, others), 4) · min(1, 4 · F)
        variance = (lent · u · s0² + d · s²) / (lent + d), of lent + d degrees of freedom

    A unit alone, and one without any scatter, keeps its own. ValueError where blocks differ.
    """
    values = np.asarray(units, dtype=float)
    if values.ndim != 2 or values.shape[1] < 2:
        raise ValueError("units have the same number of blocks, at least two")
    freedom = values.shape[1] - 1
    own = values.var(axis=1, ddof=1)
    own[np.sqrt(own) <= ROUNDING_MAX] = 0.0
    scattered = np.flatnonzero(own > 0)
    lent, pooled = np.zeros(len(own)), own.copy()
    lent[scattered], pooled[scattered] = lend(values[scattered])
    return [
        Spread(sd=math.sqrt(variance), freedom=freedom + loan, lent=loan)
        for variance, loan in zip(pooled.tolist(), lent.tolist(), strict=True)
    ]


def lend(values: Numbers) -> tuple[Numbers, Numbers]:
    """The degrees of freedom lent to each unit, and the variances that come of it.

    `values`: comparisons (any number of axes) by units by blocks; all of them scatter.
    """
    from scipy.special import fdtrc

    units, blocks = values.shape[-2:]
    freedom = blocks - 1
    own = values.var(axis=-1, ddof=1)
    if units < 2:
        return np.zeros_like(own), own
    common, known = prior(own, freedom)
    raised = (common * (1 + RAISED / units))[..., None]
    others = (units - 1) * freedom / (1 + (units - 1) * shared(values))
    most = np.minimum(LENT_SHARE * np.minimum(known, others), LENT_MAX)[..., None]
    chance = fdtrc(freedom, np.minimum(known, FREEDOM_MAX)[..., None], own / raised)
    lent = most * np.minimum(1.0, LOUD * chance)
    return lent, (lent * raised + freedom * own) / (lent + freedom)


def shared(values: Numbers) -> Numbers:
    """How far units share their noise, 0 to 1: r̄² of the text above, less what chance makes of it.

    The mean squared correlation of the residuals over all pairs; `values` as `lend` has them.
    """
    units, blocks = values.shape[-2:]
    freedom = blocks - 1
    if freedom < 2:
        # Two blocks always correlate: nothing tells the units apart.
        return np.ones(values.shape[:-2])
    residuals = values - values.mean(axis=-1, keepdims=True)
    sizes = np.sqrt((residuals**2).sum(axis=-1, keepdims=True))
    residuals = residuals / np.maximum(sizes, ROUNDING_MAX)
    gram = np.swapaxes(residuals, -1, -2) @ residuals  # its square's trace: r² of all pairs
    squares = ((gram**2).sum(axis=(-1, -2)) - units) / (units * (units - 1))
    share: Numbers = np.clip((squares - 1 / freedom) / (1 - 1 / freedom), 0.0, 1.0)
    return share


def prior(variances: Numbers, freedom: int) -> tuple[Numbers, Numbers]:
    """The variance s0² and degrees of freedom d0 of what they were drawn from, on the last axis.

    s² ~ sigma² · chi²_d / d with 1/sigma² ~ chi²_d0 / (d0 · s0²), by the moments of ln s² (Smyth
    2004). Where they vary no more than chance would have it, s0² is their mean and d0 infinite.
    All have to be above 0. `freedom`: of each.
    """
    from scipy.special import digamma, polygamma

    half = freedom / 2
    logs = np.log(variances) - digamma(half) + math.log(half)
    excess = logs.var(axis=-1, ddof=1) - float(polygamma(1, half))
    alike = excess <= 0
    prior_half = _trigamma_inverse(np.where(alike, 1.0, excess))
    common = np.exp(logs.mean(axis=-1) + digamma(prior_half) - np.log(prior_half))
    return (
        np.where(alike, variances.mean(axis=-1), common),
        np.where(alike, np.inf, 2 * prior_half),
    )


def _trigamma_inverse(values: Numbers) -> Numbers:
    """The numbers whose trigamma they are, by Newton's method (Smyth 2004, appendix)."""
    from scipy.special import polygamma

    within = np.clip(values, TRIGAMMA_MIN, TRIGAMMA_MAX)
    numbers: Numbers = 0.5 + 1 / within
    for _ in range(NEWTON_STEPS):
        trigamma = polygamma(1, numbers)
        numbers = numbers + trigamma * (1 - trigamma / within) / polygamma(2, numbers)
    return numbers
