"""Derives when checkpoints and autovacuum ran, from the server's log, on the window's active clock.

A checkpoint's start and end are in the log; one that began before the step stands there with its
start. Of an autovacuum there is only the end, with how long it took: one that still ran after the
step is known from after.json.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import LoadReport
from dbdyno.findings.finding import StepFinding
from dbdyno.model import BackgroundFacts, Span
from dbdyno.model.snapshot import Autovacuum
from dbdyno.model.step_files import LogEvent

AUTOVACUUM = {"automatic vacuum": "vacuum", "automatic analyze": "analyze"}
SAME_S_MAX = 1.0
"""A run's start by the log and by pg_stat_activity lie no further apart."""


def of_step(evidence: Evidence) -> BackgroundFacts:
    """Checkpoints and autovacuum runs that touch the window; empty where its clock is not known.

    What was running at the step's end reaches to the window's end.
    """
    load = evidence.load
    if load.open_ns is None or load.unix_minus_mono_ns is None:
        return BackgroundFacts()
    open_unix_s = (load.open_ns + load.unix_minus_mono_ns) / 1e9
    end_s = load.passed_s
    events = sorted(evidence.log_events, key=lambda event: event.unix_ms)
    timed = [(event.unix_ms / 1e3 - open_unix_s, event) for event in events]
    logged = list(_autovacuums(timed))
    running = [
        (run.since_unix_ms / 1e3 - open_unix_s, run)
        for run in (() if evidence.after is None else evidence.after.running or ())
    ]
    every = [*_checkpoints(timed, end_s), *logged, *_running(running, logged, end_s)]
    touching = [span for span in every if span.end_s >= 0 and span.start_s <= end_s]
    active = filter(None, (_active(span, load) for span in touching))
    return BackgroundFacts(spans=tuple(sorted(active, key=lambda span: span.start_s)))


FINDING = StepFinding(facts=BackgroundFacts, of_step=of_step, of_failed=True)


def _active(span: Span, load: LoadReport) -> Span | None:
    """A span without the load's pauses; None where it lies within one."""
    start_s, end_s = load.active_s(span.start_s), load.active_s(span.end_s)
    if start_s == end_s and span.start_s != span.end_s:
        return None
    return replace(span, start_s=start_s, end_s=end_s)


def _checkpoints(events: Iterable[tuple[float, LogEvent]], end_s: float) -> Iterable[Span]:
    begun: tuple[float, LogEvent] | None = None
    for at_s, event in events:
        if event.name == "checkpoint starting":
            begun = at_s, event
        elif event.name == "checkpoint complete":
            duration_s = event.duration_s
            start_s = at_s - duration_s if duration_s is not None else begun[0] if begun else at_s
            label = begun[1].text if begun else event.text
            yield Span(kind="checkpoint", label=label, start_s=start_s, end_s=at_s)
            begun = None
    if begun is not None:
        label = f"{begun[1].text} (still running)"
        yield Span(kind="checkpoint", label=label, start_s=begun[0], end_s=max(end_s, begun[0]))


def _autovacuums(events: Iterable[tuple[float, LogEvent]]) -> Iterable[Span]:
    for at_s, event in events:
        what = AUTOVACUUM.get(event.name)
        if what is None:
            continue
        table = re.search(r'table "([^"]+)"', event.text)
        label = f"{what} {table[1]}" if table else what
        start_s = at_s - (event.duration_s or 0.0)
        yield Span(kind="autovacuum", label=label, start_s=start_s, end_s=at_s)


def _running(
    runs: Iterable[tuple[float, Autovacuum]], logged: Sequence[Span], end_s: float
) -> Iterable[Span]:
    """Runs of autovacuum that the log did not know yet when it was read."""
    for start_s, run in runs:
        what = AUTOVACUUM.get(run.name)
        ended = any(abs(span.start_s - start_s) < SAME_S_MAX for span in logged)
        if what is not None and not ended and start_s <= end_s:
            label = f"{what} {run.table} (still running)"
            yield Span(kind="autovacuum", label=label, start_s=start_s, end_s=end_s)
