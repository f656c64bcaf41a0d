"""Which arms and blocks of a result are shown, and which of the blocks are judged.

A double of the base that is not shown is no arm of its own: it is the base once more. Blocks of a
pilot only fix how many fresh ones follow: what they say of the arms is never judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from dbdyno.model import Json
from dbdyno.model.error import ResultError
from dbdyno.model.looks import Judge
from dbdyno.model.verdict import Aims, Sizing
from dbdyno.store import BlockFolder, Results


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The arms of a result, by what they are to its comparison."""

    shown: tuple[str, ...]  # the base first
    doubles: tuple[str, ...]  # of the base, not shown: references beside it
    ghost: str | None  # a double of the base that is compared with it like any other arm
    planned: tuple[str, ...]  # all, in the plan's order

    @property
    def base(self) -> str:
        """The base's name."""
        return self.shown[0]


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """The complete blocks that are shown."""

    blocks: tuple[BlockFolder, ...]
    judged: bool  # False: they are a pilot's
    pilot: int | None  # how many blocks the pilot has; None where the plan has none, or not yet


def arms(plan: Json, base: str | None) -> Arms:
    """The arms, beside the plan's base or another; ResultError where it is none that is shown."""
    its = plan["arms"]
    names = [arm["name"] for arm in its if arm.get("shown", True)]
    first = base or plan["base"]
    if first not in names:
        raise ResultError(f"there is no arm `{first}` in this result; it has {', '.join(names)}")
    same = [arm["name"] for arm in its if arm.get("same_as") == first]
    return Arms(
        shown=(first, *(name for name in names if name != first)),
        doubles=tuple(name for name in same if name not in names),
        ghost=next((name for name in same if name in names), None),
        planned=tuple(arm["name"] for arm in its),
    )


def blocks(results: Results, sizing: Sizing | None) -> Blocks:
    """The complete blocks: the fresh ones where there are any, else those of the pilot."""
    done = [block for block in results.blocks() if block.state == "done"]
    if sizing is None:
        auto = _is_auto(results.plan)
        return Blocks(blocks=tuple(done), judged=not auto, pilot=None)
    fresh = [block for block in done if block.number > sizing.pilot]
    return Blocks(blocks=tuple(fresh or done), judged=bool(fresh), pilot=sizing.pilot)


def _is_auto(plan: Json) -> bool:
    return bool((plan.get("schedule") or {}).get("auto", False))


def blocks_each(plan: Json) -> int | None:
    """How many blocks are a comparison each; None: all are one."""
    found = (plan.get("schedule") or {}).get("comparison")
    return None if found is None else int(found)


def aims(plan: Json) -> Aims:
    """What the comparison is to tell apart; the defaults where the plan does not say it."""
    said = plan.get("verdict") or {}
    judge: Judge = said.get("judge", Aims.judge)
    names = [one.name for one in fields(Aims) if one.name in said and one.name != "judge"]
    return Aims(**{name: float(said[name]) for name in names}, judge=judge)


def orders(its: Iterable[BlockFolder]) -> dict[int, tuple[str, ...]]:
    """The arms of each block in the order they ran in; without a block whose order is lost."""
    return {block.number: block.arms() for block in its if block.damage() is None}


def incomplete(results: Results, its: Blocks, sizing: Sizing | None, needed: Arms) -> str | None:
    """How much of the plan is done, in words; None where all of it is."""
    everything = results.blocks()
    done = [one for one in everything if one.state == "done" and _has_all(one, needed)]
    broken = [one.name for one in everything if one.state == "broken"]
    text = _missing(done, its, sizing, results.plan)
    return f"{text}, {', '.join(broken)} begun and not ended" if text and broken else text


def _has_all(block: BlockFolder, needed: Arms) -> bool:
    return set(needed.planned) <= set(block.arms())


def _missing(
    done: Sequence[BlockFolder], its: Blocks, sizing: Sizing | None, plan: Json
) -> str | None:
    if sizing is not None:
        fresh = sum(block.number > sizing.pilot for block in done)
        if fresh >= sizing.fresh:
            return None
        text = f"{fresh} of {sizing.fresh} fresh blocks done"
        return text if its.judged else f"{text}; shown is the pilot, which is not judged"
    planned = int(plan["blocks"])
    if not its.judged:
        return f"{len(done)} of {planned} blocks of the pilot done, which is not judged"
    return None if len(done) >= planned else f"{len(done)} of {planned} blocks done"
