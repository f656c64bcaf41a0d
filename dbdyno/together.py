"""All arms of a block up at once: each through its prelude, then step by step in turn.

The prelude is every step up to the last one that writes; the rest only read, so that an arm which
waits has nothing to write back and does not disturb the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from dbdyno import measure, schedule
from dbdyno.error import ServerError
from dbdyno.model import Plan, Step, WorkloadUse
from dbdyno.progress import Leg
from dbdyno.run import Run
from dbdyno.server import quiet

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
        for step in rest:
            in_turn(runs, step)
    return sum(run.failed for run in runs)


def come_to_rest(runs: Sequence[Run]) -> None:
    """Writes out what the preludes left, on every arm, and waits until the device rests."""
    watch = runs[0].lab.watch
    watch.begin(f"{runs[0].of_block} all arms", rest_leg(runs[0].use))
    servers = [run for run in runs if run.server.engine != "fake" and run.able]
    for run in servers:
        try:
            run.server.execute("CHECKPOINT", limit_s=measure.CHECKPOINT_S_MAX)
        except ServerError as error:
            run.broken = run.server.failure() or str(error)
    if servers:
        found = quiet.quiet([runs[0].lab.prepared.data_path])
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


def step_of(run: Run, step: Step) -> Step:
    """The same step with the job of the arm's own engine and version."""
    steps = run.lab.prepared.steps[run.use.name, run.arm.name]
    return next(one for one in steps if one.ordinal == step.ordinal)


def legs(plan: Plan, use: WorkloadUse, steps: Sequence[Step]) -> Iterator[Leg]:
    """The legs of one workload after the preludes, in the order in which `go` walks them."""
    yield rest_leg(use)
    for step in steps:
        for _ in plan.arms:
            yield Leg(use.name, step.name, step.expected_s)


def rest_leg(use: WorkloadUse) -> Leg:
    """The part of the way on which all arms come to rest."""
    return Leg(use.name, "", REST_EXPECTED_S)
