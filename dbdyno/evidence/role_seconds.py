"""A role's whole seconds of a window: stalls, targets, the shape of its rate.

The published reports show the longest response time only, which does not tell one long stall from
many short ones, nor how much of a run they took. Of targets they look at inserts only and take the
deletes to be as many; here deletes are asked for, too: the rows that the server says it deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import median

from dbdyno.evidence import client_rates
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import Tick
from dbdyno.model import Stalls, Target
from dbdyno.model.job import Job
from dbdyno.model.job.role import Rate, Tied
from dbdyno.model.metric import held
from dbdyno.stats import rate_shape

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
    roles = [role.name for role in evidence.job.roles]
    by_role = {role: full_seconds(evidence, role) for role in roles}
    return tuple(
        _stalls(ticks, evidence.kind(role))
        for role, ticks in by_role.items()
        if ticks
        and (ticks[0].rows is not None or client_rates.unit(evidence.kind(role)) != "rows")
        and _tells(ticks, regular=is_regular(evidence.job, role))
    )


def _tells(ticks: Sequence[Tick], *, regular: bool) -> bool:
    """Whether a second with next to nothing done is a stall and no chance."""
    usual = median(tick.count for tick in ticks)
    return usual > 0 if regular else usual >= OPERATIONS_MIN


def _stalls(ticks: Sequence[Tick], work: str) -> Stalls:
    rows = client_rates.unit(work) == "rows"
    rates = [((tick.rows or 0) if rows else tick.count) / tick.seconds for tick in ticks]
    usual = median(rates)
    stalled = [rate < STALL_SHARE * usual for rate in rates]
    runs = [len(list(run)) for still, run in groupby(stalled) if still]
    return Stalls(
        role=ticks[0].role,
        kind=work,
        median=usual,
        seconds=len(rates),
        stalled=sum(stalled),
        longest_s=max(runs, default=0),
    )


# --- Targets --------------------------------------------------------------------------------------


def targets(evidence: Evidence) -> tuple[Target, ...]:
    """The role that the step's target names first, then the deletes tied to it.

    Empty for a step without a target or without a window.
    """
    sla, seconds = evidence.step.sla, evidence.load.seconds
    if sla is None or not seconds:
        return ()
    roles = [sla.role, *_tied_deletes(evidence, sla.role)]
    return tuple(_target(evidence, role, sla.rows_per_s, seconds) for role in roles)


def _tied_deletes(evidence: Evidence, partner: str) -> list[str]:
    partners = {
        role.name: role.pace.to for role in evidence.job.roles if isinstance(role.pace, Tied)
    }
    return [role for role in evidence.roles("delete") if partners.get(role) == partner]


def _rows_per_s(evidence: Evidence, role: str, window_s: float) -> float:
    """The rate at which a role followed its schedule.

    A pause may split a burst: the rest follows while the next turn settles, where no tick counts
    it. So in turns the rate includes the rows and the time of settling.
    """
    load, rows = evidence.load, evidence.role_rows(role) or 0.0
    totals = load.totals.get(role)
    if not load.pauses or totals is None or totals.in_ticks is None or totals.rows is None:
        return rows / window_s
    settled_s = load.resumptions * evidence.job.settle_s
    return (rows + totals.rows - totals.in_ticks.rows) / (window_s + settled_s)


def _target(evidence: Evidence, role: str, rows_per_s: float, window_s: float) -> Target:
    achieved = _rows_per_s(evidence, role, window_s)
    whole = full_seconds(evidence, role)
    return Target(
        role=role,
        kind=evidence.kind(role),
        rows_per_s=rows_per_s,
        achieved=achieved,
        met=held(achieved, rows_per_s),
        seconds=len(whole),
        seconds_missed=sum(not held((tick.rows or 0) / tick.seconds, rows_per_s) for tick in whole),
    )


# --- The shape of the rate ------------------------------------------------------------------------


def shape_of(evidence: Evidence) -> rate_shape.Shape | None:
    """The shape of what the headline counts in the seconds of a timed step.

    None where a step is bound by work, too short, or is not told of by the second.
    """
    return rate_shape.shape([rate for _, rate in headline_rates(evidence)])


def headline_rates(evidence: Evidence) -> list[tuple[Tick, float]]:
    """The whole seconds of a timed step, with the rate of what the headline counts.

    None of a step that is bound by work, or is not told of by the second.
    """
    timed = evidence.job.stop.seconds
    if not timed or not evidence.counts_in_seconds:
        return []
    ticks = full_seconds(evidence, evidence.headline_role)
    counts = [(tick, evidence.counted(tick)) for tick in ticks]
    return [(tick, count / tick.seconds) for tick, count in counts if count is not None]


# --- What a schedule asks -------------------------------------------------------------------------


def rate(job: Job, name: str) -> Rate | None:
    """The rate at which a role's operations are due, or those of the role that it is tied to.

    None where it has none.
    """
    role = job.role(name)
    if role is not None and isinstance(role.pace, Tied):
        role = job.role(role.pace.to)
    return role.pace if role is not None and isinstance(role.pace, Rate) else None


def is_regular(job: Job, role: str) -> bool:
    """Whether a schedule gives a role work in each second, and not only on average."""
    due = rate(job, role)
    return due is not None and (
        due.arrivals == "burst" or (due.arrivals == "even" and due.per_s >= 1)
    )


def full_seconds(evidence: Evidence, role: str) -> list[Tick]:
    """A role's whole seconds of the window of which its schedule asks its full rate.

    The published bursts begin with a single statement: the first second of a step that has no
    warm-up has no more, however fast the server is.
    """
    whole = [tick for tick in evidence.load.of([role]) if tick.whole]
    due = rate(evidence.job, role)
    burst = due is not None and due.arrivals == "burst"
    return whole[1:] if burst and not evidence.job.stop.warmup_s else whole
