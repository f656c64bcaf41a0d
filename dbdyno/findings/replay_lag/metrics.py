"""How far a standby was behind its primary in a window, by its own readings of each second."""

import math

from dbdyno.evidence import raw_files
from dbdyno.evidence.evidence import Evidence
from dbdyno.model import Series
from dbdyno.model.standby_lag import StandbyLag

MB = 1e6


def metrics(evidence: Evidence) -> dict[str, float | None]:
    """The metrics `replay_lag_…` and `catch_up_s`; of several standbys the one furthest behind."""
    lags = [lag for _, lag in within(evidence)]
    seconds = [lag.seconds for lag in lags if lag.seconds is not None]
    sizes = [lag.bytes for lag in lags if lag.bytes is not None]
    return {
        "replay_lag_s_mean": math.fsum(seconds) / len(seconds) if seconds else None,
        "replay_lag_s_max": max(seconds, default=None),
        "replay_lag_mb_max": max(sizes) / MB if sizes else None,
        "catch_up_s": None if evidence.done is None else evidence.done.catch_up_s,
    }


def series(evidence: Evidence) -> dict[str, Series]:
    """By second: `lag.seconds`, and `lag.mb` in 10^6 bytes; of several standbys the furthest."""
    lags = within(evidence)
    points = {
        "lag.seconds": [(at_s, lag.seconds) for at_s, lag in lags],
        "lag.mb": [(at_s, raw_files.scaled(lag.bytes, 1 / MB)) for at_s, lag in lags],
    }
    curves = {}
    for name, values in points.items():
        worst: dict[int, float] = {}
        for at_s, value in values:
            if value is not None:
                worst[round(at_s)] = max(worst.get(round(at_s), 0.0), value)
        if worst:
            curves[name] = Series(x_s=tuple(map(float, worst)), y=tuple(worst.values()))
    return curves


def within(evidence: Evidence) -> list[tuple[float, StandbyLag]]:
    """The readings of the window, each with its seconds since the window's start."""
    load = evidence.load
    if load.open_ns is None:
        return []
    lags = [((lag.mono_ns - load.open_ns) / raw_files.NS_PER_S, lag) for lag in evidence.lag]
    return [(at_s, lag) for at_s, lag in lags if 0.0 <= at_s <= load.passed_s]
