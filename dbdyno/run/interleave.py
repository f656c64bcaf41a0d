"""All arms of a block up at once: each through its prelude, then step by step in turn.

The prelude is every step up to the last one that writes; the rest only read, so that an arm which
waits has nothing to write back and does not disturb the others. A plan may have steps that write
take turns, too: then what they leave is written back in everybody's turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TypeVar

from dbdyno.host import core_sets, quiesce
from dbdyno.model import Plan, Step, WorkloadUse
from dbdyno.model.error import ServerError
from dbdyno.model.job import settling_s
from dbdyno.model.step_files import Turns
from dbdyno.plan import schedule
from dbdyno.run import duet, profile, turns
from dbdyno.run.arm import Run
from dbdyno.run.duet import Partner
from dbdyno.run.measurement import Measurement
from dbdyno.run.progress import Leg
from dbdyno.run.turns import Player

OnePlayer = TypeVar("OnePlayer", bound=Player)

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
        way = WAYS[runs[0].lab.plan.schedule.interleave]
        for step in rest:
            way(runs, step)
            for run in runs:
                if run.able:
                    run.profile(step_of(run, step))
        for run in runs:
            run.end()


def come_to_rest(runs: Sequence[Run]) -> None:
    """Writes out what the preludes left, on every arm, and waits until the device rests."""
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
    """The arms take the step in turns of some seconds."""
    plan, number = runs[0].lab.plan, runs[0].block.number
    order = partial(schedule.of_turn, plan, number, step)
    how = Turns(order=order(1), turn_s=plan.schedule.turn_s)
    leg = turns_leg(plan, runs[0].use, step)
    played = partial(turns.play, turn_s=plan.schedule.turn_s, order=order)
    taken([(run, step_of(run, step)) for run in runs], how, leg, of=Player, play=played)


def in_duet(runs: Sequence[Run], step: Step) -> None:
    """Both arms take the step at once; in some blocks each then takes a part of it alone."""
    first = runs[0]
    order = schedule.of_step(first.lab.plan, first.block.number, step)
    how = Turns(order=order)
    # Which arm begins on which cores is drawn as an order is.
    both = [(run, step_of(run, step)) for name in order for run in runs if run.arm.name == name]
    played = partial(duet.play, sets=core_sets.halves(core_sets.here()))
    leg = Leg(first.use.title, step.name, step.expected_s)
    taken(both, how, leg, of=Partner, play=played)
    for run, of_run in both if duet.has_solos(first.block.number) else ():
        alone = duet.solo(of_run)
        leg = Leg(run.use.title, alone.name, alone.expected_s)
        taken([(run, alone)], how, leg, of=Partner, play=played)


def taken(
    who: Sequence[tuple[Run, Step]],
    how: Turns,
    leg: Leg,
    *,
    of: type[OnePlayer],
    play: Callable[[Sequence[OnePlayer]], None],
) -> None:
    """Has these runs take a step by `play`; one that cannot is told so at once."""
    watch = who[0][0].lab.watch
    watch.begin(f"{who[0][0].of_block} {leg.step}", leg)
    ended = {run.arm.name: run.run_step(step) for run, step in who if not run.able}
    players = {run.arm.name: player(run, step, how, of) for run, step in who if run.able}
    play(list(players.values()))
    for run, step in who:
        if run.arm.name in players:
            ending = players[run.arm.name].found
            assert ending is not None
            ended[run.arm.name] = run.ended(step, ending)
    said = "; ".join(f"{run.arm.name} {ended[run.arm.name][1]}" for run, _ in who)
    watch.end(said, alarm=not all(well for well, _ in ended.values()))


def player(run: Run, step: Step, how: Turns, of: type[OnePlayer]) -> OnePlayer:
    """An arm that shares a step with others."""
    run.bench = replace(run.bench, turns=how)
    folder, bench = run.place(step)
    if how.turn_s is not None:
        step = replace(step, job=step.job.in_turns(how.turn_s))
    return of(Measurement(step, bench, folder), run.lab.watch.rate)


def step_of(run: Run, step: Step) -> Step:
    """The same step with the job of the arm's own engine and version."""
    steps = run.lab.prepared.steps[run.use.title][run.arm.name]
    return next(own for own in steps if own.ordinal == step.ordinal)


def legs(plan: Plan, use: WorkloadUse, steps: Sequence[Step], number: int) -> Iterator[Leg]:
    """The legs of a workload after the preludes in block `number`, as `go` walks them."""
    yield rest_leg(use)
    for step in steps:
        yield from step_legs(plan, use, step, number)
        yield from profile.legs(plan, use, step) * len(plan.arms)


def step_legs(plan: Plan, use: WorkloadUse, step: Step, number: int) -> Iterator[Leg]:
    """The legs of a step that all arms take in turn, without its profiles."""
    if plan.schedule.interleave == "turn":
        yield turns_leg(plan, use, step)
    elif plan.schedule.interleave == "duet":
        yield Leg(use.title, step.name, step.expected_s)
        if duet.has_solos(number):
            alone = duet.solo(step)
            yield from (Leg(use.title, alone.name, alone.expected_s) for _ in plan.arms)
    else:
        yield from (Leg(use.title, step.name, step.expected_s) for _ in plan.arms)


def rest_leg(use: WorkloadUse) -> Leg:
    """The part of the way on which all arms come to rest."""
    return Leg(use.title, "", REST_EXPECTED_S)


def turns_leg(plan: Plan, use: WorkloadUse, step: Step) -> Leg:
    """A step that all arms take in turns: their times, and what settles after each resumption."""
    turn_s = plan.schedule.turn_s
    lost_share = settling_s(turn_s) / turn_s
    expected_s = None if step.expected_s is None else step.expected_s * (1 + lost_share)
    return Leg(use.title, step.name, expected_s and expected_s * len(plan.arms))


WAYS: Mapping[str, Callable[[Sequence[Run], Step], None]] = {
    "step": by_step,
    "turn": by_turn,
    "duet": in_duet,
}
"""How the arms take a step, by the plan's `interleave`."""
