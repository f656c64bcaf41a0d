"""A trial before a plan's first block: each step runs for a second on every arm.

A step that fails on all arms ends the plan: its statements are at fault, and no arm is. So does an
arm without a server, or without data, as no block would change that. Nothing of a trial is judged;
its files lie in a folder that is gone afterwards. What it fills is kept, so that all blocks begin
from golden copies. Dumps are restored so in any plan.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from dbdyno.model import Observation, Plan, Step, WorkloadUse
from dbdyno.model.error import ServerError, WorkloadError
from dbdyno.model.step_files import StepFailure
from dbdyno.plan import schedule
from dbdyno.run import refusal, site
from dbdyno.run.arm import copy_leg
from dbdyno.run.check.plan_record import plan_json
from dbdyno.run.lab import Lab, Servers
from dbdyno.run.progress import RUN_OVERHEAD_S, Forecast, Leg, Watch
from dbdyno.run.ready_plan import ReadyPlan, StepsOf
from dbdyno.run.step import Load
from dbdyno.store import Results
from dbdyno.store.file import read_struct_if_there

SECONDS = 1.0
NO_TABLE = re.compile(r"\(SQLSTATE 42(?:P01|S02)\)|\(error 1146\b")
"""PostgreSQL's and MySQL's words for a table that is not there."""


def is_due(plan: Plan, prepared: ReadyPlan, *, begun: bool) -> bool:
    """Whether a plan has a trial still before it, or dumps that are not restored."""
    missing = (
        points[0].key not in prepared.copies
        for use in plan.workloads
        if use.restore is not None
        for points in prepared.points[use.title].values()
    )
    return (plan.schedule.trial and not begun) or any(missing)


def go(plan: Plan, prepared: ReadyPlan, watch: Watch, servers: Servers) -> None:
    """Takes every arm through the plan's steps. Raises WorkloadError where all fail in one.

    Without a `trial` only through those that restore a dump. Raises ServerError where an arm has
    no server, or no data.
    """
    timed = plan.schedule.trial
    steps = {
        use.title: {
            arm: tuple(tried(of_arm, prepared.kept_through(use, arm), timed=timed))
            for arm, of_arm in prepared.steps[use.title].items()
        }
        for use in plan.workloads
        if (can_be_tried(plan, use, prepared) if timed else use.restore is not None)
    }
    plan = replace(
        plan,
        workloads=tuple(use for use in plan.workloads if use.title in steps),
        schedule=replace(
            plan.schedule, interleave="step" if plan.schedule.together else "run", rest_s=0.0
        ),
        observe=Observation(),
        hooks=tuple(hook for hook in plan.hooks if hook.when != "during-step"),
    )
    block = schedule.block(plan, 1)
    with tempfile.TemporaryDirectory(prefix="dyno-trial-") as scratch:
        lab = Lab(
            plan=plan,
            prepared=replace(prepared, steps=steps),
            results=Results.open_or_create(Path(scratch), plan, plan_json(plan, prepared)),
            watch=watch,
            servers=servers,
            load=Load,  # counters and state are read beside no load of this kind
            part="trial" if timed else "data",
        )
        lab.results.begin_block(block)
        watch.again(list(legs(plan, prepared, steps)))
        site.measured(lab, block, schedule.passes(plan, block))
        (tried_block,) = lab.results.blocks()
        if refused := refusal.refused(tried_block):
            raise ServerError("\n".join(refusal.said(refused)))
        for use in plan.workloads:
            refuse_failed(lab, steps[use.title])
    watch.forecast = Forecast([])  # a second foretells nothing of a whole step


def legs(plan: Plan, prepared: ReadyPlan, steps: StepsOf) -> Iterator[Leg]:
    """The way of a trial, as if no copy were there."""
    for use in plan.workloads:
        for arm, of_arm in steps[use.title].items():
            yield Leg(use.title, "", RUN_OVERHEAD_S)
            yield from (Leg(use.title, step.name, step.expected_s) for step in of_arm)
            if (at := prepared.point(use, arm, 1)) is not None:
                yield copy_leg(at, prepared)


def can_be_tried(plan: Plan, use: WorkloadUse, prepared: ReadyPlan) -> bool:
    """Whether a workload's steps can run for a second, and whatever they write is thrown away.

    Without a state that is kept no step may be an amount of work, which later ones need whole.
    """
    steps = prepared.steps[use.title][plan.base]
    if prepared.kept_through(use, plan.base):
        return True
    elsewhere = any(arm.dsn is not None for arm in plan.arms)
    return all(is_timed(step) and not (elsewhere and step.writes) for step in steps)


def tried(steps: Sequence[Step], kept_through: int, *, timed: bool) -> Iterator[Step]:
    """The steps of a trial: whole up to a kept state, then those that a second is enough for.

    `timed`: whether there are any of these.
    """
    yield from (step for step in steps if step.ordinal <= kept_through)
    later = [step for step in steps if step.ordinal > kept_through and timed]
    for step in takewhile(lambda step: is_timed(step) or not step.writes, later):
        if is_timed(step):
            yield short(step)


def is_timed(step: Step) -> bool:
    """Whether a step lasts for a time, and not for an amount of work."""
    return bool(step.job.stop.seconds)


def short(step: Step) -> Step:
    """The step's load for a second, with nothing around it."""
    return replace(step.alone(SECONDS), goes_on=True)


def refuse_failed(lab: Lab, steps: dict[str, tuple[Step, ...]]) -> None:
    """Raises WorkloadError where a step has failed on all arms, with the base's reason."""
    for step in steps[lab.plan.base]:
        failures = {
            arm: read_struct_if_there(
                lab.results.step_folder(1, arm, step) / "failed.json", StepFailure
            )
            for arm in steps
        }
        base = failures[lab.plan.base]
        if base is not None and all(failures.values()):
            raise WorkloadError(said(base.reason or "", step.name))


def said(reason: str, step: str) -> str:
    """The failure of all arms in a step, and what to do about it; a server says that itself."""
    if reason.startswith("arm "):
        return reason
    remedy = "mend the statement, or leave the step out"
    if NO_TABLE.search(reason):
        remedy = (
            "name a workload file that makes the table (docs/workload.md), or servers that have "
            "it (--dsn)"
        )
    return f"{reason}, in step `{step}` on all arms: {remedy}"
