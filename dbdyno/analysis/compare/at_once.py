"""Steps of older results that both arms took at once, each on cores of its own (a duet).

Each arm changed what the other one did, by how much their turns alone told; nothing here asks that.
So figures of the whole window stand without a word, and the turns alone are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.analysis.compare.arm_vs_base import Where
from dbdyno.analysis.compare.step_cells import Row
from dbdyno.model import StepRun
from dbdyno.model.plan_record import PlanRecord

TEXT = "an estimate: both arms ran at once (a duet), which this version of dyno does not judge"


def withheld(rows: Sequence[Row], derived: Iterable[StepRun], plan: PlanRecord) -> tuple[Row, ...]:
    """The rows; without a word where both arms took the step at once.

    `derived`: the runs, of which those have a place in an order that were not of the prelude.
    """
    if plan.schedule.interleave != "duet":
        return tuple(rows)
    at_once = {Where.of(run) for run in derived if run.position is not None}
    return tuple(
        replace(
            row,
            faced={
                arm: replace(faced, said=TEXT, withheld=True) for arm, faced in row.faced.items()
            },
        )
        if row.where in at_once
        else row
        for row in rows
    )
