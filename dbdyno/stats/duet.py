"""Whether a duet can be believed: what is computed of both arms at once, and alone. Pure.

All effects are log ratios; docs/method.md, "Duet", has the reasons. After Bulej, Horký, Tůma,
Farquet & Prokopec, "Duet benchmarking", ICPE 2020.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.stats.interval import mean_and_sd, t_quantile

Pairs = Sequence[tuple[float, float]]
"""Values of the base and of the arm that belong together."""

SECONDS_MIN = 6
"""Fewer seconds, over all halves, have no correlation worth the name."""
SLOPE_LOW, SLOPE_HIGH = 0.9, 1.1
"""What a duet may find of a planted slowdown, as a share of what was planted."""
SLOPE_ERROR_MAX = 0.1
"""A slope whose standard error is larger says nothing of whether it lies there."""


def mean_of_halves(first: float, second: float) -> float:
    """d = ½ (d1 + d2): the arms swap cores between the halves, so what these differ by cancels."""
    return (first + second) / 2


def core_effect(halves: Pairs) -> float:
    """Mean over blocks of ½ (d1 - d2): by how much one set of cores is faster than the other.

    Of each block the log ratios of the two halves, the one first in which the base was on the same
    set as in all other blocks. ValueError without blocks.
    """
    mean, _ = mean_and_sd([(first - second) / 2 for first, second in halves])
    return mean


# --- Second by second ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """How two arms' rates went together, second by second."""

    value: float
    low: float  # 95 % interval
    high: float
    seconds: int  # pairs
    p_negative: float  # one-sided: that it is not negative

    @property
    def gain(self) -> float:
        """By how much the variance of a ratio is smaller than without company: 1 / (1 - r)."""
        return math.inf if self.value >= 1 else 1 / (1 - self.value)


def correlation(halves: Sequence[Pairs]) -> Correlation | None:
    """The correlation of both arms' rates within halves; None under SECONDS_MIN, or of no spread.

    Each half has a mean of its own, which is taken off. Seconds are not independent: they count
    for as many as n (1 - a b) / (1 + a b), with a and b the correlations of a rate with that of
    the second before (Bartlett 1946). Interval and p by Fisher's z, its degrees of freedom less one
    for each half.
    """
    from scipy.special import ndtr

    logs = [centred(half) for half in halves if len(half) > 1]
    ones, others = ([[pair[side] for pair in half] for half in logs] for side in (0, 1))
    count = sum(map(len, logs))
    spread = math.sqrt(_products(ones, ones) * _products(others, others))
    if count < SECONDS_MIN or spread == 0:
        return None
    value = max(-1.0, min(1.0, _products(ones, others) / spread))
    joint = max(0.0, _with_before(ones) * _with_before(others))
    free = (count - len(logs)) * (1 - joint) / (1 + joint)
    error = 1 / math.sqrt(max(free - 2, 1.0))  # n - 3 of a single series of n seconds
    z = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, value)))
    return Correlation(
        value=value,
        low=math.tanh(z - 1.959964 * error),
        high=math.tanh(z + 1.959964 * error),
        seconds=count,
        p_negative=float(ndtr(z / error)),
    )


def centred(half: Pairs) -> list[tuple[float, float]]:
    """A half's pairs by their logs, each side less its mean; a second of 0 is left out."""
    logs = [(math.log(first), math.log(second)) for first, second in half if min(first, second) > 0]
    if not logs:
        return []
    means = [math.fsum(pair[side] for pair in logs) / len(logs) for side in (0, 1)]
    return [(first - means[0], second - means[1]) for first, second in logs]


def _products(ones: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> float:
    return math.fsum(
        a * b for x, y in zip(ones, others, strict=True) for a, b in zip(x, y, strict=True)
    )


def _with_before(halves: Sequence[Sequence[float]]) -> float:
    """The correlation of each second with the one before it; 0 where nothing varies."""
    whole = _products(halves, halves)
    moved = _products([half[:-1] for half in halves], [half[1:] for half in halves])
    return moved / whole if whole else 0.0


# --- What is found of what was planted -------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Slope:
    """What is found by what was planted, with its 95 % interval."""

    value: float
    low: float
    high: float
    error: float  # standard error

    @property
    def accepted(self) -> bool:
        """Whether a duet shows changes as large as they are, and this is known well enough."""
        return SLOPE_LOW <= self.value <= SLOPE_HIGH and self.error <= SLOPE_ERROR_MAX


def slope(planted: Sequence[float], measured: Sequence[float]) -> Slope:
    """The line of least squares through the blocks: measured on planted, both as log ratios.

    ValueError where there are under three blocks, or one size only was planted.
    """
    count = len(planted)
    if count != len(measured) or count < 3:
        raise ValueError(f"{count} and {len(measured)} blocks have no slope with an interval")
    centre, height = math.fsum(planted) / count, math.fsum(measured) / count
    width = math.fsum((x - centre) ** 2 for x in planted)
    if len(set(planted)) == 1:
        raise ValueError("one planted size alone has no slope")
    value = (
        math.fsum((x - centre) * (y - height) for x, y in zip(planted, measured, strict=True))
        / width
    )
    left = math.fsum(
        (y - height - value * (x - centre)) ** 2 for x, y in zip(planted, measured, strict=True)
    )
    error = math.sqrt(left / (count - 2) / width)
    reach = t_quantile(0.975, count - 2) * error
    return Slope(value=value, low=value - reach, high=value + reach, error=error)
