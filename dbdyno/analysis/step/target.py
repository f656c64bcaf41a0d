"""Whether the rates that a step asks for were held: of its inserts, and of deletes tied to them.

The published reports look at inserts only and take the deletes to be as many. They are asked for
here: the rows that the server says it deleted.
"""

from __future__ import annotations

from dbdyno.analysis.step.evidence import Evidence
from dbdyno.analysis.step.pace import full_seconds
from dbdyno.model import Target
from dbdyno.model.metric import held


def targets(evidence: Evidence) -> tuple[Target, ...]:
    """The role that the step's target names first, then the deletes tied to it.

    Empty for a step without a target or without a window.
    """
    promised, seconds = evidence.step.get("sla"), evidence.load.seconds
    if promised is None or not seconds:
        return ()
    roles = [promised["role"], *_tied_deletes(evidence, promised["role"])]
    return tuple(_of_role(evidence, role, float(promised["rows_per_s"]), seconds) for role in roles)


def _tied_deletes(evidence: Evidence, partner: str) -> list[str]:
    paces = {one["name"]: one.get("pace") or {} for one in evidence.job.get("roles", [])}
    return [
        role
        for role in evidence.roles("delete")
        if (pace := paces.get(role, {})).get("kind") == "tied" and pace["to"] == partner
    ]


def _of_role(evidence: Evidence, role: str, rows_per_s: float, window_s: float) -> Target:
    achieved = sum(tick.rows or 0 for tick in evidence.load.of([role])) / window_s
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
