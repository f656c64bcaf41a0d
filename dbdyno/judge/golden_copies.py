"""Which runs began with a golden copy, and what that means to the steps before it, in words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dbdyno.evidence.damaged_files import Damage
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.golden import GoldenUse
from dbdyno.parts.number import listed, of_blocks
from dbdyno.store import BlockFolder

Where = tuple[str, int, str]
"""Workload, block, arm."""
Kept = Mapping[Where, GoldenUse]
"""golden.json of each run that has one (docs/results.md)."""


@dataclass(frozen=True, kw_only=True)
class CopyUse:
    """How often an arm went through all steps of a workload, and how often it began with a copy."""

    step: str
    whole: tuple[int, ...]  # blocks
    copied: tuple[int, ...]
    made: str  # the copies' days, in words


def read(judged: Sequence[BlockFolder], lost: Damage) -> Kept:
    """golden.json of all runs of these blocks; what cannot be read is named in `lost`."""
    return {
        (workload, block.number, run.arm): use
        for block in judged
        for run in block.runs()
        for workload, use in (lost.usable(run.golden) or {}).items()
    }


def begins_after(kept: Kept, where: Where) -> int:
    """The ordinal of the last step that a run has not, as it began with a copy; 0: it has all."""
    use = kept.get(where)
    return use.step_ordinal if use is not None and use.began else 0


def doubts(kept: Kept) -> Iterable[Doubt]:
    """What the copies mean to the steps before them, and where arms of a block began unlike."""
    for workload in dict.fromkeys(workload for workload, _, _ in kept):
        runs = {where: use for where, use in kept.items() if where[0] == workload}
        arms = list(dict.fromkeys(arm for _, _, arm in runs))
        histories = {arm: history(runs, arm) for arm in arms}
        for past in dict.fromkeys(histories.values()):
            alike = [arm for arm in arms if histories[arm] == past]
            who = f" of {listed(alike)}" if len(alike) < len(arms) else ""
            if past.copied:
                for block in past.copied:
                    yield DoubtSubject.GOLDEN.doubt(
                        words(past, who), workload=workload, block=block
                    )
        yield from uneven(workload, runs)


def history(kept: Kept, arm: str) -> CopyUse:
    """An arm's runs of one workload."""
    uses = {block: use for (_, block, name), use in kept.items() if name == arm}
    days = {
        datetime.fromtimestamp(use.made_unix_ns / 1e9, UTC).strftime("%Y-%m-%d")
        for use in uses.values()
        if use.began
    }
    return CopyUse(
        step=next(iter(uses.values())).step,
        whole=tuple(block for block, use in uses.items() if not use.began),
        copied=tuple(block for block, use in uses.items() if use.began),
        made=listed(sorted(days)),
    )


def words(past: CopyUse, who: str) -> str:
    """What blocks that began with a copy lack."""
    if not past.whole:
        return (
            f"began with a copy of {past.made}, which an earlier plan made after {past.step}{who}"
        )
    return (
        f"began with a copy of the state after {past.step}{who}; steps up to it ran only in"
        f" {of_blocks(past.whole)}"
    )


def uneven(workload: str, kept: Kept) -> Iterable[Doubt]:
    """Blocks in which one arm began with a copy and another went through all steps."""
    for block in sorted({block for _, block, _ in kept}):
        began = {arm: use.began for (_, number, arm), use in kept.items() if number == block}
        copied = [arm for arm in began if began[arm]]
        whole = [arm for arm in began if not began[arm]]
        if copied and whole:
            yield DoubtSubject.BEGUN_UNLIKE.doubt(
                f"{listed(copied)} began with a copy made before, {listed(whole)} went"
                " through all steps",
                workload=workload,
                block=block,
            )
