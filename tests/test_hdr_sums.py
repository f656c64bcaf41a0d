"""Histograms that are added and written anew: the reference library reads what we write."""

from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dbdyno import store
from dbdyno.model import Json
from dbdyno.model.error import ResultError
from dbdyno.stats import hdr_histogram
from dbdyno.stats.hdr_histogram import (
    CELLS,
    HIGHEST_US,
    MICROSECONDS,
    NANOSECONDS,
    CellScale,
)

EXAMPLE = Path(__file__).parent.parent / "contract" / "events-fake.jsonl"

cells = st.dictionaries(
    st.integers(min_value=0, max_value=CELLS - 1),
    st.one_of(st.integers(1, 3), st.integers(60, 130), st.integers(8_000, 1 << 53)),
    max_size=40,
)
times_us = st.lists(st.integers(min_value=1, max_value=HIGHEST_US), max_size=40)


def written(values: list[int], scale: CellScale = MICROSECONDS) -> str:
    """A histogram as the reference library writes it."""
    highest = round(HIGHEST_US / scale.unit_us)
    histogram = HdrHistogram(scale.width, highest, 3)
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
        used = np.flatnonzero(found.counts)
        assert {int(place): int(found.counts[place]) for place in used} == counts


@settings(deadline=None)  # the reference library takes its time
@given(times_us)
def test_the_reference_library_reads_what_is_written(values: list[int]) -> None:
    (found,) = hdr_histogram.counts_of_each([[written(values)]])
    places = np.flatnonzero(found.counts)
    assert read(hdr_histogram.encoded(places, found.counts[places])) == read(written(values))


@given(
    st.lists(st.lists(times_us, min_size=1, max_size=3), max_size=4),
    st.sampled_from([MICROSECONDS, NANOSECONDS]),
)
@example([[[], []]], NANOSECONDS)
def test_the_sum_of_parts_is_the_whole(groups: list[list[list[int]]], scale: CellScale) -> None:
    found = hdr_histogram.sums([[written(part, scale) for part in parts] for parts in groups])
    wholes = [written([value for part in parts for value in part], scale) for parts in groups]
    assert [read(one) for one in found] == [read(one) for one in wholes]


@given(st.integers(1000, 10**12))
def test_a_cell_of_nanoseconds_is_half_a_percent_wide_at_most_and_holds_its_time(ns: int) -> None:
    (found,) = hdr_histogram.counts_of_each([[written([ns], NANOSECONDS)]])
    lower_us, upper_us = (bounds[len(found.counts) - 1] for bounds in NANOSECONDS.bounds_us)
    assert lower_us - 1e-6 <= ns / 1000 <= upper_us + 1e-6
    assert upper_us - lower_us <= 0.005 * ns / 1000


@given(times_us)
def test_parts_on_two_scales_are_added_on_the_coarser_one(values: list[int]) -> None:
    fine = written([1000 * value for value in values], NANOSECONDS)
    (found,) = hdr_histogram.counts_of_each([[fine, written(values), written([])]])
    assert found.scale == MICROSECONDS
    assert found.counts.sum() == 2 * len(values)
    (alone,) = hdr_histogram.counts_of_each([[written([]), fine]])
    assert alone.scale == (NANOSECONDS if values else MICROSECONDS)


def test_the_generators_own_histograms_are_added() -> None:
    ticks = [one for one in store.read_structs(EXAMPLE, Json) if one["event"] == "tick"]
    texts = [one["operations"]["market"]["response"] for one in ticks if one["role"] == "query"]
    assert len(texts) > 1
    (found,) = hdr_histogram.sums([texts])
    assert read(found) == [sum(those) for those in zip(*map(read, texts), strict=True)]
    assert hdr_histogram.sums([[texts[0]]]) == [texts[0]], "one alone is left as it is"
    with pytest.raises(ResultError):
        hdr_histogram.sums([[texts[0], texts[1][:-8]]])
