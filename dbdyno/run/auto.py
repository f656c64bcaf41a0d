"""A plan that finds out how many blocks it takes: a pilot, what it came to, the fresh blocks.

The pilot's blocks measure noise and time. What follows from them is settled once and kept
(sizing.json), before any fresh block begins, so that a plan that goes on after a break has the same
blocks, and no verdict has a say in how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

from dbdyno.host.lock import HostLock
from dbdyno.model import Block, Plan, Step, WorkloadUse, metric
from dbdyno.model.error import ResultError
from dbdyno.model.verdict import PILOT_BLOCKS, Sized, Sizing
from dbdyno.plan import schedule
from dbdyno.run import blocks as runner
from dbdyno.run.arm import Lab
from dbdyno.run.blocks import Outcome
from dbdyno.run.progress import duration
from dbdyno.stats import sample_size
from dbdyno.store import Results

ReadPilot = Callable[[Results, Collection[tuple[str, str]]], sample_size.Piloted]
"""What the complete blocks so far say of steps, by workload and name: judging is not done here."""


def run(plan: Plan, parent: Path, read_pilot: ReadPilot, *, wait: bool = False) -> Outcome:
    """Runs a plan whose schedule is `auto`, or what is missing of it, as `runner.run` does.

    Raises ResultError, beside what that raises, where the plan has an arm that the pilot lacks.
    """
    with HostLock(plan=plan.name, wait=wait):
        sizing = earlier(plan, parent / plan.name)
        with runner.opened(with_blocks(plan, sizing), parent) as lab:
            if sizing is not None:
                return run_fresh(lab, sizing)
            lab.watch.say(announced(plan))
            of_pilot = runner.run_blocks(
                replace(lab, called="pilot block"), runner.missing_blocks(lab.plan, lab.results)
            )
            sizing = settle(lab, read_pilot)
            of_fresh = run_fresh(runner.grown(lab, with_blocks(plan, sizing)), sizing)
    return replace(
        of_fresh,
        failed=of_pilot.failed + of_fresh.failed,
        voids=of_pilot.voids + of_fresh.voids,
    )


def earlier(plan: Plan, folder: Path) -> Sizing | None:
    """What the pilot came to that `folder` has; None where it is still to be done.

    Raises ResultError where the plan has an arm that blocks of the folder lack.
    """
    if not (folder / "plan.json").exists():
        return None
    results = Results.open(folder)
    there = {arm["name"] for arm in results.plan["arms"]}
    added = [arm.name for arm in plan.arms if arm.name not in there]
    if added and results.blocks():
        raise ResultError(
            f"{folder}: key `arms.{added[0]}`: the pilot there did not see this arm, and with "
            'blocks = "auto" it fixes the blocks of all; rename the plan or choose another --out'
        )
    return results.sizing()


def with_blocks(plan: Plan, sizing: Sizing | None) -> Plan:
    """The plan with the blocks that are known: the pilot's, then with the fresh ones."""
    blocks = PILOT_BLOCKS if sizing is None else sizing.pilot + sizing.fresh
    return replace(plan, schedule=replace(plan.schedule, blocks=blocks))


# --- What the pilot comes to -----------------------------------------------------------------


def settle(lab: Lab, read_pilot: ReadPilot) -> Sizing:
    """Fixes how many fresh blocks each step gets, for good."""
    names = [(step.workload, step.name) for use in lab.plan.workloads for step in fresh(lab, use)]
    found = read_pilot(lab.results, names)
    sizing = sample_size.size(
        found.seen,
        lab.plan.aims,
        fixed_minutes=found.fixed_minutes,
        minutes_max=minutes_left(lab, PILOT_BLOCKS),
        alone=all(can_be_alone(lab, use) for use in lab.plan.workloads),
    )
    lab.results.keep_sizing(sizing)
    return sizing


def minutes_left(lab: Lab, last: int) -> float | None:
    """What the plan's limit leaves after the pilot, whose last block has this number."""
    limit = lab.plan.schedule.minutes_max
    return None if limit is None else max(0.0, limit - lab.results.minutes(last))


def fresh(lab: Lab, use: WorkloadUse) -> tuple[Step, ...]:
    """The measured steps of a workload that every block has: all, or those after a kept state."""
    steps = lab.prepared.steps[use.name, lab.plan.base]
    at = lab.prepared.points.get((use.name, lab.plan.base))
    return tuple(step for step in (steps if at is None else at.after(steps)) if step.measured)


def can_be_alone(lab: Lab, use: WorkloadUse) -> bool:
    """Whether a block can do some of these steps and not others: no later one writes."""
    _, rest = schedule.parted(lab.prepared.steps[use.name, lab.plan.base])
    return all(step in rest for step in fresh(lab, use))


# --- The fresh blocks ------------------------------------------------------------------------


def run_fresh(lab: Lab, sizing: Sizing) -> Outcome:
    """Runs the blocks that are still to do, each with its steps."""
    for line in said(lab.plan, sizing, minutes_left(lab, sizing.pilot)):
        lab.watch.say(line)
    blocks = [
        with_steps(lab, sizing, block) for block in runner.missing_blocks(lab.plan, lab.results)
    ]
    return runner.run_blocks(lab, blocks)


def with_steps(lab: Lab, sizing: Sizing, block: Block) -> Block:
    """The block with the steps that it is to do; where that is all of them it does not say so."""
    number = block.number - sizing.pilot
    wanted = [one for one in sizing.steps if one.blocks >= number]
    if len(wanted) == len(sizing.steps):
        return block
    steps: dict[str, tuple[str, ...]] = {}
    for use in lab.plan.workloads:
        everything = lab.prepared.steps[use.name, lab.plan.base]
        workload = everything[0].workload
        names = [one.step for one in wanted if one.workload == workload]
        at = lab.prepared.points.get((use.name, lab.plan.base))
        kept = schedule.only(everything, names, through=0 if at is None else at.step.ordinal)
        steps[workload] = tuple(step.name for step in kept)
    return replace(block, steps=steps)


# --- In words --------------------------------------------------------------------------------


def announced(plan: Plan) -> str:
    """What is about to be done, in a line."""
    limit = plan.schedule.minutes_max
    within = "" if limit is None else f", all within {duration(60 * limit)}"
    return (
        f"a pilot of {PILOT_BLOCKS} blocks measures the noise; at least {sample_size.FRESH_MIN} "
        f"fresh blocks follow, which alone are judged{within}"
    )


def said(plan: Plan, sizing: Sizing, left: float | None = None) -> Iterator[str]:
    """What the pilot came to, in lines for the person who watches; `left`: of minutes_max."""
    yield (
        f"the pilot asks for {sizing.fresh} fresh blocks, about {duration(60 * sizing.minutes)}; "
        f"to be found: {100 * plan.aims.effect:g} %"
    )
    if left is not None and sizing.minutes > left:
        yield (
            f"  that is more than `schedule.minutes_max` leaves, {duration(60 * left)}, but "
            f"{sample_size.FRESH_MIN} are the fewest"
        )
    width = max((len(one.step) for one in sizing.steps), default=0)
    yield from (f"  {one.step:<{width}}  {of_step(one)}" for one in sizing.steps)


def of_step(one: Sized) -> str:
    """How many fresh blocks a step gets, why, and what is promised of them."""
    if not one.sd:
        return f"{one.blocks} blocks; the pilot has too little of it to promise anything"
    noise = ", ".join(
        f"{metric.by_name(name).title} {100 * sd:.1f} %" for name, sd in one.sd.items()
    )
    fewer = "; it takes more than that" if one.capped else ""
    return (
        f"{one.blocks} blocks find it in {100 * one.power:.0f} % of cases{fewer} (noise: {noise})"
    )
