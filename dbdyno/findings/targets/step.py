"""Derives how the roles held the rates that a step asks of them.

The published reports look at inserts only and take the deletes to be as many; here deletes are
asked for, too: the rows that the server says it deleted.
"""

from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.role_seconds import full_seconds
from dbdyno.findings.finding import StepFinding
from dbdyno.model import Target, TargetFacts
from dbdyno.model.job.role import TiedPace
from dbdyno.model.metric import held


def of_step(evidence: Evidence) -> TargetFacts:
    """The role that the step's target names first, then the deletes tied to it.

    Nothing for a step without a target or without a window.
    """
    sla, seconds = evidence.step.sla, evidence.load.seconds
    if sla is None or not seconds:
        return TargetFacts()
    roles = [sla.role, *_tied_deletes(evidence, sla.role)]
    return TargetFacts(
        targets=tuple(_target(evidence, role, sla.rows_per_s, seconds) for role in roles)
    )


FINDING = StepFinding(facts=TargetFacts, of_step=of_step)


def _tied_deletes(evidence: Evidence, partner: str) -> list[str]:
    partners = {
        role.name: role.pace.to for role in evidence.job.roles if isinstance(role.pace, TiedPace)
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
        target_per_s=rows_per_s,
        achieved_per_s=achieved,
        met=held(achieved, rows_per_s),
        seconds=len(whole),
        seconds_missed=sum(not held((tick.rows or 0) / tick.seconds, rows_per_s) for tick in whole),
    )
