"""How evenly the clients of a role were served: their rates, over time too, and when they ended.

The four columns of finish times are those that Mark Callaghan's tables of fairness have: first and
last client to finish, their difference, and that divided by the first's time. What shows unfairness
in steps bound by time as well is Jain's index of the clients' rates (Jain, Chiu, Hawe: A
Quantitative Measure of Fairness and Discrimination, DEC-TR-301, 1984).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbdyno.evidence import client_rates
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import NS_PER_S, Load, Tick
from dbdyno.model import Fairness


def fairness(evidence: Evidence) -> tuple[Fairness, ...]:
    """Of each role that several clients have and that did anything; none without a window."""
    if not evidence.load.seconds:
        return ()
    roles = [
        _of_role(ticks, evidence.kind(role), evidence.load, evidence.load.seconds)
        for role, ticks in client_rates.several(evidence).items()
    ]
    return tuple(fair for fair in roles if sum(fair.counts) > 0)


def _of_role(ticks: Sequence[Tick], work: str, load: Load, window_s: float) -> Fairness:
    amounts = client_rates.amounts(ticks, work)
    counts = amounts.sum(axis=0)
    finish_s = finishes_s(load, len(counts))
    rates = tuple((counts / np.array(finish_s or window_s)).tolist())
    first_s, last_s = (min(finish_s), max(finish_s)) if finish_s else (None, None)
    apart_s = None if first_s is None or last_s is None else last_s - first_s
    return Fairness(
        role=ticks[0].role,
        kind=work,
        unit=client_rates.unit(work),
        counts=tuple(int(count) for count in counts),
        rates=rates,
        jain=jain(rates),
        finish_s=finish_s,
        min_s=first_s,
        max_s=last_s,
        diff_s=apart_s,
        pct=100.0 * apart_s / first_s if apart_s is not None and first_s else None,
    )


def finishes_s(load: Load, clients: int) -> tuple[float, ...]:
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
