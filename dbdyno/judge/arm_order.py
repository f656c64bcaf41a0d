"""What the order of the arms could do to the log ratio of each block, for the test whether it did.

Where arms run one after the other an arm may gain by its place, and lose by what ran before it.
Turns within a step change places too often for a block to tell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbdyno.judge import arms_and_blocks
from dbdyno.judge.arms_and_blocks import Arms
from dbdyno.judge.pairing import PairedRuns
from dbdyno.judge.step_cells import StepRow
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.verdict import Order
from dbdyno.store import BlockFolder

Run = tuple[int, str, str]
"""A block's number, a workload, an arm."""
Predecessors = Mapping[Run, str]
"""The arm that ran before on the same host; the base for a hidden A/A arm."""


def with_orders(
    rows: Sequence[StepRow], blocks: Sequence[BlockFolder], arms: Arms, plan: PlanRecord
) -> tuple[StepRow, ...]:
    """The rows with the patterns of each arm beside the base, where arms take whole runs."""
    if plan.schedule.interleave != "run":
        return tuple(rows)
    before = predecessors(blocks, arms, plan)
    return tuple(
        replace(
            row,
            faced={
                arm: replace(faced, patterns=_patterns(faced, before, arms.base))
                for arm, faced in row.faced.items()
            },
        )
        for row in rows
    )


def predecessors(blocks: Sequence[BlockFolder], arms: Arms, plan: PlanRecord) -> dict[Run, str]:
    """Who ran before whom, also from block to block, as the blocks began on each host."""
    before: dict[Run, str] = {}
    last: dict[str | None, str] = {}

    def begun(block: BlockFolder) -> tuple[int, int]:
        return block.begun_unix_ns or 0, block.number

    for block in sorted(blocks, key=begun):
        for workload, order in arms_and_blocks.passes(block, plan):
            for arm in order:
                if block.host in last:
                    before[block.number, workload, arm] = last[block.host]
                last[block.host] = arms.base if arm in arms.hidden_aa_arms else arm
    return before


def _patterns(
    faced: PairedRuns, before: Predecessors, name: str
) -> dict[Order, Mapping[int, float]]:
    """What each block's log ratio would gain by the order of its runs, by the kind of the effect.

    `place`: 0.5 where the arm ran later than the base, else -0.5. `predecessor`: 0.5 for each of
    the two that ran after the other, and -0.5 for each that ran after itself.
    """
    place: dict[int, float] = {}
    after: dict[int, float] = {}
    for run, bases in zip(faced.runs, faced.bases, strict=True):
        if not bases or run.position is None or bases[0].position is None:
            continue
        place[run.block] = 0.5 if run.position > bases[0].position else -0.5
        own, base_predecessor = (
            before.get((run.block, run.facts.workload, arm)) for arm in (run.arm, bases[0].arm)
        )
        other = (own == name) + (base_predecessor == run.arm)
        after[run.block] = (other - (own == run.arm) - (base_predecessor == name)) / 2
    return {"place": place, "predecessor": after}
