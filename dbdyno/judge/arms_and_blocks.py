"""Which arms and blocks of a result are shown, and how much of the plan is done.

An A/A arm that is not shown is no arm of its own: it is the base once more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbdyno.model import StepComparison
from dbdyno.model.error import ResultError
from dbdyno.model.looks import LookProgress
from dbdyno.model.open_steps import open_steps
from dbdyno.model.plan_record import PlanRecord
from dbdyno.store import BlockFolder, Results


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The arms of a result, by what they are to its comparison."""

    shown: tuple[str, ...]  # the base first
    hidden_aa_arms: tuple[str, ...]  # not shown: references beside the base
    aa_arm: str | None  # shown, compared with the base like any other arm
    planned: tuple[str, ...]  # all, in the plan's order

    @property
    def base(self) -> str:
        """The base's name."""
        return self.shown[0]


def arms(plan: PlanRecord, base: str | None) -> Arms:
    """The arms, beside the plan's base or another; ResultError where it is none that is shown."""
    names = [arm.name for arm in plan.arms if arm.shown]
    first = base or plan.base
    if first not in names:
        raise ResultError(f"there is no arm `{first}` in this result; it has {', '.join(names)}")
    same = [arm.name for arm in plan.arms if arm.same_as == first]
    return Arms(
        shown=(first, *(name for name in names if name != first)),
        hidden_aa_arms=tuple(name for name in same if name not in names),
        aa_arm=next((name for name in same if name in names), None),
        planned=tuple(arm.name for arm in plan.arms),
    )


def blocks(results: Results) -> tuple[BlockFolder, ...]:
    """The complete blocks."""
    return tuple(block for block in results.blocks() if block.state == "done")


def orders(
    blocks: Iterable[BlockFolder], plan: PlanRecord
) -> dict[tuple[int, str], tuple[str, ...]]:
    """By block and workload the arms in the order they ran in; without those that are lost."""
    return {
        (block.number, workload): order
        for block in blocks
        if block.damage() is None
        for workload, order in passes(block, plan)
    }


def passes(block: BlockFolder, plan: PlanRecord) -> list[tuple[str, tuple[str, ...]]]:
    """The workloads as a block went through them, each with its order of the arms."""
    passes = list(block.passes().items())
    return passes or [(use.folder, block.arms()) for use in plan.workloads]


def incomplete(
    results: Results, needed: Arms, looked: LookProgress | None, steps: Sequence[StepComparison]
) -> str | None:
    """How much of the plan is done, in words; None where all of it is.

    `found`: the steps as they are judged, of those that further blocks would have.
    """
    blocks, arms = results.blocks(), set(needed.planned)
    done = [block for block in blocks if block.state == "done" and arms <= set(block.arms())]
    broken = [block.name for block in blocks if block.state == "broken"]
    text = _missing(len(done), looked, steps, results.plan)
    return f"{text}, {', '.join(broken)} begun and not finished" if text and broken else text


def _missing(
    done: int, looked: LookProgress | None, steps: Sequence[StepComparison], plan: PlanRecord
) -> str | None:
    planned = plan.blocks
    if plan.counts_only:
        return None
    if not plan.schedule.until_decided:
        return None if done >= planned else f"{done} of {planned} blocks done"
    # Where the time was over there is no look to come; one beyond the plan's blocks is none of it.
    coming = None if looked is None else looked.coming
    if looked is not None and (coming is None or coming.blocks > planned):
        return None
    if looked is not None and looked.taken and not open_steps(steps):
        return None
    after = "" if coming is None else f", the next look is after {coming.blocks}"
    return f"{done} block{'s' * (done != 1)} done{after}"
