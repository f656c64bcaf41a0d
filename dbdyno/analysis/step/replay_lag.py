"""How far a standby was behind its primary in a window, by its own readings of each second."""

from __future__ import annotations

import math

from dbdyno.analysis.step import raw_files
from dbdyno.analysis.step.evidence import Evidence
from dbdyno.model import Json, Series

MB = 1e6


def metrics(evidence: Evidence) -> dict[str, float | None]:
    """The metrics `replay_lag_…` and `catch_up_s`; of several standbys the one furthest behind."""
    seconds = [one["seconds"] for _, one in within(evidence) if one["seconds"] is not None]
    behind = [one["bytes"] for _, one in within(evidence) if one["bytes"] is not None]
    return {
        "replay_lag_s_mean": math.fsum(seconds) / len(seconds) if seconds else None,
        "replay_lag_s_max": max(seconds, default=None),
        "replay_lag_mb_max": max(behind) / MB if behind else None,
        "catch_up_s": raw_files.number(evidence.end, "catch_up_s"),
    }


def series(evidence: Evidence) -> dict[str, Series]:
    """By second: `lag.seconds`, and `lag.mb` in 10^6 bytes; of several standbys the furthest."""
    found = {}
    for name, key, scale in (("lag.seconds", "seconds", 1.0), ("lag.mb", "bytes", 1 / MB)):
        worst: dict[int, float] = {}
        for at_s, one in within(evidence):
            if one[key] is not None:
                second = round(at_s)
                worst[second] = max(worst.get(second, 0.0), one[key] * scale)
        if worst:
            found[name] = Series(x_s=tuple(map(float, worst)), y=tuple(worst.values()))
    return found


def within(evidence: Evidence) -> list[tuple[float, Json]]:
    """The readings of the window, each with its seconds since the window's start."""
    load = evidence.load
    if load.open_ns is None:
        return []
    at = [((one["mono_ns"] - load.open_ns) / raw_files.NS_PER_S, one) for one in evidence.lag]
    return [(at_s, one) for at_s, one in at if 0.0 <= at_s <= load.passed_s]
