"""Where the load generator itself limited a step: its rate is then "at least", and ratios follow.

A step is never dropped for it: the server can do at least what it was seen to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dbdyno.analysis.step.evidence import Evidence
from dbdyno.model import Bound, StepRun, events, metric

BUSY_SHARE_MAX = 0.70
"""Of a thread's time: above it, replies wait for the generator and not only for the server."""
LAG_MS_P99_MAX = 1.0
"""The generator's own delay before it sends; above it, it is part of what is measured."""
HOST_BUSY_PCT_MIN = 95.0
"""From here on the host's processors are what the generator waits for, not its own threads."""
MORE_THREADS = "give it more `generator.threads`"


def limits(evidence: Evidence, metrics: Mapping[str, float | None]) -> tuple[str, ...] | None:
    """Why the rate of a step is "at least", in words with figures; empty where it is exact.

    None where the load does not say how late it sends, and was not seen to be busy: then it is not
    known.
    """
    busy = tuple(_busy(evidence))
    if not evidence.tells_lateness and not busy:
        return None
    return (*busy, *_late(evidence, metrics))


def _busy(evidence: Evidence) -> Iterable[str]:
    threads = [
        thread
        for thread in evidence.load.done.get("threads") or []
        if thread.get("wait") != events.SPIN
    ]
    if not threads:
        return
    thread = max(threads, key=lambda thread: float(thread["busy_share"]))
    busy, host = thread["busy_share"], thread.get("host")
    if busy > BUSY_SHARE_MAX:
        where = "" if host is None else f", on {host},"
        yield f"its busiest thread{where} was busy {100 * busy:.0f} % of the time ({MORE_THREADS})"


def _late(evidence: Evidence, metrics: Mapping[str, float | None]) -> Iterable[str]:
    lag_us = metrics.get("lag_us_p99")
    elsewhere = any("host" in thread for thread in evidence.load.done.get("threads") or [])
    if lag_us is not None and lag_us > LAG_MS_P99_MAX * 1e3:
        busy_pct = metrics.get("cpups") or 0.0
        crowded = (
            f"the host's processors were {busy_pct:.0f} % busy: use fewer clients or more cores"
        )
        is_crowded = busy_pct >= HOST_BUSY_PCT_MIN and not elsewhere
        remedy = crowded if is_crowded else MORE_THREADS
        late = (
            f"the generator itself sent operations late, 1 % of them by over {lag_us / 1e3:.1f} ms"
        )
        yield f"{late} ({remedy})"


def value_bound(runs: Sequence[StepRun]) -> Bound:
    """What the mean of these runs is to what the server can do: of a rate at least, of a time
    at most.
    """
    if not any(run.window.limited for run in runs):
        return "exact"
    return "at most" if _is_time(runs) else "at least"


def _is_time(runs: Sequence[StepRun]) -> bool:
    """Whether less of the headline is better."""
    return any(metric.less_is_better(run.facts.headline) for run in runs)


def ratio_bound(base: Sequence[StepRun], other: Sequence[StepRun]) -> Bound:
    """What the ratio of `other` to the base is to the ratio of what the servers can do."""
    limited, base_limited = (any(run.window.limited for run in runs) for runs in (other, base))
    if limited == base_limited:
        return "unknown" if limited else "exact"
    return "at least" if limited != _is_time([*base, *other]) else "at most"
