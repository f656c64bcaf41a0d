"""The pass of counts before a plan's first block: each arm's work, by a server under callgrind.

Its data are filled natively and kept (count_fill.py); each repeat starts a fresh server from a
golden copy under the counter, goes through the measured steps by one client, and reads what the
server executed between two marks of its connection. The files lie in `count/` of the result folder,
as those of two plans: `fill`, and `work` with a block for each repeat.
"""

import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

from msgspec import structs

from dbdyno import engine, store
from dbdyno.engine.counting import CountMethod
from dbdyno.host import data_folder, launch
from dbdyno.host.callgrind import counts, program
from dbdyno.host.callgrind.counts import CallgrindCounts
from dbdyno.host.callgrind.program import Valgrind
from dbdyno.model import CountRequest, Plan
from dbdyno.model.count import Count, FunctionWork
from dbdyno.model.error import CopyRefused, HostError
from dbdyno.model.events import AnyEvent, CapturedEvent, ConnectedEvent
from dbdyno.model.job.role import MARKS_BEFORE, Role
from dbdyno.model.step_files import StepDone
from dbdyno.plan import count as plans
from dbdyno.plan import counted_step, schedule
from dbdyno.run import background_count, blocks, count_fill, refusal, storage
from dbdyno.run.background_count import CountMarks, Mark
from dbdyno.run.check import block_time, preflight
from dbdyno.run.check.counting import counting_of
from dbdyno.run.lab import Lab
from dbdyno.run.measurement import Measurement, StepFailed
from dbdyno.run.progress import Pulse
from dbdyno.run.ready_plan import ReadyPlan, StepsOf
from dbdyno.run.step import Load
from dbdyno.store import Results

FILE_BYTES_MAX = 64 << 20
FILE = "count.json"
SHARE_MAX = 0.5
"""Of a plan's minutes, the most that counts take; a plan foresees half as much."""


def go(lab: Lab) -> None:
    """Counts what the plan wants counted and is not counted yet. Raises DynoError, LabDied.

    Data on which a server does not start are filled anew, once: each golden copy.
    """
    refused: set[str] = set()
    while True:
        try:
            return go_on(lab)
        except CopyRefused as error:
            if error.key in refused:
                raise
            refused.add(error.key)


def go_on(lab: Lab) -> None:
    """Does what is missing of the pass. Raises DynoError, LabDied."""
    wish, parent = lab.plan.count, store.count_folder(lab.results.folder)
    if wish is None or repeats(parent) >= wish.repeats:
        return
    valgrind, begun = program.find(), lab.minutes()
    fills = count_fill.fills_of(lab.plan, parent)
    lab.watch.later_s = blocks.after_trial_s(lab.plan, lab.prepared)
    count_fill.fill(lab, parent, fills)
    lab.watch.later_s -= block_time.counts_s(lab.plan, lab.prepared)
    words = counter(lab.plan, valgrind)
    plan = plans.counting(lab.plan, words, fills)
    prepared = preflight.prepare(plan, Results.begun_plan(parent / plan.name))
    rates = count_fill.rates(plan, parent)
    prepared = replace(prepared, steps=counted_steps(plan, prepared, wish, rates))
    load = partial(CountedLoad, marks=CountMarks())
    part = replace(count_fill.part_of(lab, plan, prepared, parent), load=load)
    seed = schedule.block(plan, 1).seed  # of all repeats, so that they differ by chance alone
    missing = [replace(block, seed=seed) for block in blocks.missing_blocks(plan, part.results)]
    for place, block in enumerate(missing):
        if is_late(lab, part.results, begun):
            lab.watch.say("not counted again: that would take more than half of the minutes")
            break
        repeat = replace(part, part=f"count {block.number}/{wish.repeats}")
        blocks.run_whole(repeat, missing[place:])
        if nothing := refusal.nothing_left(plan, part.results, 0):
            for line in nothing:
                lab.watch.say(f"not counted: {line}")
            return
    if repeats(parent) >= wish.repeats:
        count_fill.learn(part.results, engine.of(plan.arms[0].engine).traits.family)


def is_late(lab: Lab, counted: Results, begun: float) -> bool:
    """Whether a further repeat would take more of the plan's minutes than counts may.

    `begun`: the minutes that had passed before them.
    """
    limit, minutes = lab.plan.schedule.minutes_max, counted.minutes()
    if limit is None or lab.plan.counts_only or not minutes:
        return False
    return lab.minutes() - begun + max(minutes) > SHARE_MAX * limit


def repeats(parent: Path) -> int:
    """How many repeats are complete; `parent`: the folder of the pass."""
    work = parent / plans.WORK
    return 0 if Results.begun_plan(work) is None else Results.open(work).complete()


def counter(plan: Plan, valgrind: Valgrind) -> tuple[str, ...]:
    """The words that stand before the servers' own; all arms are of one family."""
    counting = counting_of(plan)
    return program.command(
        valgrind,
        mark=counting.function,
        left_out=counting.left_out,
        threads=counting.threads,
        reread="" if counting.background is None else counting.background.function,
    )


# --- What is counted ---------------------------------------------------------------------------


def counted_steps(
    plan: Plan, prepared: ReadyPlan, wish: CountRequest, of_base: counted_step.Rates
) -> StepsOf:
    """The steps of each arm; measured ones that are wanted end after a number of operations."""
    counting = counting_of(plan)
    return {
        title: {
            arm: tuple(
                counted_step.of_arm(
                    steps, wish, counting, of_base, prepared.builds[arm].version_num
                )
            )
            for arm, steps in arms.items()
        }
        for title, arms in prepared.steps.items()
    }


# --- Reading the counts -----------------------------------------------------------------------


@dataclass(frozen=True)
class CountWindow:
    """The files of a session's window, and of the empty one before it."""

    empty: str
    full: str


class CountedLoad(Load):
    """A load whose work the server's counter has written when it ends."""

    def __init__(self, measurement: Measurement, marks: CountMarks) -> None:
        """`marks`: what the loads of one pass share."""
        super().__init__(measurement)
        self._marks = marks
        self._counting = engine.of(self.bench.server.engine).counting
        self._role = next((role for role in self.step.job.roles if role.marks is not None), None)
        self._session: ConnectedEvent | None = None
        self._answers: list[CapturedEvent] = []  # of the server, to each mark
        self._begun: Mark | None = None  # of the background, before the load

    def __enter__(self) -> Self:
        """As any load, with what would disturb a step that writes held still meanwhile."""
        before = self._marks.taken(self._first)
        if self._role is not None:
            self._begun = before or self._marked()
        super().__enter__()
        address, hold = self.bench.server.address(), self._counting.hold
        if self.step.writes and hold is not None and address is not None:
            self._stack.enter_context(hold(address))
        return self

    def _marked(self) -> Mark | None:
        """A mark of the server's background; None where it has none, or cannot be asked."""
        made, first = self.bench.server.made, self._first
        if made is None or first is None or self._counting.background is None:
            return None
        folder, threads = made.data_dir.parent / launch.COUNTS, self._counting.threads
        try:
            return background_count.mark(folder, first, threads=threads)
        except (HostError, OSError):
            return None

    @property
    def _first(self) -> int | None:
        """The server's first process; None where it is not seen."""
        made = self.bench.server.made
        return None if made is None else made.postmaster_pid

    def take(self, event: AnyEvent) -> Pulse | None:
        """As any load; keeps which process or thread serves the marked connection."""
        role = self._role
        if isinstance(event, ConnectedEvent) and role is not None and event.role == role.name:
            self._session = event
        if isinstance(event, CapturedEvent) and event.statement == counted_step.COUNTERS:
            self._answers.append(event)
        return super().take(event)

    def end(self, done: StepDone) -> None:
        """As any load, and writes count.json. Raises StepFailed where the counts are not there."""
        super().end(done)
        role, made = self._role, self.bench.server.made
        if role is None or made is None or self._session is None:
            return
        folder = made.data_dir.parent / launch.COUNTS
        try:
            pid = made.postmaster_pid if self._counting.threads else self._session.server_pid
            count = read(folder, pid or 0, role, self._counting)
            moved = storage.read(self._answers, count, self._counting)
            apart = self._background(folder, count.warmup + count.operations)
            count = structs.replace(count, storage=moved, background=apart)
            if self.step.writes:
                count = structs.replace(count, writes=True, margin=self._counting.margin_of_writes)
        except (HostError, OSError) as error:
            raise StepFailed(f"not counted: {error}") from error
        store.write_json(self.folder / FILE, count)

    def _background(self, folder: Path, operations: int) -> dict[str, float] | None:
        """By kind the instructions of background processes, for each operation of the whole step.

        Raises HostError, OSError.
        """
        background, ended = self._counting.background, self._marked()
        if background is None or self._begun is None or ended is None:
            return None
        self._marks.keep(self._first, ended)
        sums = background_count.between(folder, self._begun, ended, background)
        return {purpose: work / operations for purpose, work in sorted(sums.items())}


def read(folder: Path, pid: int, role: Role, counting: CountMethod) -> Count:
    """The counts of the window of a process, or one of its threads. Raises HostError, OSError."""
    assert role.marks is not None
    assert role.stop is not None
    operations = role.stop.operations - role.marks.warmup - MARKS_BEFORE - 1
    window = window_of(folder, pid)
    empty, full = file_counts(folder, window.empty), file_counts(folder, window.full)
    work = counts.between(full, empty, operations)
    workers = workers_of(folder, window, counting) / operations
    total = work.total
    return Count(
        tool=full.tool.replace("callgrind-", "valgrind "),
        architecture=platform.machine(),
        role=role.name,
        warmup=role.marks.warmup,
        operations=operations,
        left_out=counting.left_out,
        instructions=total.instructions + workers,
        atomics=total.atomics,
        system_calls=total.system_calls,
        workers=workers,
        mark=empty.total.instructions,
        functions=tuple(functions_of(work)),
    )


def window_of(folder: Path, pid: int) -> CountWindow:
    """The last two files that marks of a process have written. Raises HostError: too few."""
    stem = f"counts.{pid}."
    written: dict[int, list[str]] = {}
    for name in os.listdir(folder):
        if name.startswith(stem):
            part = name.removeprefix(stem).partition("-")[0]
            if part.isdigit():
                written.setdefault(int(part), []).append(name)
    if len(written) < MARKS_BEFORE + 1:
        raise HostError(
            f"process {pid} wrote {len(written)} of {MARKS_BEFORE + 1} marks into `{folder}`"
        )
    *_, empty, full = sorted(written)
    return CountWindow(empty=written[empty][0], full=written[full][0])


def file_counts(folder: Path, name: str) -> CallgrindCounts:
    """The counts of a file. Raises HostError, OSError."""
    text = data_folder.read(folder, name, FILE_BYTES_MAX)
    return counts.read(text.decode(errors="replace"), str(folder / name))


def workers_of(folder: Path, window: CountWindow, counting: CountMethod) -> float:
    """The instructions of parallel workers that ended within a window."""
    if counting.worker is None:
        return 0.0
    begun, ended = ((folder / name).lstat().st_mtime_ns for name in (window.empty, window.full))
    total = 0.0
    for path in folder.iterdir():
        whole = path.name.startswith("counts.") and path.name.count(".") == 1
        if whole and begun <= path.lstat().st_mtime_ns <= ended:
            total += counts.inclusive(file_counts(folder, path.name), counting.worker)
    return total


def functions_of(work: CallgrindCounts) -> Iterator[FunctionWork]:
    """The functions of an operation, the most instructions first."""
    rows: Mapping[counts.Function, counts.CallgrindWork] = work.by_itself
    for function, own in sorted(rows.items(), key=lambda row: -row[1].instructions):
        calls = work.calls.get(function, 0.0)
        if not own.instructions and not calls:
            continue
        yield FunctionWork(
            function=function[1],
            binary=function[0],
            instructions=round(own.instructions, 3),
            with_callees=round(work.with_callees.get(function, 0.0), 3),
            calls=round(calls, 4),
            atomics=round(own.atomics, 4),
            system_calls=round(own.system_calls, 4),
        )
