"""Fills the data that are counted with: natively, once for all arms that can go on with them.

Arms that cannot (18 beside 17) have several fills each, which repeats begin from by turns, so that
the scatter between fills is among what the repeats show.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from msgspec import structs

from dbdyno import engine
from dbdyno.host import count_scatter
from dbdyno.model import Arm, Block, Plan, Step, WorkloadUse
from dbdyno.model.error import ServerError
from dbdyno.model.host_facts import CountScatter, fills_key
from dbdyno.model.plan import fill_of
from dbdyno.plan import count as plans
from dbdyno.plan import counted_step
from dbdyno.run import blocks
from dbdyno.run.check import preflight
from dbdyno.run.lab import Lab
from dbdyno.run.ready_plan import ReadyPlan, StepsOf
from dbdyno.run.starting_state import StartingPoint
from dbdyno.run.step import Load
from dbdyno.stats.work import between_fills, together
from dbdyno.store import Results


def fills_of(plan: Plan, parent: Path) -> int:
    """How many fills an arm's data have: several where arms cannot share one. Raises DynoError.

    `parent`: the folder of the pass; a pass that was begun goes on with as many.
    """
    assert plan.count is not None
    if Results.begun_plan(parent / plans.FILL) is not None:
        return Results.open(parent / plans.FILL).plan.schedule.fills
    prepared = preflight.prepare(plans.filling(plan))
    alike = all(use.restore is not None and use.statistics == "same" for use in plan.workloads)
    shared = alike or all(
        points[0].key == of_arms[plan.base][0].key
        for of_arms in prepared.points.values()
        for points in of_arms.values()
    )
    return plan.count.fills_of(shared=shared)


def part_of(lab: Lab, plan: Plan, prepared: ReadyPlan, parent: Path) -> Lab:
    """The lab of a part of the pass, with a result folder of its own in `parent`."""
    host = blocks.host_facts(plan, prepared)
    family = engine.of(plan.arms[0].engine).traits.family
    host = structs.replace(host, counts=count_scatter.known(family, host))
    results = blocks.begun(parent, plan, prepared, host)
    return replace(
        lab, plan=plan, prepared=prepared, results=results, through=None, part=f"count {plan.name}"
    )


def fill(lab: Lab, parent: Path, fills: int) -> None:
    """Fills the arms' data where golden copies of them are missing, and finds the base's rates.

    Raises DynoError, LabDied.
    """
    plan = plans.filling(lab.plan, fills)
    prepared = preflight.prepare(plan, Results.begun_plan(parent / plan.name))
    arms = tuple(makers(plan, prepared))
    plan = replace(plan, arms=arms)
    part = part_of(lab, plan, replace(prepared, steps=steps_of(lab, plan, prepared, 1)), parent)
    part = replace(part, load=Load)  # counters and state are read beside no load of this kind
    for number in range(1, fills + 1):
        state = part.results.block_state(number)
        if not is_due(part, number):
            continue
        if state == "done":
            part.results.void_block(number, "the golden copies that it made are gone")
        missing = blocks.missing_blocks(plan, part.results)
        fit = replace(part.prepared, steps=steps_of(lab, plan, prepared, number))
        outcome = blocks.run_whole(replace(part, prepared=fit), of_number(missing, number))
        if outcome.failed:
            refuse_unfilled(part, number)


def of_number(missing: list[Block], number: int) -> list[Block]:
    """The block of a number among those that are missing."""
    return [block for block in missing if block.number == number]


def makers(plan: Plan, prepared: ReadyPlan) -> Iterator[Arm]:
    """The arms that make data: of those that share them the base, or the first."""
    base_first = sorted(plan.arms, key=lambda arm: arm.name != plan.base)
    made: dict[tuple[str, ...], str] = {}
    for arm in base_first:
        keys = tuple(points[arm.name][0].key for points in prepared.points.values())
        made.setdefault(keys, arm.name)
    yield from (arm for arm in plan.arms if arm.name in made.values())


def is_due(part: Lab, number: int) -> bool:
    """Whether a block of the filling plan is to be done: data, or the base's rates, are missing."""
    if any(point.key not in part.prepared.copies for point in points_of(part, number)):
        return True
    if number > 1 or part.results.block_state(number) == "done":
        return False
    return any(
        step.measured for arms in part.prepared.steps.values() for step in arms[part.plan.base]
    )


def points_of(part: Lab, number: int) -> Iterator[StartingPoint]:
    """What the makers of a filling plan keep in a block."""
    for of_arms in part.prepared.points.values():
        for arm in part.plan.arms:
            points = of_arms[arm.name]
            yield points[fill_of(number, len(points)) - 1]


def refuse_unfilled(part: Lab, number: int) -> None:
    """Raises ServerError where data of a block are still missing; a rate may be."""
    copies = preflight.with_copies(part.plan, part.prepared).copies
    if not all(point.key in copies for point in points_of(part, number)):
        words = "the data to count with could not be filled"
        raise ServerError(f"{part.results.folder}: {words}{why(part.results)}")


def why(results: Results) -> str:
    """The reason of the first step that failed, after a colon; nothing: none says one."""
    steps = (step for block in results.blocks() for run in block.runs() for step in run.steps())
    failures = (failure.reason for step in steps if (failure := step.failed()) is not None)
    return next((f": {reason}" for reason in failures if reason), "")


def steps_of(lab: Lab, plan: Plan, prepared: ReadyPlan, number: int) -> StepsOf:
    """The steps of a block of the filling plan; rates are found in the first."""
    return {
        use.title: {
            arm.name: to_fill(lab, prepared, use, arm.name, rated=number == 1) for arm in plan.arms
        }
        for use in plan.workloads
    }


def to_fill(
    lab: Lab, prepared: ReadyPlan, use: WorkloadUse, arm: str, *, rated: bool
) -> tuple[Step, ...]:
    """The steps up to the state that is kept; of the base also those whose rate is wanted."""
    assert lab.plan.count is not None
    steps, point = prepared.steps[use.title][arm], prepared.points[use.title][arm][0]
    wanted = rated and arm == lab.plan.base
    timed = counted_step.timed(point.after(steps), lab.plan.count) if wanted else ()
    return (*point.before(steps), *timed)


def rates(plan: Plan, parent: Path) -> dict[str, float]:
    """By step: how many operations a second the base did in the plan that filled its data."""
    if Results.begun_plan(parent / plans.FILL) is None:
        return {}
    rows = {}
    for block in Results.open(parent / plans.FILL).blocks():
        for run in block.runs():
            for folder in run.steps() if run.arm == plan.base else ():
                done = folder.done()
                if done is not None and done.counted is not None and done.window_ns:
                    rows[folder.step().name] = 1e9 * done.counted.operations / done.window_ns
    return rows


# --- What repeats show of fills -----------------------------------------------------------------


def learn(results: Results, family: str) -> None:
    """Keeps on this host how far the fills of a complete pass are apart. Raises HostError.

    Later counts of the same versions and steps have their intervals by it. A fill counts once,
    however many passes begin from its copy.
    """
    host = results.host()
    if host is None:
        return
    scatter = count_scatter.known(family, host) or CountScatter()
    pooled = dict(scatter.fills)
    for (key, _), by_fill in logs_by_fill(results).items():
        known = scatter.fills.get(key)
        new = {
            made: fmean(logs)
            for made, logs in by_fill.items()
            if known is None or made > known.newest_unix_ns
        }
        between = between_fills(list(new.values()))
        if between is not None:
            between = structs.replace(between, newest_unix_ns=max(new))
            pooled[key] = together(pooled.get(key), between)
    if pooled != scatter.fills:
        count_scatter.keep(family, structs.replace(scatter, fills=pooled), host)


def logs_by_fill(results: Results) -> dict[tuple[str, str], dict[int, list[float]]]:
    """By `fills_key` and arm: the log counts of each fill, by when that was made.

    Arms differ by more than their fills, so each arm's are compared with each other alone.
    """
    logs: dict[tuple[str, str], dict[int, list[float]]] = {}
    for block in results.blocks():
        for run in block.runs() if block.state == "done" else ():
            server, uses = run.server(), run.golden()
            version = "" if server is None else server.version or ""
            for folder in run.steps() if version else ():
                step, count = folder.step(), folder.count()
                if count is not None and (use := uses.get(step.workload)) is not None:
                    key = fills_key(version, (step.workload, step.name)), run.arm
                    of_fill = logs.setdefault(key, {}).setdefault(use.made_unix_ns, [])
                    of_fill.append(math.log(count.instructions))
    return logs
