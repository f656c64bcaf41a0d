"""The stall census: seconds of a window in which a role all but stood still.

The published reports show the longest response time only, which does not tell one long stall from
many short ones, nor how much of a run they took.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import median

from dbdyno.analysis.step import client_rates
from dbdyno.analysis.step.evidence import Evidence
from dbdyno.analysis.step.pace import full_seconds, is_regular
from dbdyno.analysis.step.raw_files import Tick
from dbdyno.model import Stalls

STALL_SHARE = 0.10
"""Of the median second's rate: below it, a second is stalled."""
OPERATIONS_MIN = 10
"""In the median second of a role without a regular schedule: with fewer, a second without any may
be one statement that took twice as long as usual."""


def stalls(evidence: Evidence) -> tuple[Stalls, ...]:
    """Of each role whose seconds can tell a stall; none without a window, or without seconds.

    A bulk load is no role of the job: while it builds indexes it brings no rows, and nobody waits.
    """
    if not evidence.load.seconds or not evidence.load.in_seconds:
        return ()
    roles = [one["name"] for one in evidence.job.get("roles", [])]
    by_role = {role: full_seconds(evidence, role) for role in roles}
    return tuple(
        _of_role(ticks, evidence.kind(role))
        for role, ticks in by_role.items()
        if ticks
        and (ticks[0].rows is not None or client_rates.unit(evidence.kind(role)) != "rows")
        and _tells(ticks, regular=is_regular(evidence.job, role))
    )


def _tells(ticks: Sequence[Tick], *, regular: bool) -> bool:
    """Whether a second with next to nothing done is a stall and no chance."""
    usual = median(tick.count for tick in ticks)
    return usual > 0 if regular else usual >= OPERATIONS_MIN


def _of_role(ticks: Sequence[Tick], kind: str) -> Stalls:
    rows = client_rates.unit(kind) == "rows"
    rates = [((tick.rows or 0) if rows else tick.count) / tick.seconds for tick in ticks]
    usual = median(rates)
    stalled = [rate < STALL_SHARE * usual for rate in rates]
    runs = [len(list(run)) for still, run in groupby(stalled) if still]
    return Stalls(
        role=ticks[0].role,
        kind=kind,
        median=usual,
        seconds=len(rates),
        stalled=sum(stalled),
        longest_s=max(runs, default=0),
    )
