"""All arms of a block up at once: each through its prelude, then step by step in turn.

The prelude is every step up to the last one that writes; the rest only read, so that an arm which
waits has nothing to write back and does not disturb the others. A plan may have steps that write
take turns, too: then what they leave is written back in everybody's turns.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from dbdyno.host import quiesce
from dbdyno.model import Plan, Step, WorkloadUse
from dbdyno.model.error import ServerError
from dbdyno.model.job import settling_s
from dbdyno.model.step_files import Turns
from dbdyno.plan import schedule
from dbdyno.run import inquiries, profile, turns
from dbdyno.run.arm import Run
from dbdyno.run.measurement import Measurement
from dbdyno.run.progress import Leg
from dbdyno.run.turns import Player

REST_EXPECTED_S = 3.0
"""A guess for the progress bar: the checkpoints, the sync and the wait before the first turn."""


def go(runs: Sequence[Run]) -> None:
    """Takes the arms through one workload."""
    with ExitStack() as stack:
        rest: Sequence[Step] = ()
        for run in runs:
            stack.enter_context(run)
            # A copy may stand for the prelude; the steps in turn are the same for all arms.
            prelude, rest = schedule.in_turn(run.lab.plan, run.use, run.begin())
            for step in prelude:
                run.do(step)
        come_to_rest(runs)
        inquiries.go(runs, rest)
        way = by_turn if runs[0].lab.plan.schedule.interleave == "turn" else by_step
        for step in rest:
            way(runs, step)
            for run in runs:
                if run.able:
                    run.profile(step_of(run, step))
        for run in runs:
            run.end()


def come_to_rest(runs: Sequence[Run]) -> None:
    """Writes out what the preludes left, on every arm, and waits until the device rests."""
    if all(run.restarted for run in runs):
        return
    watch = runs[0].lab.watch
    watch.begin(f"{runs[0].of_block} all arms", rest_leg(runs[0].use))
    able = [run for run in runs if run.server.made is not None and run.able]
    for run in able:
        try:
            if run.server.client is not None:
                run.server.client.checkpoint(run.server.execute)
        except ServerError as error:
            run.broken = run.server.failure() or str(error)
    if able:
        rest = quiesce.quiet([runs[0].lab.prepared.data_path])
        for run in runs:
            run.bench = replace(run.bench, switch=rest)
    watch.end("checkpoints made, at rest")


def by_step(runs: Sequence[Run], step: Step) -> None:
    """Every arm takes the step, one after the other in an order drawn for it."""
    first = runs[0]
    by_name = {run.arm.name: run for run in runs}
    order = schedule.of_step(first.lab.plan, first.block.number, step)
    for name in order:
        run = by_name[name]
        run.bench = replace(run.bench, turns=Turns(order=order))
        run.do(step_of(run, step))


def by_turn(runs: Sequence[Run], step: Step) -> None:
    """The arms take the step in turns of some seconds; an arm that cannot is told so at once."""
    first, plan = runs[0], runs[0].lab.plan
    order = partial(schedule.of_turn, plan, first.block.number, step)
    turn_s = schedule.turn_s(plan, step)
    how = Turns(order=order(1), turn_s=turn_s)
    watch, leg = first.lab.watch, turns_leg(plan, first.use, step)
    watch.begin(f"{first.of_block} {leg.step}", leg)
    ended = {run.arm.name: run.run_step(step_of(run, step)) for run in runs if not run.able}
    players = {run.arm.name: player(run, step_of(run, step), how) for run in runs if run.able}
    turns.play(list(players.values()), turn_s=turn_s, order=order)
    for run in runs:
        if run.arm.name in players:
            ending = players[run.arm.name].found
            assert ending is not None
            ended[run.arm.name] = run.ended(step_of(run, step), ending)
    said = "; ".join(f"{run.arm.name} {ended[run.arm.name][1]}" for run in runs)
    watch.end(said, alarm=not all(well for well, _ in ended.values()))


def player(run: Run, step: Step, how: Turns) -> Player:
    """An arm that takes a step in turns with others."""
    assert how.turn_s is not None, "turns have a length"
    run.bench = replace(run.bench, turns=how)
    folder, bench = run.place(step)
    step = replace(step, job=step.job.in_turns(how.turn_s))
    return Player(Measurement(step, bench, folder), run.lab.watch.rate)


def step_of(run: Run, step: Step) -> Step:
    """The same step with the job of the arm's own engine and version."""
    steps = run.lab.prepared.steps[run.use.title][run.arm.name]
    return next(own for own in steps if own.ordinal == step.ordinal)


def legs(plan: Plan, use: WorkloadUse, steps: Sequence[Step], number: int) -> Iterator[Leg]:
    """The legs of a workload's steps in turn in block `number`, as `go` walks them."""
    for step in steps:
        yield from step_legs(plan, use, step, number)
        yield from profile.legs(plan, use, step) * len(plan.arms)


def step_legs(plan: Plan, use: WorkloadUse, step: Step, number: int) -> Iterator[Leg]:
    """The legs of a step that all arms take in turn, without its profiles."""
    if plan.schedule.interleave == "turn":
        yield turns_leg(plan, use, step)
    else:
        yield from (Leg(use.title, step.name, step.expected_s) for _ in plan.arms)


def rest_leg(use: WorkloadUse) -> Leg:
    """The part of the way on which all arms come to rest."""
    return Leg(use.title, "", REST_EXPECTED_S)


def turns_leg(plan: Plan, use: WorkloadUse, step: Step) -> Leg:
    """A step that all arms take in turns: their times, and what settles after each resumption."""
    turn_s = schedule.turn_s(plan, step)
    lost_share = settling_s(turn_s) / turn_s
    expected_s = None if step.expected_s is None else step.expected_s * (1 + lost_share)
    return Leg(use.title, step.name, expected_s and expected_s * len(plan.arms))
