"""Response times: merging the ticks' histograms, percentiles, the published buckets.

Histograms of seconds and roles are added, never their percentiles averaged. Decoding one takes
about 0.1 ms, which is most of what deriving a long step costs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from zlib import error as ZlibError

import numpy as np
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from dbdyno.error import ResultError
from dbdyno.model import ResponseTimes

HIGHEST_US = 3_600_000_000
SIGNIFICANT_DIGITS = 3
CELLS = 23_552
"""Cells of an HDR histogram from 1 µs to 1 h with 3 digits, the contract's."""

DECODING_ERRORS = (
    HdrCookieException, HdrLengthException, ZlibError, IndexError, TypeError, ValueError
)  # fmt: skip

BUCKETS_US = (256, 1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000)
"""Upper bounds, inclusive, of the published buckets; the tenth is everything above."""


class Histogram:
    """Counts of response times; histograms of parts merge to that of the whole."""

    def __init__(self) -> None:
        self._counts: NDArray[np.int64] = np.zeros(CELLS, dtype=np.int64)
        self.max_us = 0  # exact, while a cell knows three digits

    def add(self, encoded: str, max_us: int | None = None) -> None:
        """Adds a histogram in V2 deflate form, base64, with its exact maximum where that is known.

        Raises ResultError where the text is no such histogram.
        """
        try:
            part = HdrHistogram.decode(encoded)
        except DECODING_ERRORS as error:
            raise ResultError(f"a histogram cannot be decoded ({error!r})") from error
        if part.significant_figures != SIGNIFICANT_DIGITS or part.counts_len != CELLS:
            raise ResultError("a histogram is not of 1 µs to 1 h with 3 digits")
        used = part.get_counts_array_index(part.max_value) + 1 if part.total_count else 0
        self._counts[:used] += np.ctypeslib.as_array(part.counts)[:used].view(np.int64)
        self.max_us = max(self.max_us, part.max_value if max_us is None else max_us)

    def merge(self, other: Histogram) -> None:
        """Adds the counts of another histogram."""
        self._counts += other._counts
        self.max_us = max(self.max_us, other.max_us)

    @property
    def count(self) -> int:
        """How many response times there are."""
        return int(self._counts.sum())

    def percentile_us(self, quantile: float) -> float:
        """The nearest rank: the smallest time that at least `quantile` of all do not exceed.

        A cell counts with its upper end, but not above the exact maximum. 0 where there are none.
        """
        cumulated = np.cumsum(self._counts)
        if cumulated[-1] == 0:
            return 0.0
        rank = max(int(np.ceil(quantile * cumulated[-1] - 1e-9)), 1)
        cell = int(np.searchsorted(cumulated, rank))
        return float(min(int(cell_bounds_us()[1][cell]), self.max_us))

    def times(self) -> ResponseTimes:
        """Percentiles, the exact maximum and the ten published buckets."""
        lower = cell_bounds_us()[0]
        cumulated = np.concatenate(([0], np.cumsum(self._counts)))
        # A cell that straddles a bound (16,000 to 16,007 µs) counts as not above it.
        ends = cumulated[np.searchsorted(lower, [*BUCKETS_US, HIGHEST_US * 2], side="right")]
        return ResponseTimes(
            count=self.count,
            buckets=tuple(int(n) for n in np.diff(ends, prepend=0)),
            p50_us=self.percentile_us(0.5),
            p90_us=self.percentile_us(0.9),
            p99_us=self.percentile_us(0.99),
            p999_us=self.percentile_us(0.999),
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
