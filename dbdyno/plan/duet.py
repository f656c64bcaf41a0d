"""Checks a plan in which both arms run at once (`interleave = "duet"`, docs/plan.md)."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.model import Plan, Step
from dbdyno.model.error import WorkloadError
from dbdyno.plan.schema import refusal

ARMS = 2
SECONDS_MIN = 2.0
"""A half has a whole second at least."""


def check(plan: Plan, source: str) -> None:
    """Raises PlanError where the arms are not two servers of ours, or placed by the plan."""
    if plan.schedule.interleave != "duet":
        return
    if len(plan.arms) != ARMS:
        remedy = "with one add `aa_arm = true`" if len(plan.arms) == 1 else 'use "turn" for more'
        sentence = f'"duet" runs two arms at once, and there are {len(plan.arms)}; {remedy}'
        raise refusal(source, "schedule.interleave", sentence)
    for arm in plan.arms:
        if arm.dsn is not None:
            sentence = '"duet" moves servers from core to core, and dyno does not run this one'
            raise refusal(source, f"arms.{arm.name}.dsn", f'{sentence}; use "turn"')
    placed = {"server": plan.placement.server_cpus, "generator": plan.placement.generator_cpus}
    for table, cpus in placed.items():
        if cpus is not None:
            sentence = 'interleave = "duet" places servers and generators by itself; remove it'
            raise refusal(source, f"{table}.cpus", sentence)


def check_steps(steps: Sequence[Step]) -> None:
    """Raises WorkloadError for the first of the steps of a duet that is bound by its work."""
    for step in steps:
        seconds = step.job.stop.seconds
        if not seconds:
            raise WorkloadError(
                f"step `{step.name}` ends with its work, and a duet swaps cores at half time; "
                'leave it out by `steps` or `groups`, or use interleave = "turn"'
            )
        if seconds < SECONDS_MIN:
            raise WorkloadError(
                f"step `{step.name}` lasts {seconds:g} s, and each half of a duet a second at "
                f"least; make it {SECONDS_MIN:g} s or longer"
            )
