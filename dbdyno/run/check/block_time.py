"""A guess of how long a plan's blocks take, before anything was measured."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model import Plan, Step, WorkloadUse
from dbdyno.plan import schedule
from dbdyno.run import extra_run, interleave, profile, starting_state
from dbdyno.run.prepared import Prepared
from dbdyno.run.progress import RUN_OVERHEAD_S, STEP_OVERHEAD_S, UNKNOWN_STEP_S, Forecast


def block_s(plan: Plan, prepared: Prepared, number: int, *, copies: bool = True) -> float:
    """A guess of one block's time, in seconds; without `copies` as if no run began from one."""
    runs = sum(
        run_s(prepared, use, arm.name, number, copies=copies)
        for use in plan.workloads
        for arm in plan.arms
    )
    profiles = sum(
        profiles_s(plan, prepared, use, arm.name, number)
        for use in plan.workloads
        for arm in plan.arms
    )
    turns = sum(turns_s(plan, prepared, use, number) for use in plan.workloads)
    return runs + profiles + turns + rests_s(plan, number)


def rests_s(plan: Plan, number: int) -> float:
    """How long the host rests in a block, in seconds: before each server but the plan's first.

    Where all servers of a block are up at once there is one rest for each workload. Those of extra
    runs are in `profiles_s`.
    """
    servers = len(plan.workloads) * (1 if plan.schedule.together else len(plan.arms))
    return plan.schedule.rest_s * (servers - (number == 1))


def profiles_s(plan: Plan, prepared: Prepared, use: WorkloadUse, arm: str, number: int) -> float:
    """A guess of what the profiles of an arm's steps take in a block, in seconds.

    Further windows of arms that take turns are in `turns_s`.
    """
    steps, at = prepared.steps[use.title][arm], prepared.point(use, arm, number)
    if at is not None and begins_from_copy(use, arm, number, prepared):
        steps = at.after(steps)
    legs = list(extra_run.legs(plan, prepared, use, steps, at))
    if not plan.schedule.together:
        legs += [leg for step in steps for leg in profile.legs(plan, use, step)]
    return sum(Forecast(legs).seconds(leg) for leg in legs)


def run_s(prepared: Prepared, use: WorkloadUse, arm: str, number: int, *, copies: bool) -> float:
    """A guess of one run's time in a block, in seconds; a run that makes a copy takes one, too.

    Without `copies` as if it began from none.
    """
    steps = prepared.steps[use.title][arm]
    at = prepared.point(use, arm, number)
    copy_s = 0.0 if at is None else starting_state.copy_s(prepared.copy_bytes[at.key])
    if at is not None and copies and begins_from_copy(use, arm, number, prepared):
        steps = at.after(steps)
    return RUN_OVERHEAD_S + copy_s + steps_s(steps)


def turns_s(plan: Plan, prepared: Prepared, use: WorkloadUse, number: int) -> float:
    """A guess of what block `number` takes longer as its arms take turns, in seconds."""
    if not plan.schedule.together:
        return 0.0
    turns = schedule.in_turn(plan, use, prepared.steps[use.title][plan.base])[1]
    whole = sum(leg.expected_s or 0.0 for leg in interleave.legs(plan, use, turns, number))
    return whole - len(plan.arms) * sum(step.expected_s or 0.0 for step in turns)


def steps_s(steps: Iterable[Step]) -> float:
    """A guess of what these steps take, in seconds."""
    guesses = [UNKNOWN_STEP_S if s.expected_s is None else s.expected_s for s in steps]
    return sum(guesses) + STEP_OVERHEAD_S * len(guesses)


def begins_from_copy(use: WorkloadUse, arm: str, number: int, prepared: Prepared) -> bool:
    """Whether a run begins from a copy, if all goes well before it."""
    at = prepared.point(use, arm, number)
    return at is not None and (number > at.fill or at.key in prepared.copies)
