"""The log of pgbench: every transaction of a window is counted once, as it stands there."""

import math
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from dbdyno.model.error import GeneratorError
from dbdyno.model.events import Tick
from dbdyno.run.driver.pgbench import log
from dbdyno.stats import hdr_histogram
from dbdyno.stats.hdr_histogram import MICROSECONDS
from dbdyno.stats.response_times import Histogram

OPEN_US = 1_700_000_000_250_000


def shape(*, lag: bool = False, retries: bool = False, scripts: int = 1) -> log.LogShape:
    names = ["a", "b", "c"][:scripts]
    return log.LogShape(
        role="pgbench", scripts=names, clients=2, connections=2, lag=lag, retries=retries
    )


def tally(text: str, of: log.LogShape, seconds: float = 2.0) -> log.LogTally:
    window = log.LogWindow(open_us=OPEN_US, open_ns=5_000_000_000, seconds=seconds)
    found = log.LogTally(of, window)
    found.add(log.table(text.encode(), of, "log.1"))
    return found


def counts(tick: Tick) -> list[list[int | None]]:
    return [list(structs.astuple(client)) for client in tick.per_client]


def line(client: int, told: object, after_us: int, *more: int, script: int = 0) -> str:
    at = OPEN_US + after_us
    words = [client, 1, told, script, at // 1_000_000, f"{at % 1_000_000}", *more]
    return " ".join(map(str, words)) + "\n"


def test_a_transaction_counts_that_began_in_the_window_in_the_second_in_which_it_ended() -> None:
    text = "".join(
        line(*one)
        for one in [
            (0, 100, -1), (0, 200, 0), (1, 300, 999_999), (2, 400, 1_000_000), (3, 9, 1_999_999),
            (3, 8, 2_000_000),
        ]
    )  # fmt: skip
    found = tally(text, shape())
    first, second, after = found.ticks()
    assert found.ended == 6
    assert counts(first) == [[1, None, 0, 300], [0, None, 0, 0]]
    assert counts(second) == [[0, None, 0, 0], [2, None, 0, 400]]
    assert counts(after) == [[0, None, 0, 0], [1, None, 0, 8]]
    assert (after.active_ns, after.connection_ns) == (0, 4 * 2 * 10**9)
    assert second.connection_ns is None
    assert (first.tick, first.mono_ns, first.active_ns) == (1, 6 * 10**9, 10**9)
    assert second.operations["a"].count == 2
    assert first.late_us_max is None


def test_the_last_tick_of_a_window_may_be_shorter() -> None:
    ticks = list(tally(line(0, 7, 2_400_000), shape(), seconds=2.5).ticks())
    assert [tick.active_ns for tick in ticks] == [10**9, 10**9, 5 * 10**8, 0]
    assert ticks[2].mono_ns == 7_500_000_000
    assert ticks[2].per_client[0].count == 1


def test_percentiles_come_out_of_the_ticks_as_they_stand_in_the_log() -> None:
    times_us = [int(90 + 1.01**k) for k in range(700)]
    text = "".join(line(k % 4, us, 1_200 + k * 2_800) for k, us in enumerate(times_us))
    ticks = list(tally(text, shape()).ticks())
    found = Histogram()
    for tick in ticks:
        part = tick.operations["a"]
        found.add(part.response, part.max_us)
        assert part.service == part.response
    assert found.count == 700
    for quantile in (0.5, 0.9, 0.99, 1.0):
        by_hand = sorted(times_us)[math.ceil(quantile * 700) - 1]
        assert found.percentile_us(quantile) == pytest.approx(by_hand, rel=0.001)


def test_words_lag_and_retries_of_lines_are_counted_by_script() -> None:
    text = (
        line(0, 500, 1_010, 40, 2)
        + line(1, "skipped", 20, 9_000, 0)
        + line(2, "serialization", 30, 60, 3, script=1)
        + line(3, 700, 1_040, 100, 0, script=1)
    )
    found = tally(text, shape(lag=True, retries=True, scripts=2))
    tick = next(found.ticks())
    a, b = tick.operations["a"], tick.operations["b"]
    assert (a.count, a.retries, a.skipped, a.errors) == (1, 2, 1, {})
    assert (b.count, b.retries, b.errors) == (1, 3, {"serialization": 1})
    assert counts(tick) == [[1, None, 2, 500], [1, None, 4, 700]]
    assert tick.late_us_max == 9_000
    services = Histogram()
    services.add(a.service)
    services.add(b.service)
    assert services.percentile_us(0.5) == 460
    assert (found.ended, found.errors, found.retries) == (2, 6, 5)


def test_a_connection_s_time_is_from_its_last_end_before_the_window_to_its_last_end() -> None:
    """3 s each, one of them across either edge: two in 6 s, where two in 5 s would be too many."""
    ends_us = [1_000_000, 4_000_000, 7_000_000, 10_000_000]
    text = "".join(line(0, 3_000_000, end_us) for end_us in ends_us)
    of = log.LogShape(
        role="pgbench", scripts=["a"], clients=1, connections=1, lag=False, retries=False
    )
    *ticks, after = tally(text, of, seconds=5.0).ticks()
    assert sum(tick.per_client[0].count for tick in (*ticks, after)) == 2
    assert after.connection_ns == 6 * 10**9


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9_000), st.integers(0, 2_200_000))))
def test_the_tally_of_parts_is_that_of_the_whole(found: list[tuple[int, int, int]]) -> None:
    lines = [line(*one) for one in found]
    of, window = shape(), log.LogWindow(open_us=OPEN_US, open_ns=0, seconds=2.0)
    whole, parts = log.LogTally(of, window), log.LogTally(of, window)
    for one in lines:
        parts.add(log.table(one.encode(), of, "log"))
    if lines:
        whole.add(log.table("".join(lines).encode(), of, "log"))
    assert list(whole.ticks()) == list(parts.ticks())


@pytest.mark.parametrize(
    "text",
    ["0 1 412 0 1700000000\n", "0 1 nothing 0 1700000000 1\n", "0 1 412 1 1700000000 1\n",
     "4 1 412 0 1700000000 1\n", "0 1 412 0 1700000000 1 7\n", "0 1 412 0 17000"],
)  # fmt: skip
def test_a_line_that_is_none_of_a_log_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(GeneratorError, match=r"^`pgbench` wrote a log that cannot be read \(`x`\)"):
        log.table(text.encode(), shape(), "x")


def test_a_log_longer_than_a_part_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log, "CHUNK_BYTES", 100)
    path = tmp_path / "log.1"
    path.write_text("".join(line(0, k, k) for k in range(50)))
    parts = list(log.tables(path, shape()))
    assert len(parts) > 5
    assert [int(us) for part in parts for us in part[:, log.TIME]] == list(range(50))


# --- Histograms, written ----------------------------------------------------------------------


@given(st.lists(st.integers(0, 3_600_000_000), max_size=200))
def test_a_written_histogram_is_what_the_library_reads(times_us: list[int]) -> None:
    cells = MICROSECONDS.cells_of(np.array(times_us, dtype=np.int64))
    kinds, counts = np.unique(cells, return_counts=True)
    text = hdr_histogram.encoded(kinds, counts)
    (whole,) = hdr_histogram.counts_of_each([[text]])
    assert whole.counts.sum() == len(times_us)
    ours = {int(cell): int(whole.counts[cell]) for cell in np.flatnonzero(whole.counts)}
    assert ours == dict(zip(kinds.tolist(), counts.tolist(), strict=True))
    theirs = HdrHistogram.decode(text)
    assert theirs.get_total_count() == len(times_us)
    if times_us:
        assert theirs.get_max_value() == MICROSECONDS.bounds_us[1][max(ours)]
