"""Intervals, means and ranks: pure arithmetic on numbers, no type of ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

SECONDS_MIN = 10
"""Fewer per-second rates than this have no percentile, as published."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its confidence interval; no interval from a single pair."""

    value: float
    low: float | None
    high: float | None
    count: int  # pairs


def ratio_interval(
    base: Sequence[float], other: Sequence[float], confidence: float = 0.95
) -> Interval:
    """The mean ratio of `other` to `base` over pairs: a t interval on log ratios, taken back.

    d_i = ln(other_i / base_i); exp(mean(d) ± t(1 - alpha/2, n - 1) · s_d / √n). Logs make 0.95 and
    1/0.95 symmetric and the mean a geometric one; with fewer than 20 pairs the t interval covers
    what it says where bootstraps do not (Kalibera & Jones, ISMM 2013; the project's simulations).
    All numbers have to be positive, both sequences of one length and not empty.
    """
    if len(base) != len(other) or not base:
        raise ValueError(f"{len(base)} and {len(other)} numbers are no pairs")
    if min(*base, *other) <= 0:
        raise ValueError("a ratio needs positive numbers")
    logs = [math.log(b / a) for a, b in zip(base, other, strict=True)]
    count = len(logs)
    mean = math.fsum(logs) / count
    if count == 1:
        return Interval(value=math.exp(mean), low=None, high=None, count=1)
    variance = math.fsum((log - mean) ** 2 for log in logs) / (count - 1)
    reach = _t_quantile((1 + confidence) / 2, count - 1) * math.sqrt(variance / count)
    low, high = math.exp(mean - reach), math.exp(mean + reach)
    return Interval(value=math.exp(mean), low=low, high=high, count=count)


@cache
def _t_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution; asked for often, for few numbers of blocks."""
    from scipy.special import stdtrit  # scipy.stats has the same and takes a second to load

    return float(stdtrit(freedom, probability))


def geometric_mean(values: Sequence[float]) -> float:
    """The n-th root of the product; 0 where one of them is 0. Not empty, none negative."""
    if not values or min(values) < 0:
        raise ValueError("a geometric mean needs numbers that are not negative")
    if min(values) == 0:
        return 0.0
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def published_percentile(rates: Sequence[float], quantile: float) -> float | None:
    """The element at round(quantile · n), counted from 1, of the rates sorted downwards.

    None under SECONDS_MIN rates. So p99 is a low rate: 99 % of the seconds were at least as fast.
    Formula of the Insert Benchmark's scripts.
    """
    if len(rates) < SECONDS_MIN:
        return None
    return sorted(rates, reverse=True)[max(round(quantile * len(rates)), 1) - 1]
