"""Idle work: what an arm's server did while it waited for its next turn, in other arms' time.

Purge, autovacuum, archiving and write-back go on when the load pauses. In the arm's window they
would have cost it something; between its turns they slow the arm that is measured then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial

import msgspec

from dbdyno.evidence import evidence as basis
from dbdyno.evidence import raw_files
from dbdyno.evidence.evidence import US_PER_S, Evidence
from dbdyno.evidence.raw_files import Host, per, scaled
from dbdyno.model import OwnerCost
from dbdyno.model.step_run import IDLE, SERVER_OWNERS
from dbdyno.parts.number import listed

SHARE_MAX = 2.0
"""CPU in percent of the time that the server waited: with more, other arms are slowed visibly."""
KINDS_MAX = 3
"""So many kinds of processes does a warning name, those with the most CPU."""
KIB = 1 << 10
ARM = (*SERVER_OWNERS, "standby:")
"""How the names of owners begin that are an arm's servers."""


def waits(host: Host) -> Host:
    """The arm's waits as one window: a difference is the sum over them. Empty without waits."""
    if not host.waited:
        return Host(readings=())
    moments = ["open", *["pause", "settled"] * (len(host.waited) // 2 - 1), "close"]
    return raw_files.host(
        msgspec.structs.replace(reading, moment=moment)
        for reading, moment in zip(host.waited, moments, strict=True)
    )


def owners(evidence: Evidence) -> Mapping[str, OwnerCost]:
    """The cost of each owner of the arm's servers while they waited; none without waits."""
    costs = basis.owners(waits(evidence.server_host))
    return {owner: cost for owner, cost in costs.items() if owner.startswith(ARM)}


def named(evidence: Evidence) -> Mapping[str, OwnerCost]:
    """The same as owners of their own, beside those of the window."""
    return {IDLE + owner: cost for owner, cost in owners(evidence).items()}


def metrics(evidence: Evidence) -> Mapping[str, float | None]:
    """CPU and bytes written for each operation, and CPU by the time waited, in percent."""
    costs = owners(evidence).values()
    cpu_us = math.fsum(cost.cpu_us for cost in costs) if costs else None
    written = raw_files.plus(cost.write_bytes for cost in costs)
    waited_us = scaled(waits(evidence.server_host).seconds, US_PER_S)
    return {
        "idle_cpu_per_op": per(cpu_us, evidence.operations),
        "idle_write_kib_per_op": scaled(per(written, evidence.operations), 1 / KIB),
        "idle_cpu_share": scaled(per(cpu_us, waited_us), 100.0),
    }


def warnings(evidence: Evidence) -> Iterable[str]:
    """Idle work that other arms feel: how much, of which processes, and what to do."""
    waited_s = waits(evidence.server_host).seconds
    if not waited_s:
        return
    share = partial(_share, waited_s)
    costs = sorted(owners(evidence).items(), key=lambda item: -item[1].cpu_us)
    whole = share(math.fsum(cost.cpu_us for _, cost in costs))
    if whole <= SHARE_MAX:
        return
    kinds = [f"{_kind(owner)} {share(cost.cpu_us):.1f} %" for owner, cost in costs[:KINDS_MAX]]
    yield (
        f"idle work: between its turns the server used {whole:.1f} % of a core in other arms' time"
        f" ({listed(kinds)}), which slows them and is in no window; let it end before the first"
        ' turn (a vacuum at the end of the prelude), or use `interleave = "run"`'
    )


def _share(waited_s: float, cpu_us: float) -> float:
    """CPU time in percent of the time waited."""
    return 100 * cpu_us / US_PER_S / waited_s


def _kind(owner: str) -> str:
    """A kind of processes, or threads, in words."""
    return "unidentified processes" if owner == "exited" else owner.removeprefix("background:")
