"""What of a result cannot have been measured so: blocks that were copied, moved or edited.

A run of a real server has nanoseconds and response times that no other run has, and one lab
measures on a host at a time. So of two runs with the same lines, or that were made at once, the
later is no measurement of its block: it counts as damaged, and no word rests on it. Runs of the
fake are left out: by its virtual clock equal seeds give equal lines. Whoever draws every number
anew is not found out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from dbdyno.evidence import damaged_files
from dbdyno.model import StepRun, engine
from dbdyno.model.looks import Looks
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.step_run import Imprint, ImprintFacts
from dbdyno.model.verdict import Aims
from dbdyno.store import BlockFolder, Results, StepFolder

SHARE_MIN = 0.2
"""If one of two runs is a copy, such a share of the marks agrees of the one that has fewer."""


Of = TypeVar("Of", Aims, Looks)


def step_folders(blocks: Sequence[BlockFolder]) -> list[StepFolder]:
    """The folders of all steps of these blocks."""
    return [step for block in blocks for run in block.runs() for step in run.steps()]


@dataclass(frozen=True)
class _JudgedRun:
    """A run of a real server that ended well, and where its files lie."""

    index: int  # among the runs
    folder: StepFolder
    imprint: Imprint
    host: tuple[str | None, str | None]


def refused(
    plan: PlanRecord,
    blocks: Sequence[BlockFolder],
    folders: Sequence[StepFolder],
    runs: Sequence[StepRun],
) -> list[StepRun]:
    """The runs; one that is none of its block has failed, with the reason and the file."""
    moved = {block.number: text for block in blocks if (text := _moved(block)) is not None}
    hosts = {block.number: block.host for block in blocks}
    seen = [
        _JudgedRun(index, folder, imprint, (hosts[run.block], arm.host))
        for index, (folder, run) in enumerate(zip(folders, runs, strict=True))
        if (imprint := run.of(ImprintFacts).imprint) is not None and run.facts.measured
        if (arm := plan.arm(run.arm)) is not None and "clock" in engine.recorded(arm.engine).can
    ]
    reasons = {**_at_once(seen), **_copied(seen)}
    reasons |= {index: moved[run.block] for index, run in enumerate(runs) if run.block in moved}
    return [
        damaged_files.damaged(folder, reasons[index]) if index in reasons else run
        for index, (folder, run) in enumerate(zip(folders, runs, strict=True))
    ]


def _moved(block: BlockFolder) -> str | None:
    """Why a block is not that of its folder's number; an older order.json does not say it."""
    order = block.order()
    if order is None or order.block in (0, block.number):
        return None
    return (
        f"blocks/{block.path.name}/order.json: is that of block {order.block}, under another "
        "number; restore its own"
    )


def _copied(seen: Sequence[_JudgedRun]) -> dict[int, str]:
    """The runs whose times or seconds are those of an earlier one, with the reason."""
    by_times = _with_shared({run.index: run.imprint.times for run in seen})
    by_ticks = _with_shared({run.index: run.imprint.ticks for run in seen})
    folders = {run.index: run.folder.place for run in seen}
    return {
        index: f"{folders[index]}/events.jsonl: has the lines of {folders[first]}, which agree "
        "beyond chance; restore its own"
        for index, first in {**by_times, **by_ticks}.items()
    }


def _with_shared(marks: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Of each run that has the marks of an earlier one the first that has them."""
    copies: dict[int, int] = {}
    first: dict[int, int] = {}  # by mark the run
    for index, own in marks.items():
        shared = Counter(first[mark] for mark in own if mark in first)
        for earlier, count in shared.most_common(1):
            if count >= SHARE_MIN * min(len(own), len(marks[earlier])):
                copies[index] = earlier
        for mark in own:
            first.setdefault(mark, index)
    return copies


def _at_once(seen: Sequence[_JudgedRun]) -> dict[int, str]:
    """The runs that were made while one of an earlier block was, on the same host."""
    both: dict[int, str] = {}
    running: list[_JudgedRun] = []
    for own in sorted(seen, key=lambda run: run.imprint.begun.mono_ns):
        running = [run for run in running if run.imprint.ended.mono_ns > own.imprint.begun.mono_ns]
        for other in running:
            if other.folder.block != own.folder.block and _overlap(own, other):
                early, late = sorted((own, other), key=lambda run: run.folder.block)
                both[late.index] = (
                    f"{late.folder.place}/events.jsonl: was measured at the same time as "
                    f"{early.folder.place}, on one host; restore its own"
                )
        running.append(own)
    return both


def _overlap(own: _JudgedRun, other: _JudgedRun) -> bool:
    """Whether both ran at once, by both clocks: of two boots one alone says nothing."""
    if own.host != other.host:
        return False
    begun, ended = own.imprint.begun.unix_ns, own.imprint.ended.unix_ns
    other_begun, other_ended = other.imprint.begun.unix_ns, other.imprint.ended.unix_ns
    if begun is None or ended is None or other_begun is None or other_ended is None:
        return False
    return begun < other_ended and other_begun < ended


# --- What judges -----------------------------------------------------------------------------


def edited(results: Results, blocks: Sequence[BlockFolder]) -> Iterator[str]:
    """The files whose aims or looks are others than as a block began, and not by a plan that
    went on. Raises ResultError where a file is damaged.

    Blocks of older versions do not say how it was.
    """
    orders = [(block.number, order) for block in blocks if (order := block.order()) is not None]
    planned = [plan.verdict for plan in (*results.earlier_plans(), results.plan)]
    aims = [(number, order.aims) for number, order in orders if order.aims]
    for number, before in aims:
        if before not in planned:
            yield _edited("plan.json", number, differences(before, results.plan.verdict))
            break
    looks = results.looks()
    begun = next(((number, order.looks) for number, order in orders if order.looks), None)
    if begun is not None and looks is not None:
        number, were = begun
        if changes := list(differences(were, replace(looks, last=were.last))):
            yield _edited("looks.json", number, changes)


def _edited(name: str, block: int, changes: Iterable[str]) -> str:
    return f"{name}: is not as block {block} began: {', '.join(changes)}; restore it from a copy"


def differences(before: Of, now: Of) -> Iterator[str]:
    """The fields of a dataclass that changed, in words."""
    for key in fields(before):
        was, is_now = getattr(before, key.name), getattr(now, key.name)
        if was != is_now:
            yield f"`{key.name}` was {was} and is {is_now}"
