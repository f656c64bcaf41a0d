"""What comparison_builder plants of clients, targets and state, with numbers known beforehand.

Client 3 of pg18 is slow in l.i1 and ends 10.2 % after the first; pg17's clients end 5.9 % apart.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TypedDict

from dbdyno.findings.fairness.facts import ClientWork, Fairness, Stalls
from dbdyno.model import Extent, Series, Target

CLIENTS = 4
PCT = (5.9, 10.2)
"""How far the clients of l.i1 end apart, by arm, in percent of the first one's time."""
DEAD_ROWS = 214_880.0


class Planted(TypedDict, total=False):
    """The fields of a StepRun that are planted here."""

    extent: Extent
    fairness: tuple[Fairness, ...]
    stalls: tuple[Stalls, ...]
    targets: tuple[Target, ...]
    state_before: Mapping[str, float | None]
    state_after: Mapping[str, float | None]


def planted(
    step: str,
    place: int,
    *,
    seconds: float,
    rate: float,
    target: float | None,
    achieved: float | None,
) -> Planted:
    """The fields for a step that ended well; `place`: the arm's among all arms."""
    timed = target is not None
    pct = PCT[place % len(PCT)] if step == "l.i1" else 0.4
    roles = [_fair("query" if timed else "insert", pct, seconds, rate, timed=timed)]
    if timed and achieved is not None:
        roles.append(_fair("insert", 0.0, seconds, achieved, timed=True))
    stalled = 12 if step == "l.i2" and place == 1 else 0
    connections = CLIENTS * (3 if timed else 2 if step in ("l.i1", "l.i2") else 1)
    return Planted(
        extent=Extent(clients=CLIENTS, connections=connections, tables=CLIENTS),
        fairness=tuple(roles),
        stalls=tuple(_stalls(fair, seconds, rate, stalled) for fair in roles),
        targets=tuple(_targets(seconds, target, achieved)),
        state_before=_state(dead=0.0, dirty=1 << 20),
        state_after=_state(dead=DEAD_ROWS * (1 + place), dirty=1_288_490_188),
    )


def _fair(role: str, pct: float, seconds: float, rate: float, *, timed: bool) -> Fairness:
    """Clients whose times lie evenly between the first's and the last's; the last is client 3."""
    each = rate / CLIENTS
    shares = [client / (CLIENTS - 1) * pct / 100 for client in range(CLIENTS)]
    first = seconds / (1 + pct / 100)
    rates = [each / (1 + share) for share in shares]
    finish = () if timed else tuple(first * (1 + share) for share in shares)
    return served(role, rates, finish, seconds=seconds)


def served(
    role: str, rates: Sequence[float], finish_s: Sequence[float] = (), *, seconds: float = 1.0
) -> Fairness:
    """The fairness of a role with clients of these rates, each of which ended at its time."""
    return Fairness(
        role=role,
        kind="query" if role == "readers" else role,
        unit="rows" if role in ("insert", "delete") else "operations",
        jain=sum(rates) ** 2 / (len(rates) * math.fsum(rate * rate for rate in rates)),
        clients=tuple(
            ClientWork(
                client=client,
                count=round(rate * seconds),
                per_s=rate,
                finish_s=finish_s[client] if finish_s else None,
            )
            for client, rate in enumerate(rates)
        ),
    )


def _stalls(fair: Fairness, seconds: float, rate: float, stalled: int) -> Stalls:
    return Stalls(
        role=fair.role,
        kind=fair.kind,
        median=rate,
        seconds=int(seconds),
        stalled=stalled,
        longest_s=stalled,
    )


def _targets(seconds: float, target: float | None, achieved: float | None) -> Sequence[Target]:
    if target is None or achieved is None:
        return ()
    met = achieved >= round(0.95 * target)
    return [
        Target(
            role=kind,
            kind=kind,
            target_per_s=target,
            achieved_per_s=achieved,
            met=met,
            seconds=int(seconds),
            seconds_missed=0 if met else int(seconds) // 2,
        )
        for kind in ("insert", "delete")
    ]


def _state(*, dead: float, dirty: float) -> Mapping[str, float | None]:
    return {
        "database_bytes": 37_151_530_000.0,
        "table_bytes": 17_179_869_184.0,
        "index_bytes": 19_327_352_832.0,
        "live_rows": 40_000_000.0,
        "dead_rows": dead,
        "dead_share": 100 * dead / (40_000_000 + dead),
        "free_share": None,
        "dirty_bytes": dirty,
        "wal_since_checkpoint_bytes": 3_650_722_201.0,
        "vacuum_due_tables": 2.0 if dead else 0.0,
        "vacuum_backlog_rows": dead / 2,
        "all_visible_share": 71.2,
    }


def client_series(kind: str, whole: Series) -> Mapping[str, Series]:
    """The rate of each client: the whole's, shared so that client 3 has the least."""
    shares = (0.28, 0.26, 0.25, 0.21)
    return {
        f"{kind}.client.{client}.rate": Series(
            x_s=whole.x_s, y=tuple(round(share * y, 1) for y in whole.y)
        )
        for client, share in enumerate(shares)
    }
