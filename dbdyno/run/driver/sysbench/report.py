"""Reads the output of sysbench: its seconds, its histogram and its report, by key. Pure.

The lines of seconds are those of dyno's own hook (`script.py`), as sysbench's interval lines have
rates only, rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dbdyno.model import Json
from dbdyno.stats.hdr_histogram import encoded
from dbdyno.stats.response_times import cells_of

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
class Report:
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
    found = VERSION.search(text)
    return None if found is None else ".".join(found.groups())


def second(line: str) -> Second | None:
    """The counts of a line of dyno's hook; None: it is none."""
    found = SECOND.match(line)
    if found is None:
        return None
    passed, seconds, *counts = found[1].split()
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
    found = MOMENT.match(line)
    return [int(found[2] + found[3])] if found is not None and found[1] == word else []


def parse(lines: Iterable[str]) -> Report | None:
    """The report in the lines after the last event; None where the number of events is missing."""
    found = {told[1]: told[2] for line in lines if (told := LINE.match(line))}
    events = _number(found.get("total number of events"))
    if events is None:
        return None
    percentile = next((told for key in found if (told := PERCENTILE.fullmatch(key))), None)
    share = _pair(found.get("events (avg/stddev)"))
    times = _pair(found.get("execution time (avg/stddev)"))
    return Report(
        events=int(events),
        reads=_whole(found.get("read")),
        writes=_whole(found.get("write")),
        others=_whole(found.get("other")),
        queries=_whole(found.get("queries")),
        errors=_whole(found.get("ignored errors")),
        reconnects=_whole(found.get("reconnects")),
        latency_min_ms=_number(found.get("min")),
        latency_ms=_number(found.get("avg")),
        latency_max_ms=_number(found.get("max")),
        latency_sum_ms=_number(found.get("sum")),
        percentile=None if percentile is None else int(percentile[1]),
        latency_percentile_ms=None if percentile is None else _number(found[percentile[0]]),
        thread_events_avg=share[0],
        thread_events_stddev=share[1],
        thread_seconds_avg=times[0],
        thread_seconds_stddev=times[1],
    )


def histogram(lines: Iterable[str]) -> str | None:
    """The histogram in these lines as the contract has it; None where there is none.

    sysbench tells a bucket's middle, of 1024 between 1 µs and 100 s, each 1.8 % above the last.
    """
    buckets = [(told[1], told[2]) for line in lines if (told := BUCKET.fullmatch(line))]
    if not buckets:
        return None
    times_us = np.array([max(1, round(float(ms) * 1e3)) for ms, _ in buckets], dtype=np.int64)
    cells, where = np.unique(cells_of(times_us), return_inverse=True)
    counts = np.zeros(len(cells), dtype=np.int64)
    np.add.at(counts, where, np.array([int(count) for _, count in buckets], dtype=np.int64))
    return encoded(cells, counts)


def times(lines: list[str], printed: Report, *, queued: bool) -> Json | None:
    """The response times of the window; those of service only where no event waits for its turn.

    None where nothing ended in it.
    """
    found = histogram(lines)
    if found is None:
        return None
    longest_us = None if printed.latency_max_ms is None else round(printed.latency_max_ms * 1e3)
    return {"response": found, "service": None if queued else found, "max_us": longest_us}


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _whole(text: str | None) -> int | None:
    found = _number(text)
    return None if found is None else int(found)


def _pair(text: str | None) -> tuple[float | None, float | None]:
    first, _, other = (text or "").partition("/")
    return _number(first), _number(other)
