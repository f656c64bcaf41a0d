"""Response times: merging the ticks' histograms, percentiles, the published buckets.

Histograms of seconds and roles are added, never their percentiles averaged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.response_times import BUCKETS_US, ResponseTimes
from dbdyno.stats.hdr_histogram import (
    HIGHEST_US,
    MICROSECONDS,
    CellCounts,
    CellScale,
    added,
    counts_of_each,
)

CUT_US_MIN = 99_000_000
"""Where the shortest histograms end: sysbench's at 100 s, those of older results at 1 h."""
CUT_MIN = 1.02
"""Of the longest time by the end of the last cell: sysbench's buckets are 1.8 % wide."""
PERCENTILES = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999}


class Histogram:
    """Counts of response times; histograms of parts merge to that of the whole."""

    def __init__(self) -> None:
        self.cells = CellCounts(MICROSECONDS, np.zeros(0, dtype=np.int64))
        self.max_us = 0  # exact, while a cell knows three digits

    @classmethod
    def of_each(cls, groups: Sequence[Sequence[str]]) -> list[Histogram]:
        """The sum of each group of histograms in V2 deflate form, base64.

        The maximum is the end of the last cell. Raises ResultError where a text is no histogram.
        """
        wholes = []
        for cells in counts_of_each(groups):
            whole = cls()
            whole.cells = cells
            whole.max_us = whole.cells_max_us
            wholes.append(whole)
        return wholes

    def add(self, encoded: str, max_us: int | None = None) -> None:
        """Adds one histogram, as `of_each` reads it, with its exact maximum where it is known."""
        (part,) = Histogram.of_each([[encoded]])
        part.max_us = part.max_us if max_us is None else max_us
        self.merge(part)

    def merge(self, other: Histogram) -> None:
        """Adds the counts of another histogram; of two on unlike scales on the coarser one."""
        if not self.count:
            self.cells = other.cells
        elif other.count:
            self.cells = added(self.cells, other.cells)
        self.max_us = max(self.max_us, other.max_us)

    @property
    def count(self) -> int:
        """How many response times there are."""
        return int(self.cells.counts.sum())

    @property
    def cells_max_us(self) -> int:
        """The end of the last cell in use, in whole microseconds; 0 where there is none."""
        scale, counts = self.cells
        return math.ceil(scale.bounds_us[1][len(counts) - 1]) if len(counts) else 0

    @property
    def is_cut(self) -> bool:
        """Whether times were longer than all cells, which is all that the last cell says of its
        own: of sysbench from 100 s on, in results of older versions from 1 h, else from 31 days on.
        """
        return self.max_us > CUT_MIN * self.cells_max_us and self.cells_max_us >= CUT_US_MIN

    @property
    def mean_us(self) -> float | None:
        """The mean, of cells' middles: right to 1 in 2,000. None where there are none."""
        if not self.count:
            return None
        scale, counts = self.cells
        lower, upper = (bounds[: len(counts)] for bounds in scale.bounds_us)
        return float(np.dot(counts, (lower + upper) / 2) / counts.sum())

    def percentile_us(self, quantile: float) -> float:
        """The nearest rank: the smallest time that at least `quantile` of all do not exceed.

        A cell counts with its upper end, but not above the exact maximum, which the longest time
        itself counts with. 0 where there are none.
        """
        return self._percentiles_us(np.cumsum(self.cells.counts), [quantile])[0][0]

    def _percentiles_us(
        self, cumulated: NDArray[np.int64], quantiles: Sequence[float]
    ) -> list[tuple[float, bool]]:
        """Each percentile, and whether no more is known of it than that it is this at least."""
        if not len(cumulated) or cumulated[-1] == 0:
            return [(0.0, False) for _ in quantiles]
        ranks = np.maximum(np.ceil(np.array(quantiles) * cumulated[-1] - 1e-9), 1)
        cells = np.searchsorted(cumulated, ranks)
        ends_us = np.minimum(self.cells.scale.bounds_us[1][cells], self.max_us)
        times_us = np.where(ranks == cumulated[-1], self.max_us, ends_us)
        more = self.is_cut & (cells == len(cumulated) - 1) & (times_us < self.max_us)
        return list(zip(times_us.astype(float).tolist(), more.tolist(), strict=True))

    def times(self) -> ResponseTimes:
        """Percentiles, the exact maximum and the ten published buckets."""
        cumulated = np.cumsum(self.cells.counts)
        times = self._percentiles_us(cumulated, [*PERCENTILES.values()])
        percentiles = dict(zip(PERCENTILES, times, strict=True))
        times_us: dict[str, Any] = {name: us for name, (us, _) in percentiles.items()}
        upto = np.concatenate(([0], cumulated))
        ends = upto[np.minimum(_bucket_ends(self.cells.scale), len(cumulated))]
        return ResponseTimes(
            count=int(upto[-1]),
            buckets=tuple(int(n) for n in np.diff(ends, prepend=0)),
            **times_us,
            max_us=self.max_us,
            at_least=tuple(name for name, (_, more) in percentiles.items() if more),
        )


def merged(parts: Iterable[Histogram]) -> Histogram:
    """The histogram of all parts together."""
    whole = Histogram()
    for part in parts:
        whole.merge(part)
    return whole


@cache
def _bucket_ends(scale: CellScale) -> NDArray[np.int64]:
    """How many cells lie in each published bucket and those before it.

    A cell that straddles a bound (16,000 to 16,007 µs) counts as not above it.
    """
    ends_us = [*BUCKETS_US.values(), HIGHEST_US * 2]
    return np.searchsorted(scale.bounds_us[0], ends_us, side="right").astype(np.int64)
