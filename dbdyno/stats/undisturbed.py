"""The time of an operation that nobody disturbed, from quantiles of service times.

Interruptions only add time, so the fastest operations met none (Chen and Revels, "Robust
benchmarking in noisy environments", arXiv 1608.04295). Service times lie in modes: client and
session on one processor, or a wake-up across processors. How many operations are of which mode
differs from block to block, so a quantile of all of them jumps from one mode to another. The mean
of the faster half of one mode does not. docs/method.md has the trials that chose all this.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.service_profile import LEVELS, Mode, ServiceProfile
from dbdyno.stats.hdr_histogram import CellCounts

Numbers = NDArray[np.float64]

POINTS = 33
"""Quantiles whose mean is the mean of the operations between the first and the last."""
SHARE_MIN = 0.02
"""With a smaller share of the operations of an arm, or of a block, there is no mode."""
SHARES_APART = 2.0
"""By so much the shares of a mode, and of all that is faster, may differ between arms."""
ALIKE_MIN = 0.8
"""The least Bhattacharyya coefficient of two arms that have a mode in common."""
DIP_MAX = 0.7
"""Two peaks are two modes where the density between them is under this share of the lower one."""
STEP = 0.005
"""The width of a density's cells, of the logarithm of time."""
SMOOTH = 0.03
"""The standard deviation by which densities are smoothed."""
QUARTILES = np.array([0.25, 0.75])
REACH = math.ceil(4 * SMOOTH / STEP)
SHORTEST_US = 1e-3


def profile(operation: str, cells: CellCounts) -> ServiceProfile:
    """The quantiles of a histogram that has counted something.

    Within a cell operations count as spread evenly: of whole microseconds it has what was rounded.
    """
    scale, used = cells.scale, np.flatnonzero(cells.counts)
    rounded = 0.5 if scale.unit_us >= 1 else 0.0
    begins, ends = (bounds[used] - rounded for bounds in scale.bounds_us)
    ends = ends + scale.unit_us
    counts = cells.counts[used]
    after = np.cumsum(counts) / counts.sum()
    before = np.concatenate(([0.0], after[:-1]))
    shares, times = (np.column_stack(both).ravel() for both in ((before, after), (begins, ends)))
    return ServiceProfile(
        operation=operation,
        count=int(counts.sum()),
        cell_us=float(ends[0] - begins[0]),
        times_us=tuple(np.interp(LEVELS, shares, times).tolist()),
    )


@dataclass(frozen=True)
class Density:
    """The operations of several blocks by the logarithm of time, each block counting alike."""

    first: int  # where its cells begin, in steps
    shares: Numbers  # of operations, by cell

    @classmethod
    def of(cls, profiles: Sequence[ServiceProfile]) -> Density:
        """The density of these blocks, smoothed; at least one block."""
        logs = [np.log(np.maximum(each.times_us, SHORTEST_US)) for each in profiles]
        low = math.floor(min(log[0] for log in logs) / STEP) - REACH
        high = math.ceil(max(log[-1] for log in logs) / STEP) + REACH
        edges = np.arange(low, high + 1) * STEP
        shares = [np.interp(edges, log, LEVELS, left=0.0, right=1.0) for log in logs]
        kernel = np.exp(-0.5 * (np.arange(-REACH, REACH + 1) * STEP / SMOOTH) ** 2)
        mean = np.diff(np.mean(shares, axis=0))
        return cls(low, np.convolve(mean, kernel / kernel.sum(), "same"))

    def mode(self, begin: int, end: int) -> Mode:
        """The times between two cells."""
        return Mode(*(math.exp((self.first + place) * STEP) for place in (begin, end)))

    def modes(self) -> list[tuple[int, int]]:
        """The cells of each mode that has operations enough, fastest first: begin and end."""
        valleys = [
            first + int(np.argmin(self.shares[first:second]))
            for first, second in pairwise(_peaks(self.shares))
        ]
        cells = pairwise([0, *valleys, len(self.shares)])
        return [(low, high) for low, high in cells if self.shares[low:high].sum() >= SHARE_MIN]

    def shift(self, end: int, other: Density) -> int | None:
        """By how many cells another arm's operations are slower than these, up to a cell of these.

        Where what is faster is distributed most alike, by the Bhattacharyya coefficient of both,
        cut there; its share of all operations is about the same, as arms meet the same neighbours.
        None where it is alike nowhere.
        """
        own = self.shares[:end]
        share = own.sum()
        wide = np.concatenate((np.zeros(end), other.shares, np.zeros(end)))
        shares = np.concatenate(([0.0], np.cumsum(wide)))[end:]
        near = (shares * SHARES_APART >= share) & (shares <= share * SHARES_APART)
        overlap = np.correlate(np.sqrt(wide), np.sqrt(own), "valid")
        alike = np.where(near, overlap / np.sqrt(np.maximum(shares, SHARE_MIN) * share), 0.0)
        place = int(np.argmax(alike))
        return place - end if alike[place] >= ALIKE_MIN else None


def _peaks(density: Numbers) -> list[int]:
    """The cells of the peaks that are apart from each other."""
    rising, falling = density[1:-1] >= density[:-2], density[1:-1] > density[2:]
    peaks: list[int] = []
    for place in (1 + np.flatnonzero(rising & falling)).tolist():
        if not peaks:
            peaks.append(place)
            continue
        before = peaks[-1]
        if density[before:place].min() <= DIP_MAX * min(density[before], density[place]):
            peaks.append(place)
        elif density[place] > density[before]:
            peaks[-1] = place
    return peaks


def time_us(block: ServiceProfile, mode: Mode) -> float | None:
    """The mean of the faster half of a block's operations in a mode.

    None where it has too few of them.
    """
    begin, end = _shares(block, mode)
    if end - begin < SHARE_MIN:
        return None
    shares = np.linspace(begin, (begin + end) / 2, POINTS)
    return float(np.interp(shares, LEVELS, block.times_us).mean())


def spread(blocks: Iterable[ServiceProfile], mode: Mode) -> float:
    """The upper quartile of a mode by its lower one: of blocks the median."""
    return median(_spread(block, mode) for block in blocks)


def _spread(block: ServiceProfile, mode: Mode) -> float:
    begin, end = _shares(block, mode)
    low, high = np.interp(begin + (end - begin) * QUARTILES, LEVELS, block.times_us)
    return float(high / low)


def _shares(block: ServiceProfile, mode: Mode) -> tuple[float, float]:
    """The shares of a block's operations that are faster than a mode begins, and than it ends."""
    begin, end = np.interp(mode, block.times_us, LEVELS, left=0.0, right=1.0).tolist()
    return begin, end


def alike(profiles: Mapping[int, ServiceProfile]) -> dict[int, ServiceProfile]:
    """The profiles as the coarsest of their recorders would have them."""
    width = max(profile.cell_us for profile in profiles.values())
    return {
        place: profile if 2 * profile.cell_us > width else _coarser(profile, width)
        for place, profile in profiles.items()
    }


def _coarser(profile: ServiceProfile, width_us: float) -> ServiceProfile:
    """The profile by cells of this width, whose operations count as spread evenly."""
    last = profile.times_us[-1]
    edges = (np.arange(0.0, last / width_us + 2) - 0.5) * width_us
    shares = np.interp(edges, profile.times_us, LEVELS, left=0.0, right=1.0)
    times = np.interp(LEVELS, shares, edges)
    return replace(profile, cell_us=width_us, times_us=tuple(times.tolist()))
