"""Fills as an outer stratum: blocks that begin from one golden copy share what its fill drew.

The layout of a fill and the statistics that were taken of it stay the same in all blocks that begin
from its copy, so their mean is as far off as that fill is, however many there are. With fills
enough these are the units of the tests; with one its variance comes from a calibration.
docs/method.md has the reasons.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.model.grouping import grouped
from dbdyno.model.plan import fill_of
from dbdyno.model.ratio import Ratio
from dbdyno.stats import interval, variance_components
from dbdyno.stats.interval import Spread
from dbdyno.stats.variance_components import Variance

OUTER_MIN = 4
"""With fewer fills a test that counts them finds next to nothing."""


@dataclass(frozen=True, kw_only=True)
class FillVariance:
    """The variance of log ratios between fills, by the means of a calibration's fills."""

    value: float
    freedom: float  # degrees of freedom


@dataclass(frozen=True, kw_only=True)
class Units:
    """What the tests of a step count: its blocks, or the fills that these begin from."""

    fills: int = 1  # golden copies of each arm, which blocks begin from by turns
    between: Mapping[str, FillVariance] = field(default_factory=dict)
    """By metric, where all blocks begin from one fill and a calibration has measured others."""

    @property
    def are_fills(self) -> bool:
        """Whether fills are counted; otherwise blocks are."""
        return self.fills >= OUTER_MIN

    def copies(self, blocks: Sequence[int]) -> tuple[int, ...]:
        """The fill that each block begins from, where there are several, too few to be units."""
        several = self.fills > 1 and not self.are_fills
        return tuple(fill_of(block, self.fills) for block in blocks) if several else ()

    def unit(self, block: int) -> int:
        """The number of a block's unit."""
        return fill_of(block, self.fills) if self.are_fills else block

    def means(self, logs: Mapping[int, float]) -> dict[int, float]:
        """The mean log ratio of each unit by its number; `logs`: by block."""
        return _means(_by_fill(logs, self.fills)) if self.are_fills else dict(logs)


@dataclass(frozen=True, kw_only=True)
class FillCount:
    """How many fills a sample is of, where these are its units."""

    planned: int
    blocks: int  # of all of them together


@dataclass(frozen=True, kw_only=True)
class CalibrationScatter:
    """The scatter of a calibration's log ratios, between its fills and within them."""

    between: Variance
    within: Variance  # from block to block of one fill
    means: FillVariance  # between the means of the fills, in which noise of their blocks is left


def scatter(logs: Mapping[int, float], fills: int) -> CalibrationScatter | None:
    """How log ratios of blocks scatter between fills; None where there are not two with two blocks.

    One way with random effects, by analysis of variance (Searle, Casella & McCulloch, *Variance
    Components*, 1992, chapter 3; intervals by Williams 1962).
    """
    by_fill = _by_fill(logs, fills)
    within, between = variance_components.one_way(list(by_fill.values()))
    means = _means(by_fill)
    sd = interval.mean_and_sd(tuple(means.values()))[1] if means else None
    if within is None or between is None or sd is None:
        return None
    return CalibrationScatter(
        between=between, within=within, means=FillVariance(value=sd**2, freedom=len(means) - 1)
    )


def widened(spread: Spread, units: int, between: FillVariance | None) -> Spread:
    """The spread of so many units, with a variance that all of them share.

    The error of their mean is √(sd² / units + variance); its degrees of freedom are Satterthwaite's
    (Biometrics Bulletin 2, 1946).
    """
    if between is None or not between.value:
        return spread
    own = spread.sd**2 / units
    error = own + between.value
    freedom = error**2 / (own**2 / spread.freedom + between.value**2 / between.freedom)
    return replace(spread, sd=math.sqrt(error * units), freedom=freedom)


def log_interval(logs: Sequence[float], between: FillVariance | None) -> Ratio:
    """The mean ratio of units with its interval, widened where they share a variance."""
    own = interval.own_spread(logs)
    if own is None or between is None:
        return interval.log_interval(logs)
    return interval.log_interval(logs, spread=widened(own, len(logs), between))


def _by_fill(logs: Mapping[int, float], fills: int) -> dict[int, list[float]]:
    return dict(
        sorted(grouped((fill_of(block, fills), log) for block, log in logs.items()).items())
    )


def _means(by_fill: Mapping[int, Sequence[float]]) -> dict[int, float]:
    return {fill: math.fsum(logs) / len(logs) for fill, logs in by_fill.items()}
