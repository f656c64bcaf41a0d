"""The loan of this host's earlier results to a plan with a single step: once, before block 1.

Nothing that is seen later changes it, so that it knows nothing of what it helps to judge.
"""

from __future__ import annotations

from collections.abc import Callable

from dbdyno.model import Step
from dbdyno.model.host_prior import IN_TURNS, Prior
from dbdyno.run.arm import Lab
from dbdyno.store import Results

Seek = Callable[[Results, Step], Prior | None]
"""The function that finds the loan of the results beside this one; judging is not done here."""


def settle(lab: Lab, seek: Seek) -> None:
    """Writes prior.json before the first block, where earlier results lend, and says so."""
    step = only_step(lab)
    if step is None or lab.results.blocks() or lab.results.prior() is not None:
        return
    if lab.plan.schedule.interleave != IN_TURNS:
        lab.watch.say(
            f"prior: earlier results lend nothing to `{step.name}`: without turns "
            '(interleave = "slice") dyno cannot tell how noisy the day is'
        )
        return
    found = seek(lab.results, step)
    if found is not None:
        lab.results.keep_prior(found)
        count = max(one.results for one in found.metrics.values())
        lab.watch.say(
            f"prior: {count} earlier comparisons of this host lend to the scatter of "
            f"`{step.name}`: {', '.join(found.folders)}"
        )


def only_step(lab: Lab) -> Step | None:
    """The step of a plan that judges one and no more; None of a calibration, which lends."""
    plan = lab.plan
    steps = [
        step
        for use in plan.workloads
        for step in lab.prepared.steps[use.title, plan.base]
        if step.headline is not None
    ]
    compares = len([arm for arm in plan.arms if arm.shown]) > 1
    alone = len(steps) == 1 and compares and plan.schedule.comparison is None
    return steps[0] if alone else None
