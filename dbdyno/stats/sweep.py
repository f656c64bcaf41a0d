"""Where a curve over numbers of clients peaks, and how far it falls behind that. Pure arithmetic.

A curve is what one block measured: a whole sweep. Reasons stand in docs/method.md.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median_low

from dbdyno.model.ratio import Ratio
from dbdyno.stats import interval

Curve = Mapping[float, float]
"""Throughput by number of clients, of one block; not empty, none negative, one above 0."""


def peak(curve: Curve) -> float:
    """The clients with the greatest throughput: of several the fewest."""
    return min(curve, key=lambda clients: (-curve[clients], clients))


def drop(curve: Curve) -> float:
    """The throughput with the most clients by the greatest: 1 where it peaks there."""
    return curve[max(curve)] / curve[peak(curve)]


def typical(peaks: Sequence[float]) -> float:
    """The peak of the middle block, in rising order; of two in the middle the lower."""
    return median_low(peaks)


def mean(values: Sequence[float]) -> Ratio | None:
    """The geometric mean of those above 0, with the 95 % t interval of their logs; None of none."""
    logs = [math.log(value) for value in values if value > 0]
    return interval.log_interval(logs) if logs else None


def mean_drop(drops: Sequence[float]) -> Ratio | None:
    """The same of drops, which are never above 1: so the interval ends there."""
    interval = mean(drops)
    if interval is None or interval.high is None:
        return interval
    return Ratio(
        value=interval.value, low=interval.low, high=min(interval.high, 1.0), blocks=interval.blocks
    )
