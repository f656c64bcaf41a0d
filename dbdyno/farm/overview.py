"""What a farm's pages show: its branches with their commits, readings and findings. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.farm.chain import LogRatio, Series
from dbdyno.stats.interval import t_quantile

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A series of one commit, by all of its readings."""

    against_pinned: LogRatio | None
    against_previous: LogRatio | None
    folder: str  # of the result that has it, below the farm's; empty: none is known


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A head that was measured, or that could not be."""

    commit: str
    subject: str
    at_s: float  # Unix time
    cells: Mapping[Series, Cell] = field(default_factory=dict)
    why: str = ""  # why nothing, or not everything, was measured


@dataclass(frozen=True, kw_only=True)
class Found:
    """A finding, as far as a grid and a curve show it."""

    name: str
    title: str
    standing: str  # open, fixed, reverted
    series: tuple[Series, ...]
    first: str  # the head by which it was there


@dataclass(frozen=True, kw_only=True)
class Followed:
    """A branch, its oldest commit first."""

    name: str
    pinned: str
    commits: tuple[Commit, ...]
    findings: tuple[Found, ...] = ()
    odd: str = ""  # what the last look at it said

    @property
    def series(self) -> tuple[Series, ...]:
        """All that was ever measured of it."""
        return tuple(sorted({series for commit in self.commits for series in commit.cells}))


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A farm."""

    name: str
    branches: tuple[Followed, ...]

    def branch(self, name: str | None) -> Followed | None:
        """The branch of this name; the first where none is named; None where it is not there."""
        known = {branch.name: branch for branch in self.branches}
        return next(iter(self.branches), None) if name is None else known.get(name)


def combined(ratios: Iterable[LogRatio | None]) -> LogRatio | None:
    """The mean of several readings, weighed by their variances; None of none.

    Degrees of freedom by Satterthwaite (1946). A reading without any scatter counts alone.
    """
    told = [ratio for ratio in ratios if ratio is not None]
    exact = [ratio for ratio in told if ratio.standard_error == 0]
    if len(told) < 2 or exact:
        return (exact or told or [None])[0]
    weights = [ratio.standard_error**-2 for ratio in told]
    whole = math.fsum(weights)
    parts = zip(weights, told, strict=True)
    return LogRatio(
        value=math.fsum(weight * ratio.value for weight, ratio in parts) / whole,
        standard_error=whole**-0.5,
        degrees=whole**2
        / math.fsum(weight**2 / ratio.degrees for weight, ratio in zip(weights, told, strict=True)),
    )


def interval(ratio: LogRatio) -> tuple[float, float]:
    """The ends of the ratio's 95 % interval."""
    half = t_quantile((1 + CONFIDENCE) / 2, ratio.degrees) * ratio.standard_error
    return math.exp(ratio.value - half), math.exp(ratio.value + half)


def steps(series: Sequence[Series]) -> dict[tuple[str, str], list[Series]]:
    """Series by what one grid shows: an instrument and a metric."""
    grids: dict[tuple[str, str], list[Series]] = {}
    for of in series:
        grids.setdefault((of.instrument, of.metric), []).append(of)
    return grids
