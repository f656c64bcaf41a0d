"""Derives what each owner cost, and idle work: what an arm's server did while it waited.

Purge, autovacuum, archiving and write-back go on when the load pauses. In the arm's window they
would have cost it something; between its turns they slow the arm that is measured then.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from dbdyno.evidence import evidence as basis
from dbdyno.evidence import raw_files
from dbdyno.evidence.evidence import US_PER_S, Evidence
from dbdyno.evidence.raw_files import WindowReadings
from dbdyno.findings.finding import StepFinding
from dbdyno.findings.owners.facts import OwnerFacts
from dbdyno.model import OwnerCost
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.step_run import IDLE, SERVER_OWNERS
from dbdyno.parts import number, owner

SHARE_MAX = 2.0
"""CPU in percent of the time that the server waited: with more, other arms are slowed visibly."""
KINDS_MAX = 3
"""So many kinds of processes does a doubt name, those with the most CPU."""
ARM = (*SERVER_OWNERS, "standby:")
"""How the names of owners begin that are an arm's servers."""


def of_step(evidence: Evidence) -> OwnerFacts:
    """The costs of the window, and those between its turns by owners of their own."""
    idle = (replace(cost, owner=f"{IDLE}{cost.owner}") for cost in waiting(evidence))
    return OwnerFacts(costs=(*evidence.owners.values(), *idle))


FINDING = StepFinding(facts=OwnerFacts, of_step=of_step)


def waits(host: WindowReadings) -> WindowReadings:
    """The arm's waits as one window: a difference is the sum over them. Empty without waits."""
    if not host.waited:
        return WindowReadings(readings=())
    moments = ["open", *["pause", "settled"] * (len(host.waited) // 2 - 1), "close"]
    return raw_files.host(
        structs.replace(reading, moment=moment)
        for reading, moment in zip(host.waited, moments, strict=True)
    )


def waiting(evidence: Evidence) -> list[OwnerCost]:
    """The cost of each owner of the arm's servers while they waited; none without waits."""
    costs = basis.owners(waits(evidence.server_host)).values()
    return [cost for cost in costs if cost.owner.startswith(ARM)]


def doubts(evidence: Evidence) -> Iterable[Doubt]:
    """Idle work that other arms feel: how much, of which processes, and what to do."""
    waited_s = waits(evidence.server_host).seconds
    if not waited_s:
        return
    costs = sorted(waiting(evidence), key=lambda cost: -cost.cpu_us)
    percent = 100 / US_PER_S / waited_s
    whole = percent * math.fsum(cost.cpu_us for cost in costs)
    if whole <= SHARE_MAX:
        return
    kinds = [
        f"{owner.words(cost.owner)} {percent * cost.cpu_us:.1f} %" for cost in costs[:KINDS_MAX]
    ]
    yield DoubtSubject.IDLE_WORK.doubt(
        f"between its turns the server used {whole:.1f} % of a core in other arms' time"
        f" ({number.listed(kinds)}), which slows them and is in no window; let it end before the"
        ' first turn (a vacuum at the end of the prelude), or use `interleave = "run"`',
        whole,
    )
