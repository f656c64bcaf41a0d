"""The ratio and its interval at the look that ended a test, where earlier ones could have.

A test that ends with the first look that shows a change ends on large changes: the mean of its
blocks is too far from no change, and the plain interval misses the truth too often. Here all that
could have come out is put in the order of stages, the most to more first: more at an earlier look,
then more at this one by its statistic, down to less at the earliest (Tsiatis, Rosner & Mehta,
Biometrics 1984; Jennison & Turnbull, Group Sequential Methods, 2000, chapter 8).

Theirs are normal statistics of a known variance, ours are t. docs/method.md says what is
approximate.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from dbdyno.model.ratio import Ratio
from dbdyno.stats import interval
from dbdyno.stats.interval import Spread, t_quantile

Numbers = npt.NDArray[np.float64]

ADDS_MIN = 0.04
"""A look that the next adds less than this share of its information to counts as that one."""
REACH = 6.0
"""Normal variates further out than this are not integrated over."""
POINTS = 48
"""Of an integral: what a later look adds is at least a fifth of its own standard deviation."""
CLOSE, STEPS_MAX = 1e-9, 200
"""So near to a wanted normal quantile the search for a mean ends: it takes some eight steps."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """An earlier look, which would have ended the test if it had shown a change."""

    information: float  # of this look's: the variance of its mean by that of the earlier mean
    freedom: float  # degrees of freedom of its t
    level: float  # up to this two-sided p it would have shown one


def ended(
    logs: Sequence[float], spread: Spread, earlier: Sequence[Stage], confidence: float = 0.95
) -> Ratio:
    """The median-unbiased ratio and its interval at a look, from the log ratios that it saw.

    With F(mu) the chance, if mu is the true mean log ratio, of what is at least as far to more:

        F(mu) = P(an earlier look shows more) + P(no earlier look shows a change, Z >= z)

    F is ½ at the estimate, ½ (1 - confidence) at the low end and ½ (1 + confidence) at the high
    one. Without earlier looks that is the mean with its t interval. ValueError without logs.
    """
    stages = _apart(earlier)
    if not stages or not spread.sd:
        return interval.log_interval(logs, confidence, spread)
    mean, _ = interval.mean_and_sd(logs)
    error = spread.sd / math.sqrt(len(logs))

    def chances(away: Numbers) -> Numbers:
        return _chances(away, mean / error, stages, spread.freedom)

    side = (1 - confidence) / 2
    low, middle, high = (mean + error * _where(chances, np.array([side, 0.5, 1 - side]))).tolist()
    return Ratio(
        value=interval.ratio_of(middle),
        low=interval.ratio_of(low),
        high=interval.ratio_of(high),
        blocks=len(logs),
        se=error,
        freedom=spread.freedom,
    )


def _apart(earlier: Sequence[Stage]) -> list[Stage]:
    """The stages in their order, each with clearly less information than what follows."""
    stages: list[Stage] = []
    following = 1.0
    for stage in reversed(earlier):
        if stage.information < (1 - ADDS_MIN) * following:
            stages.append(stage)
            following = stage.information
    return stages[::-1]


def _where(chances: Callable[[Numbers], Numbers], wanted: Numbers) -> Numbers:
    """The arguments at which a rising function has the wanted values, by regula falsi.

    On the scale of normal quantiles, on which it is nearly straight. An end that stays twice counts
    half, so that both move (Illinois; Dowell & Jarratt, BIT 1971).
    """
    from scipy.special import ndtri

    aims = ndtri(wanted)

    def above(at: Numbers) -> Numbers:
        distance: Numbers = np.clip(ndtri(np.clip(chances(at), 0, 1)), -REACH, REACH) - aims
        return distance

    low, high = -np.ones_like(wanted), np.ones_like(wanted)
    while ((of_low := above(low)) > 0).any():
        low = np.where(of_low > 0, 2 * low, low)
    while ((of_high := above(high)) < 0).any():
        high = np.where(of_high < 0, 2 * high, high)
    before = np.zeros_like(wanted)
    for _ in range(STEPS_MAX):
        middle = (low * of_high - high * of_low) / (of_high - of_low)
        here = above(middle)
        less, again = here < 0, np.where(here * before > 0, 0.5, 1.0)
        low, of_low = np.where(less, middle, low), np.where(less, here, again * of_low)
        high, of_high = np.where(less, high, middle), np.where(less, again * of_high, here)
        before = here
        if np.abs(here).max() < CLOSE:
            break
    return middle


def _chances(away: Numbers, mean: float, stages: Sequence[Stage], freedom: float) -> Numbers:
    """F at true means so many standard errors from the mean that was seen.

    `mean`: that one, in standard errors too. Each look's t about the true mean becomes the normal
    variate Z of equal tail probability; those of two looks correlate by the root of the ratio of
    their information, so that a look knows of the others by the one before it alone.
    """
    from scipy.special import ndtr, ndtri, stdtr

    more, weights, points = np.zeros_like(away), np.ones((len(away), 1)), np.zeros((len(away), 1))
    before = 0.0
    for stage in stages:
        low, high = _bounds(mean + away, stage)
        tie = math.sqrt(before / stage.information)
        apart = math.sqrt(1 - tie**2)
        more += (weights * ndtr((tie * points - high[:, None]) / apart)).sum(axis=1)
        half = (high - low)[:, None] / 2
        nodes, shares = _legendre()
        following = low[:, None] + half * (1 + nodes)
        steps = (following[:, :, None] - tie * points[:, None, :]) / apart
        density = np.exp(-(steps**2) / 2) / (apart * math.sqrt(2 * math.pi))
        weights = half * shares * (density * weights[:, None, :]).sum(axis=2)
        points, before = following, stage.information
    tie = math.sqrt(before)
    seen = ndtri(stdtr(freedom, -away))
    last = ndtr((tie * points - seen[:, None]) / math.sqrt(1 - tie**2))
    chances: Numbers = more + (weights * last).sum(axis=1)
    return chances


def _bounds(truth: Numbers, stage: Stage) -> tuple[Numbers, Numbers]:
    """Between which variates a look shows no change, by the noncentral t that its t then has."""
    shift = truth * math.sqrt(stage.information)
    return -_bound(-shift, stage), _bound(shift, stage)


def _bound(shift: Numbers, stage: Stage) -> Numbers:
    """Above which variate a look shows more, where its mean lies so many standard errors off 0."""
    from scipy.special import nctdtr, ndtri

    critical = t_quantile(1 - stage.level / 2, stage.freedom)
    less = nctdtr(stage.freedom, shift, critical)
    # It may know no number for a chance that is next to nothing, or next to 1.
    less = np.where(np.isnan(less), shift < critical, less)
    bound: Numbers = np.clip(ndtri(less), -REACH, REACH)
    return bound


@cache
def _legendre() -> tuple[Numbers, Numbers]:
    """Points and weights of an integral from -1 to 1."""
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    return points, weights
