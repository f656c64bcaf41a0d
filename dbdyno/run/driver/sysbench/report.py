"""Reads the output of sysbench: its seconds, its histogram and its report, by key. Pure.

The lines of seconds are those of dyno's own hook (`script.py`), as sysbench's interval lines have
rates only, rounded.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dbdyno.model.events import WindowTimes

VERSION = re.compile(r"sysbench (\d+)\.(\d+)\.(\d+)")
FATAL = re.compile(r"FATAL: (.*)")
"""A thread that goes on no more, or a run that never begins."""
STARTED, CHECKPOINT = "Threads started!", "Checkpoint report:"
READY, BEGUN, OVER = "dyno: ready", "dyno: begun", "dyno: over"
"""The words of each thread: it has its session, is let go, has ended its last event."""
MOMENT = re.compile(rf"({BEGUN}|{OVER}) (\d+)\.(\d{{9}})")
SECOND = re.compile(r"dyno: second (.*)")
NO_SCRIPT = "Cannot find benchmark"
BUCKET = re.compile(r" *(\d+\.\d{3}) \|[* ]{40} (\d+)")
LINE = re.compile(r"\s*([a-z0-9][\w /().]*?):\s+(-?\d\S*)")
PERCENTILE = re.compile(r"(\d+)th percentile")


@dataclass(frozen=True, kw_only=True)
class Second:
    """The counts of all threads since the line before."""

    since_start_s: float
    seconds: float
    threads: int
    events: int
    reads: int
    writes: int
    others: int
    errors: int
    reconnects: int


@dataclass(frozen=True, kw_only=True)
class SysbenchReport:
    """The figures of the last report, from the end of the warm-up on; None where not printed."""

    events: int
    reads: int | None
    writes: int | None
    others: int | None
    queries: int | None
    errors: int | None  # ignored ones, after each of which the event began anew
    reconnects: int | None
    latency_min_ms: float | None
    latency_ms: float | None
    latency_max_ms: float | None
    latency_sum_ms: float | None
    percentile: int | None
    latency_percentile_ms: float | None
    thread_events_avg: float | None
    thread_events_stddev: float | None
    thread_seconds_avg: float | None
    thread_seconds_stddev: float | None


def version(text: str) -> str | None:
    """The version, "1.0.20", in what `sysbench --version` says; None: it does not."""
    match = VERSION.search(text)
    return None if match is None else ".".join(match.groups())


def second(line: str) -> Second | None:
    """The counts of a line of dyno's hook; None: it is none."""
    match = SECOND.match(line)
    if match is None:
        return None
    passed, seconds, *counts = match[1].split()
    threads, events, reads, writes, others, errors, reconnects = map(int, counts)
    return Second(
        since_start_s=float(passed),
        seconds=float(seconds),
        threads=threads,
        events=events,
        reads=reads,
        writes=writes,
        others=others,
        errors=errors,
        reconnects=reconnects,
    )


def moment(line: str, word: str) -> list[int]:
    """When a thread said this word, in nanoseconds of the monotonic clock; empty: it did not."""
    match = MOMENT.match(line)
    return [int(match[2] + match[3])] if match is not None and match[1] == word else []


def parse(lines: Iterable[str]) -> SysbenchReport | None:
    """The report in the lines after the last event; None where the number of events is missing."""
    printed = SysbenchLines(lines)
    events = printed.whole("total number of events")
    if events is None:
        return None
    percentile = printed.percentile()
    events_avg, events_stddev = printed.pair("events (avg/stddev)")
    seconds_avg, seconds_stddev = printed.pair("execution time (avg/stddev)")
    return SysbenchReport(
        events=events,
        reads=printed.whole("read"),
        writes=printed.whole("write"),
        others=printed.whole("other"),
        queries=printed.whole("queries"),
        errors=printed.whole("ignored errors"),
        reconnects=printed.whole("reconnects"),
        latency_min_ms=printed.number("min"),
        latency_ms=printed.number("avg"),
        latency_max_ms=printed.number("max"),
        latency_sum_ms=printed.number("sum"),
        percentile=percentile,
        latency_percentile_ms=None
        if percentile is None
        else printed.number(f"{percentile}th percentile"),
        thread_events_avg=events_avg,
        thread_events_stddev=events_stddev,
        thread_seconds_avg=seconds_avg,
        thread_seconds_stddev=seconds_stddev,
    )


class SysbenchLines:
    """The lines of a report, by their words."""

    def __init__(self, lines: Iterable[str]) -> None:
        matches = filter(None, map(LINE.match, lines))
        self._values = {match[1]: match[2] for match in matches}

    def number(self, words: str) -> float | None:
        """The number of a line; None where there is none."""
        return _number(self._values.get(words))

    def whole(self, words: str) -> int | None:
        """The same as a whole number."""
        number = self.number(words)
        return None if number is None else int(number)

    def pair(self, words: str) -> tuple[float | None, float | None]:
        """The two numbers of a line with a slash between them."""
        first, _, other = self._values.get(words, "").partition("/")
        return _number(first), _number(other)

    def percentile(self) -> int | None:
        """The percentile of response times that is printed."""
        matches = filter(None, map(PERCENTILE.fullmatch, self._values))
        return next((int(match[1]) for match in matches), None)


def histogram(lines: Iterable[str]) -> str | None:
    """The histogram in these lines as the contract has it; None where there is none.

    sysbench tells a bucket's middle, of 1024 between 1 µs and 100 s, each 1.8 % above the last.
    """
    matches = filter(None, map(BUCKET.fullmatch, lines))
    buckets = [(match[1], match[2]) for match in matches]
    if not buckets:
        return None
    import numpy as np

    from dbdyno.stats.hdr_histogram import MICROSECONDS, encoded

    times_us = np.array([max(1, round(float(ms) * 1e3)) for ms, _ in buckets], dtype=np.int64)
    cells, where = np.unique(MICROSECONDS.cells_of(times_us), return_inverse=True)
    counts = np.zeros(len(cells), dtype=np.int64)
    np.add.at(counts, where, np.array([int(count) for _, count in buckets], dtype=np.int64))
    return encoded(cells, counts)


def times(lines: list[str], printed: SysbenchReport, *, queued: bool) -> WindowTimes | None:
    """The response times of the window; those of service only where no event waits for its turn.

    None where nothing ended in it.
    """
    text = histogram(lines)
    if text is None:
        return None
    longest_us = None if printed.latency_max_ms is None else round(printed.latency_max_ms * 1e3)
    return WindowTimes(max_us=longest_us, response=text, service=None if queued else text)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
