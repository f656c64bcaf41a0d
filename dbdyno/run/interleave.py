"""All arms of a block up at once: each through its prelude, then step by step in turn.

The prelude is every step up to the last one that writes; the rest only read, so that an arm which
waits has nothing to write back and does not disturb the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from dbdyno.host import quiesce
from dbdyno.model import Json, Plan, Step, WorkloadUse
from dbdyno.model.error import ServerError
from dbdyno.model.job import SETTLE_NS
from dbdyno.plan import schedule
from dbdyno.run import slices
from dbdyno.run.arm import Run
from dbdyno.run.measurement import Measurement
from dbdyno.run.progress import Leg
from dbdyno.run.slices import Player

REST_EXPECTED_S = 3.0
"""A guess for the progress bar: the checkpoints, the sync and the wait before the first turn."""


def go(runs: Sequence[Run]) -> int:
    """Takes the arms through one workload; returns how many steps failed or were skipped."""
    with ExitStack() as stack:
        rest: Sequence[Step] = ()
        for run in runs:
            stack.enter_context(run)
            # A copy may stand for the prelude; the steps in turn are the same for all arms.
            prelude, rest = schedule.parted(run.begin())
            for step in prelude:
                run.do(step)
        come_to_rest(runs)
        sliced = runs[0].lab.plan.schedule.interleave == "slice"
        for step in rest:
            (in_slices if sliced else in_turn)(runs, step)
        for run in runs:
            run.end()
    return sum(run.failed for run in runs)


def come_to_rest(runs: Sequence[Run]) -> None:
    """Writes out what the preludes left, on every arm, and waits until the device rests."""
    watch = runs[0].lab.watch
    watch.begin(f"{runs[0].of_block} all arms", rest_leg(runs[0].use))
    made = [run for run in runs if run.server.can("made")]
    servers = [run for run in made if run.able]
    for run in servers:
        try:
            run.server.checkpoint()
        except ServerError as error:
            run.broken = run.server.failure() or str(error)
    if servers:
        found = quiesce.quiet([runs[0].lab.prepared.data_path])
        for run in runs:
            run.bench = replace(run.bench, switch=found)
    watch.end("checkpoints made, at rest")


def in_turn(runs: Sequence[Run], step: Step) -> None:
    """Every arm takes the step, one after the other in an order drawn for it."""
    first = runs[0]
    by_name = {run.arm.name: run for run in runs}
    order = schedule.of_step(first.lab.plan, first.block.number, step)
    for name in order:
        run = by_name[name]
        run.bench = replace(run.bench, turns={"order": list(order)})
        run.do(step_of(run, step))


def in_slices(runs: Sequence[Run], step: Step) -> None:
    """The arms take the step in turns of some seconds; one that cannot is told so at once."""
    lab, use, number = runs[0].lab, runs[0].use, runs[0].block.number
    plan = lab.plan
    lab.watch.begin(f"{runs[0].of_block} {step.name} in turns", sliced_leg(plan, use, step))
    how: Json = {
        "order": list(schedule.of_round(plan, number, step, 1)),
        "slice_s": plan.schedule.slice_s,
    }
    ended = {run.arm.name: run.run_step(step_of(run, step)) for run in runs if not run.able}
    players = {run.arm.name: player(run, step_of(run, step), how) for run in runs if run.able}
    slices.play(
        list(players.values()),
        slice_s=plan.schedule.slice_s,
        order=partial(schedule.of_round, plan, number, step),
    )
    for run in runs:
        if run.arm.name in players:
            found = players[run.arm.name].found
            assert found is not None
            ended[run.arm.name] = run.ended(step_of(run, step), found)
    said = "; ".join(f"{run.arm.name} {ended[run.arm.name][1]}" for run in runs)
    lab.watch.end(said, alarm=not all(well for well, _ in ended.values()))


def player(run: Run, step: Step, how: Json) -> Player:
    """An arm that is to take turns in a step."""
    run.bench = replace(run.bench, turns=how)
    folder, bench = run.place(step)
    return Player(Measurement(step, bench, folder), run.lab.watch.rate)


def step_of(run: Run, step: Step) -> Step:
    """The same step with the job of the arm's own engine and version."""
    steps = run.lab.prepared.steps[run.use.name, run.arm.name]
    return next(one for one in steps if one.ordinal == step.ordinal)


def legs(plan: Plan, use: WorkloadUse, steps: Sequence[Step]) -> Iterator[Leg]:
    """The legs of one workload after the preludes, in the order in which `go` walks them."""
    yield rest_leg(use)
    for step in steps:
        if plan.schedule.interleave == "slice":
            yield sliced_leg(plan, use, step)
        else:
            yield from (Leg(use.name, step.name, step.expected_s) for _ in plan.arms)


def rest_leg(use: WorkloadUse) -> Leg:
    """The part of the way on which all arms come to rest."""
    return Leg(use.name, "", REST_EXPECTED_S)


def sliced_leg(plan: Plan, use: WorkloadUse, step: Step) -> Leg:
    """A step that all arms take in turns: their times, and what settles after each resumption."""
    lost_share = SETTLE_NS / slices.SECOND_NS / plan.schedule.slice_s
    expected_s = None if step.expected_s is None else step.expected_s * (1 + lost_share)
    return Leg(use.name, step.name, expected_s and expected_s * len(plan.arms))
