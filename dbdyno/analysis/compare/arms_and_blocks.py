"""Which arms and blocks of a result are shown, and how much of the plan is done.

An A/A arm that is not shown is no arm of its own: it is the base once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from dbdyno.model import Json, StepComparison
from dbdyno.model.error import ResultError
from dbdyno.model.looks import Judge, Looked
from dbdyno.model.open_steps import open_steps
from dbdyno.model.verdict import Aims
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


def arms(plan: Json, base: str | None) -> Arms:
    """The arms, beside the plan's base or another; ResultError where it is none that is shown."""
    arms = plan["arms"]
    names = [arm["name"] for arm in arms if arm.get("shown", True)]
    first = base or plan["base"]
    if first not in names:
        raise ResultError(f"there is no arm `{first}` in this result; it has {', '.join(names)}")
    same = [arm["name"] for arm in arms if arm.get("same_as") == first]
    return Arms(
        shown=(first, *(name for name in names if name != first)),
        hidden_aa_arms=tuple(name for name in same if name not in names),
        aa_arm=next((name for name in same if name in names), None),
        planned=tuple(arm["name"] for arm in arms),
    )


def blocks(results: Results) -> tuple[BlockFolder, ...]:
    """The complete blocks."""
    return tuple(block for block in results.blocks() if block.state == "done")


def blocks_each(plan: Json) -> int | None:
    """How many blocks are a comparison each; None: all are one."""
    comparison = (plan.get("schedule") or {}).get("comparison")
    return None if comparison is None else int(comparison)


def aims(plan: Json) -> Aims:
    """The aims of the comparison: the plan's, or the defaults."""
    said = plan.get("verdict") or {}
    judge: Judge = said.get("judge", Aims.judge)
    names = [field.name for field in fields(Aims) if field.name in said and field.name != "judge"]
    return Aims(**{name: float(said[name]) for name in names}, judge=judge)


def orders(blocks: Iterable[BlockFolder], plan: Json) -> dict[tuple[int, str], tuple[str, ...]]:
    """By block and workload the arms in the order they ran in; without those that are lost."""
    return {
        (block.number, workload): order
        for block in blocks
        if block.damage() is None
        for workload, order in passes(block, plan)
    }


def passes(block: BlockFolder, plan: Json) -> list[tuple[str, tuple[str, ...]]]:
    """The workloads as a block went through them, each with its order of the arms."""
    names = [use.get("folder", use["name"]) for use in plan.get("workloads", [])]
    return list(block.passes().items()) or [(name, block.arms()) for name in names]


def incomplete(
    results: Results, needed: Arms, looked: Looked | None, steps: Sequence[StepComparison]
) -> str | None:
    """How much of the plan is done, in words; None where all of it is.

    `found`: the steps as they are judged, of those that further blocks would have.
    """
    everything = results.blocks()
    done = [block for block in everything if block.state == "done" and _has_all(block, needed)]
    broken = [block.name for block in everything if block.state == "broken"]
    text = _missing(len(done), looked, steps, results.plan)
    return f"{text}, {', '.join(broken)} begun and not finished" if text and broken else text


def _has_all(block: BlockFolder, needed: Arms) -> bool:
    return set(needed.planned) <= set(block.arms())


def _missing(
    done: int, looked: Looked | None, steps: Sequence[StepComparison], plan: Json
) -> str | None:
    planned, schedule = int(plan["blocks"]), plan.get("schedule") or {}
    if not schedule.get("until_decided", schedule.get("auto", False)):
        return None if done >= planned else f"{done} of {planned} blocks done"
    # Where the time was over there is no look to come; one beyond the plan's blocks is none of it.
    coming = None if looked is None else looked.coming
    if looked is not None and (coming is None or coming.blocks > planned):
        return None
    if looked is not None and looked.taken and not open_steps(steps):
        return None
    after = "" if coming is None else f", the next look is after {coming.blocks}"
    return f"{done} block{'s' * (done != 1)} done{after}"
