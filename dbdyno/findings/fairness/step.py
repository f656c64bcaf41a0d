"""Derives the fairness and the stalls of a step's roles.

The published reports show the longest response time only, which does not tell one long stall from
many short ones, nor how much of a run they took.
"""

from collections.abc import Sequence
from itertools import groupby
from statistics import median

import numpy as np

from dbdyno.evidence import client_rates
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import NS_PER_S, LoadReport, WindowTick
from dbdyno.evidence.role_seconds import full_seconds, is_regular
from dbdyno.findings.fairness.facts import ClientWork, Fairness, FairnessFacts, Stalls
from dbdyno.findings.finding import StepFinding

STALL_SHARE = 0.10
"""Of the median second's rate: below it, a second is stalled."""
OPERATIONS_MIN = 10
"""In the median second of a role without a regular schedule: with fewer, a second without any may
be one statement that took twice as long as usual."""


def of_step(evidence: Evidence) -> FairnessFacts:
    """The fairness and stalls of a step's roles; nothing without a window."""
    if not evidence.load.seconds:
        return FairnessFacts()
    return FairnessFacts(
        fairness=_fairness(evidence, evidence.load.seconds), stalls=stalls(evidence)
    )


FINDING = StepFinding(facts=FairnessFacts, of_step=of_step)


def _fairness(evidence: Evidence, window_s: float) -> tuple[Fairness, ...]:
    """Of each role that several clients have and that did anything."""
    roles = [
        _of_role(ticks, evidence.kind(role), evidence.load, window_s)
        for role, ticks in client_rates.several(evidence).items()
    ]
    return tuple(fair for fair in roles if any(client.count for client in fair.clients))


def _of_role(ticks: Sequence[WindowTick], work: str, load: LoadReport, window_s: float) -> Fairness:
    counts = client_rates.amounts(ticks, work).sum(axis=0)
    finish_s = finishes_s(load, len(counts))
    rates = (counts / np.array(finish_s or window_s)).tolist()
    return Fairness(
        role=ticks[0].role,
        kind=work,
        unit=client_rates.unit(work),
        jain=jain(rates),
        clients=tuple(
            ClientWork(
                client=client,
                count=int(count),
                per_s=rates[client],
                finish_s=finish_s[client] if finish_s else None,
            )
            for client, count in enumerate(counts)
        ),
    )


def finishes_s(load: LoadReport, clients: int) -> tuple[float, ...]:
    """When each client had done its share, in seconds since the window's start.

    Empty for a step bound by time, and where a client did not come to its end.
    """
    if load.open_ns is None or len(load.clients_end_ns) != clients:
        return ()
    return tuple((end_ns - load.open_ns) / NS_PER_S for end_ns in load.clients_end_ns)


def jain(rates: Sequence[float]) -> float | None:
    """(sum of x)^2 / (n · sum of x^2): 1 where all are equal, 1/n where one has all.

    None where nobody did anything.
    """
    largest = max(rates, default=0.0)
    if largest <= 0:
        return None
    shares = [rate / largest for rate in rates]  # squares of tiny rates would vanish
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


# --- Stalls ---------------------------------------------------------------------------------


def stalls(evidence: Evidence) -> tuple[Stalls, ...]:
    """Of each role whose seconds can tell a stall; none where the load tells no seconds.

    A bulk load is no role of the job: while it builds indexes it brings no rows, and nobody waits.
    """
    if not evidence.load.in_seconds:
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


def _tells(ticks: Sequence[WindowTick], *, regular: bool) -> bool:
    """Whether a second with next to nothing done is a stall and no chance."""
    usual = median(tick.count for tick in ticks)
    return usual > 0 if regular else usual >= OPERATIONS_MIN


def _stalls(ticks: Sequence[WindowTick], work: str) -> Stalls:
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
