"""Which runs began with a golden copy, and what that means to the steps before it, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dbdyno.analysis.step.damaged_files import Damage
from dbdyno.analysis.wording import listed
from dbdyno.model import Json
from dbdyno.store import BlockFolder

Where = tuple[str, int, str]
"""Workload, block, arm."""
Kept = Mapping[Where, Json]
"""golden.json of each run that has one (docs/results.md)."""


@dataclass(frozen=True, kw_only=True)
class History:
    """How often an arm went through all steps of a workload, and how often it began with a copy."""

    step: str
    whole: tuple[int, ...]  # blocks
    copied: tuple[int, ...]
    made: str  # the copies' days, in words


def read(judged: Sequence[BlockFolder], lost: Damage) -> Kept:
    """golden.json of all runs of these blocks; what cannot be read is named in `lost`."""
    return {
        (workload, block.number, run.arm): content
        for block in judged
        for run in block.runs()
        for workload, content in (lost.usable(run.golden) or {}).items()
    }


def begins_after(kept: Kept, where: Where) -> int:
    """The ordinal of the last step that a run has not, as it began with a copy; 0: it has all."""
    content = kept.get(where)
    return int(content["step_ordinal"]) if content is not None and content["began"] else 0


def notes(kept: Kept) -> Iterable[str]:
    """Notes on the copies for readers, a line for each subject."""
    for workload in dict.fromkeys(workload for workload, _, _ in kept):
        its = {where: one for where, one in kept.items() if where[0] == workload}
        arms = list(dict.fromkeys(arm for _, _, arm in its))
        histories = {arm: history(its, arm) for arm in arms}
        for found in dict.fromkeys(histories.values()):
            of = [arm for arm in arms if histories[arm] == found]
            who = f" of {listed(of)}" if len(of) < len(arms) else ""
            if found.copied:
                yield f"golden copies: {words(found, who)}"
        yield from uneven(its)


def history(kept: Kept, arm: str) -> History:
    """An arm's runs of one workload."""
    its = {block: one for (_, block, name), one in kept.items() if name == arm}
    days = {
        datetime.fromtimestamp(one["made_unix_ns"] / 1e9, UTC).strftime("%Y-%m-%d")
        for one in its.values()
        if one["began"]
    }
    return History(
        step=next(iter(its.values()))["step"],
        whole=tuple(block for block, one in its.items() if not one["began"]),
        copied=tuple(block for block, one in its.items() if one["began"]),
        made=listed(sorted(days)),
    )


def words(found: History, who: str) -> str:
    """An arm's history in a sentence."""
    blocks = f"block{'s' * (len(found.copied) > 1)} {listed(found.copied)}"
    if not found.whole:
        return (
            f"no step up to {found.step}{who} ran; {blocks} began with a copy of {found.made}, "
            "which an earlier plan made"
        )
    whole = f"block{'s' * (len(found.whole) > 1)} {listed(found.whole)}"
    return (
        f"steps up to {found.step}{who} ran only in {whole}; {blocks} began with a copy of the "
        "state after them"
    )


def uneven(kept: Kept) -> Iterable[str]:
    """Blocks in which one arm began with a copy and another went through all steps."""
    for block in sorted({block for _, block, _ in kept}):
        its = {arm: one["began"] for (_, number, arm), one in kept.items() if number == block}
        copied = [arm for arm, began in its.items() if began]
        whole = [arm for arm, began in its.items() if not began]
        if copied and whole:
            yield (
                f"begun unlike: in block {block} {listed(copied)} began with a copy made before, "
                f"{listed(whole)} went through all steps"
            )
