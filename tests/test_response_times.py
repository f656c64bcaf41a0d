"""Response times: percentiles and buckets against sorted lists, merging, what is no histogram."""

import math
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from dbdyno import store
from dbdyno.model import Json
from dbdyno.model.error import ResultError
from dbdyno.model.response_times import BUCKETS_US
from dbdyno.run.driver.sysbench import report
from dbdyno.stats.hdr_histogram import CELLS, HIGHEST_US, MICROSECONDS
from dbdyno.stats.response_times import Histogram, merged

CONTRACT = Path(__file__).parent.parent / "contract"
EVENTS = sorted(CONTRACT.glob("events-*.jsonl"))

times_us = st.lists(st.integers(min_value=1, max_value=HIGHEST_US), min_size=1, max_size=60)


def encoded(values: list[int]) -> str:
    histogram = HdrHistogram(1, HIGHEST_US, 3)
    for value in values:
        assert histogram.record_value(value)
    return bytes(histogram.encode()).decode()


def histogram_of(values: list[int]) -> Histogram:
    histogram = Histogram()
    histogram.add(encoded(values), max(values))
    return histogram


def test_cells_lie_as_the_library_has_them() -> None:
    lower, upper = MICROSECONDS.bounds_us
    library = HdrHistogram(1, HIGHEST_US, 3)
    assert library.counts_len == CELLS
    for cell in (0, 1, 1_023, 1_024, 2_047, 2_048, 2_049, 3_071, 3_072, 10_000, CELLS - 1):
        assert lower[cell] == library.get_value_from_index(cell)
        assert upper[cell] == library.get_highest_equivalent_value(int(lower[cell]))
    assert all(upper[:-1] + 1 == lower[1:]), "no gaps"


@given(times_us)
def test_percentiles_are_those_of_the_sorted_list_within_three_digits(values: list[int]) -> None:
    found = histogram_of(values).times()
    ordered = sorted(values)
    for quantile, value in (
        (0.5, found.p50_us),
        (0.9, found.p90_us),
        (0.99, found.p99_us),
        (0.999, found.p999_us),
    ):
        exact = ordered[math.ceil(quantile * len(values) - 1e-9) - 1]
        assert exact <= value <= exact * 1.001
    assert found.max_us == ordered[-1]
    assert found.count == len(values)


@given(st.lists(st.integers(min_value=1, max_value=20_000_000), min_size=1, max_size=60))
def test_each_time_is_in_one_bucket_and_in_the_right_one(values: list[int]) -> None:
    found = histogram_of(values).times().buckets
    assert sum(found) == len(values)
    lower = [0, *BUCKETS_US.values()]
    upper = [*BUCKETS_US.values(), math.inf]
    expected = [
        sum(low < value <= high for value in values) for low, high in zip(lower, upper, strict=True)
    ]
    straddling = [v for v in values if any(b < v < b * 1.001 for b in BUCKETS_US.values())]
    if not straddling:
        assert list(found) == expected


def test_the_bounds_themselves_are_within_their_bucket() -> None:
    assert histogram_of(list(BUCKETS_US.values())).times().buckets == (1,) * 9 + (0,)
    assert histogram_of([257, 1_001, 20_000_000]).times().buckets == (0, 1, 1) + (0,) * 6 + (1,)


@given(times_us, times_us)
def test_the_merge_of_parts_is_the_whole(one: list[int], other: list[int]) -> None:
    whole = histogram_of(one + other).times()
    assert merged([histogram_of(one), histogram_of(other)]).times() == whole
    added = histogram_of(one)
    added.add(encoded(other), max(other))
    assert added.times() == whole


def test_an_empty_histogram_has_no_times() -> None:
    times = Histogram().times()
    assert (times.count, sum(times.buckets), times.p50_us, times.max_us) == (0, 0, 0.0, 0)


@pytest.mark.parametrize("text", ["", "x", "HISTFAAAACJ4nJNp", "AAAA" * 20])
def test_what_is_no_histogram_is_refused(text: str) -> None:
    with pytest.raises(ResultError, match="cannot be decoded"):
        Histogram().add(text, 1)


def test_times_of_hours_and_days_have_three_digits_too() -> None:
    hour_us = 3_600_000_000
    found = histogram_of([3 * hour_us, 3 * hour_us, 700 * hour_us]).times()
    assert found.p50_us == pytest.approx(3 * hour_us, rel=0.001)
    assert (found.p99_us, found.max_us) == (700 * hour_us, 700 * hour_us)


def test_histograms_of_older_results_end_at_an_hour_and_are_added_to_newer_ones() -> None:
    older = HdrHistogram(1, 3_600_000_000, 3)
    older.record_value(777)
    (whole,) = Histogram.of_each([[bytes(older.encode()).decode(), encoded([777, 9_000_000_000])]])
    assert (whole.count, whole.percentile_us(0.5)) == (3, 777.0)
    assert whole.percentile_us(0.99) == pytest.approx(9_000_000_000, rel=0.001)


def test_a_histogram_of_another_range_is_refused() -> None:
    other = HdrHistogram(1, 1_000_000, 2)
    other.record_value(5)
    with pytest.raises(ResultError, match="3 digits"):
        Histogram().add(bytes(other.encode()).decode(), 5)


def test_a_histogram_of_the_rust_crate_is_read() -> None:
    """Written by hdrhistogram 7.5: twelve times and 5,000 times 777 us, above an hour saturated."""
    text = (
        "HISTFAAAAFJ4nAFHALj/HISTEwAAAB8AAAAAAAAAAwAAAAAAAAABAAAAANaT"
        "pAA/8AAAAAAAAAACiwMCbQICjQiQTukTAgKdDwL9HwKDQwKZXAKjfARZlQzK"
    )
    histogram = Histogram()
    histogram.add(text, 9_000_000_000)
    found = histogram.times()
    # 1 200 256 | 257, 5,000 × 777 | 2,047 2,048 4,001 | 16,003 | 300,000 | 16,000,001 | two more
    assert found.buckets == (3, 5_001, 3, 1, 0, 0, 1, 0, 1, 2)
    assert (found.count, found.p50_us, found.p999_us) == (5_012, 777.0, 4_001.0)
    assert histogram.is_cut, "it ends at an hour"
    assert not histogram_of([9_000_000_000]).is_cut, "newer ones go on"


OVER_US = 104_100_000
"""A time that sysbench's histogram, which ends at 100 s, has in its last bucket."""


def test_one_time_beyond_a_histogram_is_every_percentile() -> None:
    line = f"{99_999.999:12.3f} |{'*' * 40} 1"
    text = report.histogram([line])
    assert text is not None
    alone = Histogram()
    alone.add(text, OVER_US)
    times = alone.times()
    assert {times.p50_us, times.p90_us, times.p99_us, times.p999_us} == {float(OVER_US)}
    assert (times.at_least, alone.percentile_us(0.5)) == ((), OVER_US)


@given(st.integers(1, 40), st.integers(0, 40), st.floats(1.0, 100.0))
def test_percentiles_lie_between_what_is_known_and_the_maximum(
    over: int, under: int, factor: float
) -> None:
    lines = [f"{50.0:12.3f} |{'*' * 40} {under}", f"{99_999.999:12.3f} |{'*' * 40} {over}"]
    text = report.histogram(lines)
    assert text is not None
    histogram = Histogram()
    histogram.add(text, max_us := round(100_000_000 * factor))
    times = histogram.times()
    values = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999}
    for name, quantile in values.items():
        value, rank = getattr(times, name), math.ceil(quantile * (over + under) - 1e-9)
        assert value <= max_us
        assert rank <= under or value >= 99_900_000
        known = rank <= under or rank == over + under or max_us <= 1.02 * value
        assert (name in times.at_least) is not known


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.name)
def test_the_load_generators_own_histograms_are_read(path: Path) -> None:
    """The contract's example events were written by dyno-loadgen."""
    for event in store.read_structs(path, Json):
        if event.get("role") == "fill":
            continue  # rows of a COPY have no response time each
        for part in event.get("operations", {}).values():
            histogram = Histogram()
            histogram.add(part["response"], part["max_us"])
            assert histogram.count == part["count"]
            assert histogram.percentile_us(1.0) == part["max_us"]
