"""Variance components of nested measurements. Pure arithmetic on log ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Place = tuple[int, ...]
"""Where a value lies: the number of its outermost group first, its own last."""


@dataclass(frozen=True, kw_only=True)
class Variance:
    """An estimate of one stratum's variance; below 0 where the strata within it explain more."""

    value: float
    low: float | None  # 95 % interval, at least 0; None: the numbers give none
    high: float | None
    freedom: int


def components(values: Mapping[Place, float]) -> tuple[Variance | None, ...]:
    """The variance of each stratum, the innermost first; None of one that cannot be told.

    All places are of one length, and each stratum is nested in that before it. By analysis of
    variance: each stratum's mean square is set to its expectation, also where groups are of unequal
    size (Searle, Casella & McCulloch, *Variance Components*, 1992, chapter 5 and appendix F).
    Intervals: chi² of the innermost stratum, of the others Williams' (Biometrika 49, 1962), with
    Satterthwaite's degrees of freedom for what lies below.
    """
    strata = len(next(iter(values))) if values else 0
    groups = [_groups(values, depth) for depth in range(strata + 1)]
    squares = [_square(groups, stratum) for stratum in range(strata)]
    if not strata or squares[-1].freedom < 1:
        return (None,) * strata
    variances: list[Variance | None] = []
    # Each known stratum's variance as a sum of mean squares, by the stratum of these.
    known: dict[int, dict[int, float]] = {}
    for stratum in reversed(range(strata)):
        square = squares[stratum]
        if square.freedom < 1 or square.weights[stratum] <= 0:
            variances.append(None)
            continue
        below: dict[int, float] = {}
        for inner, sums in known.items():
            for at, factor in sums.items():
                below[at] = below.get(at, 0.0) + square.weights[inner] * factor
        own = square.weights[stratum]
        known[stratum] = {at: -factor / own for at, factor in below.items()} | {stratum: 1 / own}
        variances.append(_variance(squares, stratum, below))
    return tuple(variances)


@dataclass(frozen=True, kw_only=True)
class _Square:
    """A stratum's mean square, and how often each stratum's variance is in its expectation."""

    value: float
    freedom: int
    weights: tuple[float, ...]  # by stratum, the outermost first


Groups = Mapping[Place, tuple[int, float]]
"""How many values each group has, and their sum."""


def _square(sums: Sequence[Groups], at: int) -> _Square:
    strata = len(sums) - 1
    freedom = len(sums[at + 1]) - len(sums[at])
    if freedom < 1:
        return _Square(value=0.0, freedom=0, weights=(0.0,) * strata)
    spread = math.fsum(
        size * (total / size - _mean(sums[at], place[:at])) ** 2
        for place, (size, total) in sums[at + 1].items()
    )
    weights = [
        math.fsum(
            size**2 * (1 / sums[at + 1][place[: at + 1]][0] - 1 / sums[at][place[:at]][0])
            for place, (size, _) in sums[depth + 1].items()
        )
        / freedom
        if depth >= at
        else 0.0
        for depth in range(strata)
    ]
    return _Square(value=spread / freedom, freedom=freedom, weights=tuple(weights))


def _groups(values: Mapping[Place, float], depth: int) -> Groups:
    """The groups of a depth; depth 0 is the whole."""
    groups: dict[Place, list[float]] = {}
    for place, value in values.items():
        groups.setdefault(place[:depth], []).append(value)
    return {place: (len(members), math.fsum(members)) for place, members in groups.items()}


def _mean(groups: Groups, place: Place) -> float:
    size, total = groups[place]
    return total / size


def _variance(squares: Sequence[_Square], stratum: int, below: Mapping[int, float]) -> Variance:
    """A stratum's variance, from its mean square and that which the strata below it explain."""
    from scipy.special import chdtri, fdtri

    square = squares[stratum]
    own = square.weights[stratum]
    parts = {at: factor * squares[at].value for at, factor in below.items()}
    explained = math.fsum(parts.values())
    value = (square.value - explained) / own
    upper, lower = (float(chdtri(square.freedom, side)) for side in (0.025, 0.975))
    if not parts:
        spread = square.value * square.freedom
        return Variance(
            value=value, low=spread / upper, high=spread / lower, freedom=square.freedom
        )
    if explained <= 0:
        return Variance(value=value, low=None, high=None, freedom=square.freedom)
    freedom = explained**2 / math.fsum(part**2 / squares[at].freedom for at, part in parts.items())
    most, least = (
        explained * float(fdtri(square.freedom, freedom, side)) for side in (0.975, 0.025)
    )
    return Variance(
        value=value,
        low=max((square.value - most) * square.freedom / own / upper, 0.0),
        high=max((square.value - least) * square.freedom / own / lower, 0.0),
        freedom=square.freedom,
    )
