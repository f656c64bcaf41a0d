"""Histograms that are added and written anew: the reference library reads what we write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno import store
from dbdyno.model import Json
from dbdyno.model.error import ResultError
from dbdyno.stats import hdr_histogram
from dbdyno.stats.hdr_histogram import CELLS, HIGHEST_US

EXAMPLE = Path(__file__).parent.parent / "contract" / "events-fake.jsonl"

cells = st.dictionaries(
    st.integers(min_value=0, max_value=CELLS - 1),
    st.one_of(st.integers(1, 3), st.integers(60, 130), st.integers(8_000, 1 << 53)),
    max_size=40,
)
times_us = st.lists(st.integers(min_value=1, max_value=HIGHEST_US), max_size=40)


def written(values: list[int]) -> str:
    """A histogram as the reference library writes it."""
    histogram = HdrHistogram(1, HIGHEST_US, 3)
    for value in values:
        assert histogram.record_value(value)
    return bytes(histogram.encode()).decode()


def read(text: str) -> list[int]:
    """The counts of all cells, as the reference library reads them."""
    return list(HdrHistogram.decode(text.encode()).counts)


@given(st.lists(cells, min_size=1, max_size=4))
def test_what_is_written_is_read_back(histograms: list[dict[int, int]]) -> None:
    for counts in histograms:
        places = np.array(sorted(counts), dtype=np.int64)
        numbers = np.array([counts[place] for place in sorted(counts)], dtype=np.int64)
        text = hdr_histogram.encoded(places, numbers)
        (found,) = hdr_histogram.counts_of_each([[text]])
        assert {int(place): int(found[place]) for place in np.flatnonzero(found)} == counts


@settings(deadline=None)  # the reference library takes its time
@given(times_us)
def test_the_reference_library_reads_what_is_written(values: list[int]) -> None:
    (found,) = hdr_histogram.counts_of_each([[written(values)]])
    places = np.flatnonzero(found)
    assert read(hdr_histogram.encoded(places, found[places])) == read(written(values))


@given(st.lists(st.lists(times_us, min_size=1, max_size=3), max_size=4))
def test_the_sum_of_parts_is_the_whole(groups: list[list[list[int]]]) -> None:
    found = hdr_histogram.sums([[written(part) for part in parts] for parts in groups])
    wholes = [written([value for part in parts for value in part]) for parts in groups]
    assert [read(one) for one in found] == [read(one) for one in wholes]


def test_the_generators_own_histograms_are_added() -> None:
    ticks = [one for one in store.read_structs(EXAMPLE, Json) if one["event"] == "tick"]
    texts = [one["operations"]["market"]["response"] for one in ticks if one["role"] == "query"]
    assert len(texts) > 1
    (found,) = hdr_histogram.sums([texts])
    assert read(found) == [sum(those) for those in zip(*map(read, texts), strict=True)]
    assert hdr_histogram.sums([[texts[0]]]) == [texts[0]], "one alone is left as it is"
    with pytest.raises(ResultError):
        hdr_histogram.sums([[texts[0], texts[1][:-8]]])
