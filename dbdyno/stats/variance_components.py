"""Variance within groups and between them. Pure arithmetic on log ratios."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Variance:
    """An estimate of a variance; one between groups is below 0 where that within explains more."""

    value: float
    low: float | None  # 95 % interval, at least 0; None: the numbers give none
    high: float | None
    freedom: int


def one_way(groups: Sequence[Sequence[float]]) -> tuple[Variance | None, Variance | None]:
    """The variance within groups, and that between them; None of one that cannot be told.

    By analysis of variance: each mean square is set to its expectation, also where groups are of
    unequal size (Searle, Casella & McCulloch, *Variance Components*, 1992, chapter 3). Intervals:
    chi² within groups, Williams' between them (Biometrika 49, 1962).
    """
    from scipy.special import chdtri, fdtri

    count = sum(map(len, groups))
    freedom_within, freedom = count - len(groups), len(groups) - 1
    if freedom_within < 1:
        return None, None
    means = [math.fsum(values) / len(values) for values in groups]
    spread = math.fsum(
        (value - mean) ** 2 for values, mean in zip(groups, means, strict=True) for value in values
    )
    upper, lower = (float(chdtri(freedom_within, side)) for side in (0.025, 0.975))
    square_within = spread / freedom_within
    within = Variance(
        value=square_within, low=spread / upper, high=spread / lower, freedom=freedom_within
    )
    if freedom < 1:
        return within, None
    whole = math.fsum(map(math.fsum, groups)) / count
    square = (
        math.fsum(
            len(values) * (mean - whole) ** 2 for values, mean in zip(groups, means, strict=True)
        )
        / freedom
    )
    # How often the variance between groups is in the expectation of its mean square.
    weight = (count - math.fsum(len(values) ** 2 for values in groups) / count) / freedom
    value = (square - square_within) / weight
    if square_within <= 0:
        return within, Variance(value=value, low=None, high=None, freedom=freedom)
    upper, lower = (float(chdtri(freedom, side)) for side in (0.025, 0.975))
    most, least = (
        square_within * float(fdtri(freedom, freedom_within, side)) for side in (0.975, 0.025)
    )
    return within, Variance(
        value=value,
        low=max((square - most) * freedom / weight / upper, 0.0),
        high=max((square - least) * freedom / weight / lower, 0.0),
        freedom=freedom,
    )
