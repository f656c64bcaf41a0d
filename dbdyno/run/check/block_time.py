"""A guess of how long a plan's blocks take, before anything was measured."""

import math
from collections.abc import Iterable

from dbdyno.model import Plan, Step, WorkloadUse
from dbdyno.model.error import PlanError
from dbdyno.plan import count, schedule
from dbdyno.plan.calibration import BLOCKS_USUAL
from dbdyno.run import extra_run, inquiries, interleave, profile, starting_state
from dbdyno.run.check.counting import counted, counting_of
from dbdyno.run.driver import ceiling
from dbdyno.run.progress import (
    RESTART_S,
    RESTARTED_STEP_S,
    RUN_OVERHEAD_S,
    STEP_OVERHEAD_S,
    UNKNOWN_STEP_S,
    Forecast,
    duration,
)
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.stats.looks import UNTIL_DECIDED

TRIED_S = 2.0
"""A step's second in the trial, with its connections."""
LOOK_S = 1.0
"""To read what all blocks say after each."""
AROUND_MINUTES = 0.2
"""Of a race around what its plan limits."""


def block_s(plan: Plan, prepared: ReadyPlan, number: int, *, copies: bool = True) -> float:
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


def blocks_s(plan: Plan, prepared: ReadyPlan, numbers: Iterable[int]) -> float:
    """A guess of the time of these blocks, in seconds."""
    return sum(block_s(plan, prepared, number) for number in numbers)


def before_s(plan: Plan, prepared: ReadyPlan) -> float:
    """A guess of what comes before the first block's steps.

    Counts, answers, the generator, dumps; with a trial also that, and its fills.
    """
    whole = counts_s(plan, prepared)
    whole += ceiling.EXPECTED_S * (plan.schedule.trial or plan.schedule.minutes_max is not None)
    for use in plan.workloads:
        legs = inquiries.legs(plan, use, schedule.block(plan, inquiries.FIRST_BLOCK))
        whole += sum(leg.expected_s or 0.0 for leg in legs)
        for arm in plan.arms if plan.schedule.trial or use.restore is not None else ():
            steps, at = prepared.steps[use.title][arm.name], prepared.point(use, arm.name, 1)
            whole += RESTART_S
            if at is not None:
                whole += starting_state.copy_s(prepared.copy_bytes[at.key])
                if at.key not in prepared.copies:
                    whole += RUN_OVERHEAD_S + steps_s(at.before(steps))
                steps = at.after(steps)
            whole += TRIED_S * len(steps) * plan.schedule.trial
    return whole


def counts_s(plan: Plan, prepared: ReadyPlan) -> float:
    """A guess of the pass of counts, in seconds; 0 without one."""
    if plan.count is None:
        return 0.0
    steps = {step.name for step in counted(plan, prepared)}
    arms = sum(arm.same_as is None for arm in plan.arms)
    start_s = counting_of(plan).start_s
    return count.pass_s(len(steps), arms, plan.count.repeats, start_s)


def first_look_s(plan: Plan, prepared: ReadyPlan) -> float | None:
    """A guess of the time up to the first look, in seconds; None of a plan that has no limit.

    None, too, where steps have no lengths yet.
    """
    guesses = [step.expected_s for by_arm in prepared.steps.values() for step in by_arm[plan.base]]
    if plan.schedule.minutes_max is None or None in guesses or plan.counts_only:
        return None
    return up_to_s(plan, prepared, UNTIL_DECIDED[0])


def refuse_short(plan: Plan, prepared: ReadyPlan) -> None:
    """Raises PlanError where no look fits into the time of a plan whose steps have lengths."""
    look_s, limit = first_look_s(plan, prepared), plan.schedule.minutes_max
    if look_s is not None and limit is not None and look_s > 60 * limit:
        raise PlanError(
            f"a first look takes about {duration(look_s)}, {UNTIL_DECIDED[0]} blocks after "
            f"{duration(before_s(plan, prepared))} of {before(plan)}: give at least "
            f"{math.ceil(look_s / 60 + AROUND_MINUTES)} minutes, or name fewer steps"
        )


def before(plan: Plan) -> str:
    """What comes before the first block's steps, in words."""
    dumps = any(use.restore is not None for use in plan.workloads)
    parts = {
        "fill and trial": plan.schedule.trial,
        "restores": dumps,
        "answers": not plan.schedule.trial,
        "counts": plan.count is not None,
    }
    return ", ".join(part for part, there in parts.items() if there)


def up_to_s(plan: Plan, prepared: ReadyPlan, blocks: int) -> float:
    """A guess of the time up to the end of so many blocks, in seconds."""
    if not plan.schedule.trial:
        return before_s(plan, prepared) + blocks_s(plan, prepared, range(1, blocks + 1))
    each = block_s(plan, prepared, BLOCKS_USUAL) + LOOK_S
    return before_s(plan, prepared) + blocks * each


def rests_s(plan: Plan, number: int) -> float:
    """How long the host rests in a block, in seconds: before each server but the plan's first.

    Where all servers of a block are up at once there is one rest for each workload. Those of extra
    runs are in `profiles_s`.
    """
    servers = len(plan.workloads) * (1 if plan.schedule.together else len(plan.arms))
    return plan.schedule.rest_s * (servers - (number == 1))


def profiles_s(plan: Plan, prepared: ReadyPlan, use: WorkloadUse, arm: str, number: int) -> float:
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


def run_s(prepared: ReadyPlan, use: WorkloadUse, arm: str, number: int, *, copies: bool) -> float:
    """A guess of one run's time in a block, in seconds; a run that makes a copy takes one, too.

    Without `copies` as if it began from none.
    """
    steps = prepared.steps[use.title][arm]
    at = prepared.point(use, arm, number)
    copy_s = 0.0 if at is None else starting_state.copy_s(prepared.copy_bytes[at.key])
    if at is not None and copies and begins_from_copy(use, arm, number, prepared):
        steps = at.after(steps)
        if use.restart:
            return RESTART_S + steps_s(steps, RESTARTED_STEP_S)
    return RUN_OVERHEAD_S + copy_s + steps_s(steps)


def turns_s(plan: Plan, prepared: ReadyPlan, use: WorkloadUse, number: int) -> float:
    """A guess of what block `number` takes longer as its arms take turns, in seconds."""
    if not plan.schedule.together:
        return 0.0
    turns = schedule.in_turn(plan, use, prepared.steps[use.title][plan.base])[1]
    whole = sum(leg.expected_s or 0.0 for leg in interleave.legs(plan, use, turns, number))
    return whole - len(plan.arms) * sum(step.expected_s or 0.0 for step in turns)


def steps_s(steps: Iterable[Step], overhead_s: float = STEP_OVERHEAD_S) -> float:
    """A guess of what these steps take, in seconds; `overhead_s`: around each."""
    guesses = [UNKNOWN_STEP_S if s.expected_s is None else s.expected_s for s in steps]
    return sum(guesses) + overhead_s * len(guesses)


def begins_from_copy(use: WorkloadUse, arm: str, number: int, prepared: ReadyPlan) -> bool:
    """Whether a run begins from a copy, if all goes well before it."""
    at = prepared.point(use, arm, number)
    there = number > at.fill or at.key in prepared.copies if at is not None else False
    return there or use.restore is not None
