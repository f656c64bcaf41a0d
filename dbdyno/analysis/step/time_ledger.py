"""Where the time of an operation goes: on a core, waiting, or with its client; what is left over.

The connections of the headline's role exist for the whole window, so their time by operations is
the whole. The system counts how much of it their processes were on a core, and ready without one;
the rest they slept, which is exact. Samples say only what the sleep was for, by their proportions:
a session that was just woken still shows what it waited for, and whoever samples needs a core, too,
so that on a busy machine sessions are seen asleep more often than they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from dbdyno.analysis.step import pages
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import per, scaled
from dbdyno.model import OwnerCost, WaitLoad, Waits

US_PER_S = 1e6
WAITS = ("io", "lwlock", "lock", "ipc", "other")
SLEEP = (*WAITS, "client")
ON_CPU = "CPU"
IN_TRANSACTION = "idle in transaction"
CLIENT = "Client"
_KINDS = {"IO": "io", "Lock": "lock", "IPC": "ipc"}


def ledger(evidence: Evidence, waits: Waits | None) -> Mapping[str, float | None]:
    """The parts of a connection's time by operation, in microseconds; None where not known."""
    role = _role(evidence)
    cost = evidence.owners.get(f"role:{role}")
    operations = evidence.operations
    whole = per(_connection_us(evidence, role), operations)
    runnable = per(cost.run_delay_us if cost is not None else None, operations)
    asleep = None
    if whole is not None and cost is not None and operations:
        asleep = max(0.0, whole - cost.cpu_us / operations - (runnable or 0.0))
    parts = split(asleep, _seen(evidence, waits, role))
    return {
        "connection_us_per_op": whole,
        "runnable_us_per_op": runnable,
        **{f"wait_{wait}_us_per_op": parts[wait] for wait in WAITS},
        "client_us_per_op": parts["client"],
        "unaccounted_us_per_op": parts["unaccounted"],
    }


def split(asleep: float | None, seen: Mapping[str, float] | None) -> dict[str, float | None]:
    """The time asleep by what it was for, as far as it was seen, and what was not.

    `seen`: the same kinds as samples have them, in the same unit. Where they are more than the time
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


def of_role(evidence: Evidence) -> Mapping[str, float | None]:
    """Bytes of the headline's server processes, and pages of its tables."""
    operations = evidence.operations
    cost: OwnerCost | None = evidence.owners.get(f"role:{_role(evidence)}")
    read, written = (None, None) if cost is None else (cost.read_bytes, cost.write_bytes)
    return {
        "buffers_hit_per_op": per(pages.of_tables(evidence, "hit"), operations),
        "buffers_read_per_op": per(pages.of_tables(evidence, "read"), operations),
        "role_read_kib_per_op": scaled(per(read, operations), 1 / 1024),
        "role_write_kib_per_op": scaled(per(written, operations), 1 / 1024),
    }


def _role(evidence: Evidence) -> str | None:
    headline = evidence.step.headline
    return None if headline is None else headline.role


def _connection_us(evidence: Evidence, role: str | None) -> float | None:
    """The time of all connections of a role in the window."""
    own = None if role is None else evidence.job.role(role)
    if own is None or not evidence.names_sessions:
        return None
    seconds = scaled(evidence.load.seconds, US_PER_S)
    return scaled(seconds, evidence.job.connections_of(own))


def _seen(evidence: Evidence, waits: Waits | None, role: str | None) -> dict[str, float] | None:
    """A role's sampled waits per operation; None without samples."""
    window_us = scaled(evidence.load.seconds, US_PER_S)
    each = per(window_us, evidence.operations)
    if waits is None or role is None or each is None:
        return None
    owner = f"role:{role}"
    seen = sessions(doing for doing in waits.load if doing.owner == owner)
    seen["client"] += waits.idle.get(owner, 0.0)
    return {wait: each * seen[wait] for wait in SLEEP}


def sessions(load: Iterable[WaitLoad]) -> dict[str, float]:
    """Mean sessions by kind of the ledger: the waits, `client`, and `cpu` as it was seen."""
    mean = dict.fromkeys(("cpu", *WAITS, "client"), 0.0)
    for doing in load:
        mean[kind_of(doing.kind)] += doing.sessions
    return mean


def kind_of(wait_class: str) -> str:
    """The ledger's kind of a class of wait events; 9.6 has two classes of LWLock."""
    if wait_class == ON_CPU:
        return "cpu"
    if wait_class in (CLIENT, IN_TRANSACTION):
        return "client"
    return "lwlock" if wait_class.startswith("LWLock") else _KINDS.get(wait_class, "other")
