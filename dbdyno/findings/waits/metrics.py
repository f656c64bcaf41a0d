"""Where the time of an operation goes: on a core, waiting, or with its client; what is left over.

The connections of the headline's role exist for the whole window, so their time by operations is
the whole. The system counts how much of it their processes were on a core, and ready without one;
the rest they slept, which is exact. Samples say only what the sleep was for, by their proportions:
a session that was just woken still shows what it waited for, and whoever samples needs a core, too,
so that on a busy machine sessions are seen asleep more often than they are.
"""

import math
from collections.abc import Iterable, Mapping

from dbdyno.evidence.evidence import US_PER_S, Evidence
from dbdyno.evidence.raw_files import per, scaled
from dbdyno.findings.waits.facts import IDLE, IN_TRANSACTION, SessionLoad, WaitFacts

SLEEP = ("wait_io", "wait_lwlock", "wait_lock", "wait_ipc", "wait_other", "client")
PARTS = {
    "CPU": "cpu",
    "IO": "wait_io",
    "Lock": "wait_lock",
    "IPC": "wait_ipc",
    **dict.fromkeys(("Client", IN_TRANSACTION, IDLE), "client"),
}
"""The parts of the ledger by the kind of activity; what is not here is `wait_other`."""


def ledger(evidence: Evidence, facts: WaitFacts) -> Mapping[str, float | None]:
    """The parts of a connection's time by operation, in microseconds; None where not known."""
    headline = evidence.step.headline
    role = None if headline is None else headline.role
    cost = evidence.owners.get(f"role:{role}")
    operations = evidence.operations
    whole = per(_connection_us(evidence, role), operations)
    runnable = per(cost.run_delay_us if cost is not None else None, operations)
    asleep = None
    if whole is not None and cost is not None and operations:
        asleep = max(0.0, whole - cost.cpu_us / operations - (runnable or 0.0))
    parts = {"connection": whole, "runnable": runnable}
    parts |= split(asleep, _seen(evidence, facts, role))
    return {f"{part}_us_per_op": value for part, value in parts.items()}


def split(asleep: float | None, seen: Mapping[str, float] | None) -> dict[str, float | None]:
    """The time asleep by what it was for, as far as it was seen, and what was not.

    `seen`: the same parts as samples have them, in the same unit. Where they are more than the time
    asleep, they share it by their proportions (post-stratification: the size of the stratum is
    known, the samples tell its parts).
    """
    if asleep is None or seen is None:
        return dict.fromkeys((*SLEEP, "unaccounted")) | {"unaccounted": asleep}
    total = math.fsum(seen.values())
    share = min(1.0, asleep / total) if total else 1.0
    return {
        **{wait: share * value for wait, value in seen.items()},
        "unaccounted": max(0.0, asleep - total),
    }


def _connection_us(evidence: Evidence, role: str | None) -> float | None:
    """The time of all connections of a role in the window."""
    own = None if role is None else evidence.job.role(role)
    if own is None or not evidence.names_sessions:
        return None
    seconds = scaled(evidence.load.seconds, US_PER_S)
    return scaled(seconds, evidence.job.connections_of(own))


def _seen(evidence: Evidence, facts: WaitFacts, role: str | None) -> dict[str, float] | None:
    """A role's sampled waits per operation; None without samples."""
    each_us = per(scaled(evidence.load.seconds, US_PER_S), evidence.operations)
    if not facts.waits or role is None or each_us is None:
        return None
    seen = sessions(load for load in facts.loads if load.owner == f"role:{role}")
    return {wait: each_us * seen[wait] for wait in SLEEP}


def sessions(loads: Iterable[SessionLoad]) -> dict[str, float]:
    """Mean sessions by part of the ledger: the waits, `client`, and `cpu` as it was seen."""
    mean = dict.fromkeys(("cpu", *SLEEP), 0.0)
    for load in loads:
        mean[part_of(load.kind)] += load.sessions
    return mean


def part_of(kind: str) -> str:
    """The ledger's part of a kind of activity; 9.6 has two classes of LWLock."""
    return "wait_lwlock" if kind.startswith("LWLock") else PARTS.get(kind, "wait_other")
