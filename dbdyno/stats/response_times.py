"""Response times: merging the ticks' histograms, percentiles, the published buckets.

Histograms of seconds and roles are added, never their percentiles averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dbdyno.model import ResponseTimes
from dbdyno.stats.hdr_histogram import CELLS, HIGHEST_US, counts_of_each

CUT_US_MIN = 3_600_000_000
"""Where the shortest histograms end, those of older results."""
BUCKETS_US = (256, 1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000)
"""Upper bounds, inclusive, of the published buckets; the tenth is everything above."""


class Histogram:
    """Counts of response times; histograms of parts merge to that of the whole."""

    def __init__(self) -> None:
        self._counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # up to the last cell in use
        self.max_us = 0  # exact, while a cell knows three digits

    @classmethod
    def of_each(cls, groups: Sequence[Sequence[str]]) -> list[Histogram]:
        """The sum of each group of histograms in V2 deflate form, base64.

        The maximum is the end of the last cell. Raises ResultError where a text is no histogram.
        """
        wholes = []
        for counts in counts_of_each(groups):
            whole = cls()
            whole._counts = counts
            whole.max_us = whole.cells_max_us
            wholes.append(whole)
        return wholes

    def add(self, encoded: str, max_us: int | None = None) -> None:
        """Adds one histogram, as `of_each` reads it, with its exact maximum where it is known."""
        (part,) = Histogram.of_each([[encoded]])
        part.max_us = part.max_us if max_us is None else max_us
        self.merge(part)

    def merge(self, other: Histogram) -> None:
        """Adds the counts of another histogram."""
        longer, shorter = self._counts, other._counts
        if len(longer) < len(shorter):
            longer, shorter = shorter, longer
        summed = longer.copy()
        summed[: len(shorter)] += shorter
        self._counts = summed
        self.max_us = max(self.max_us, other.max_us)

    @property
    def count(self) -> int:
        """How many response times there are."""
        return int(self._counts.sum())

    @property
    def cells_max_us(self) -> int:
        """The end of the last cell in use; 0 where there is none."""
        return int(cell_bounds_us()[1][len(self._counts) - 1]) if len(self._counts) else 0

    @property
    def is_cut(self) -> bool:
        """Whether times were longer than all cells, so that percentiles may be too low: in results
        of older versions from 1 h on, else from 31 days on.
        """
        return self.max_us > self.cells_max_us >= CUT_US_MIN

    @property
    def mean_us(self) -> float | None:
        """The mean, of cells' middles: right to 1 in 2,000. None where there are none."""
        if not self.count:
            return None
        lower, upper = (bounds[: len(self._counts)] for bounds in cell_bounds_us())
        return float(np.dot(self._counts, (lower + upper) / 2) / self._counts.sum())

    def percentile_us(self, quantile: float) -> float:
        """The nearest rank: the smallest time that at least `quantile` of all do not exceed.

        A cell counts with its upper end, but not above the exact maximum. 0 where there are none.
        """
        return self._percentiles_us(np.cumsum(self._counts), quantile)[0]

    def _percentiles_us(self, cumulated: NDArray[np.int64], *quantiles: float) -> list[float]:
        if not len(cumulated) or cumulated[-1] == 0:
            return [0.0 for _ in quantiles]
        ranks = np.maximum(np.ceil(np.array(quantiles) * cumulated[-1] - 1e-9), 1)
        cells = np.searchsorted(cumulated, ranks)
        return [float(min(int(us), self.max_us)) for us in cell_bounds_us()[1][cells]]

    def times(self) -> ResponseTimes:
        """Percentiles, the exact maximum and the ten published buckets."""
        cumulated = np.cumsum(self._counts)
        p50_us, p90_us, p99_us, p999_us = self._percentiles_us(cumulated, 0.5, 0.9, 0.99, 0.999)
        upto = np.concatenate(([0], cumulated))
        ends = upto[np.minimum(_bucket_ends(), len(cumulated))]
        return ResponseTimes(
            count=int(upto[-1]),
            buckets=tuple(int(n) for n in np.diff(ends, prepend=0)),
            p50_us=p50_us,
            p90_us=p90_us,
            p99_us=p99_us,
            p999_us=p999_us,
            max_us=self.max_us,
        )


def merged(parts: Iterable[Histogram]) -> Histogram:
    """The histogram of all parts together."""
    whole = Histogram()
    for part in parts:
        whole.merge(part)
    return whole


@cache
def cell_bounds_us() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The smallest and the largest time of each cell, in microseconds.

    HDR layout: 2,048 cells of 1 µs, then 1,024 cells for each doubling, each twice as wide.
    """
    index = np.arange(CELLS, dtype=np.int64)
    doubling = np.maximum((index >> 10) - 1, 0)
    within = np.where(index < 1024, index, (index & 1023) + 1024)
    lower = within << doubling
    return lower, lower + (np.int64(1) << doubling) - 1


@cache
def _bucket_ends() -> NDArray[np.int64]:
    """How many cells lie in each published bucket and those before it.

    A cell that straddles a bound (16,000 to 16,007 µs) counts as not above it.
    """
    lower = cell_bounds_us()[0]
    return np.searchsorted(lower, [*BUCKETS_US, HIGHEST_US * 2], side="right").astype(np.int64)


def cells_of(times_us: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cell of each time in microseconds; what is above all cells is in the last."""
    return np.searchsorted(cell_bounds_us()[0], times_us, side="right").astype(np.int64) - 1
