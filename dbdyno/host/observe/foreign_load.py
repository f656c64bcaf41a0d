"""What is spent by processes that are neither the lab's, nor an arm's, nor threads of the kernel.

The lab's and the arms' are dyno and all that descends from it: generator, servers, also those of
arms that wait for their turn, hooks. What the kernel's threads do (writing back, swapping, serving
requests) is an arm's doing as often as not, and is told apart.

A process that comes and goes between two looks is in the account of the one that waited for it
(cutime of proc(5)). Not known are: children that nobody waits for, as their parent ignores SIGCHLD;
what interrupts take; and what runs outside of this container, or is hidden by /proc's `hidepid`.
"""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dbdyno.host.observe import files, procfs
from dbdyno.host.observe.usage import TICK_US
from dbdyno.model.grouping import grouped
from dbdyno.model.host_reading import ForeignLoad, ForeignProcess

PF_KTHREAD = 0x00200000
"""A thread of the kernel (include/linux/sched.h); an io_uring worker is its process's own."""
HOOK_MARK = "DYNO_RESULTS"
"""A variable in the environment of a plan's hooks, by which one is known that left its parent."""
PROCESSES_NAMED_MAX = 3

Birth = tuple[int, int]
"""A process id and when it began, in ticks: together they name one process."""


class ProcessTicks(NamedTuple):
    """What a process has spent since its start, in ticks."""

    name: str
    own: int
    children: int  # that ended and were waited for, with theirs


class ProcessSnapshot(NamedTuple):
    """All processes at one moment, without the lab's and the arms'."""

    others: Mapping[Birth, ProcessTicks]
    kernel: int  # ticks of the kernel's threads


class ForeignObserver:
    """Looks at all processes again and again: what the foreign ones have spent since the first."""

    def __init__(self, lab_pid: int) -> None:
        self._lab_pid = lab_pid
        self._first: ProcessSnapshot | None = None

    def read(self) -> ForeignLoad:
        """What they have spent until now; reads /proc."""
        now = look(dict(stats()), self._lab_pid)
        if self._first is None:
            self._first = now
        of_hooks = {
            birth for birth in grown(self._first, now) if is_of_hook(birth[0])
        }  # few have grown, so few environments are read
        return spent(self._first, now, of_hooks)


def stats() -> Iterator[tuple[int, procfs.ProcessStat]]:
    """All processes that can be seen, by id."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (text := files.record(f"/proc/{name}/stat")):
            yield int(name), procfs.process_stat(text)


def look(processes: Mapping[int, procfs.ProcessStat], lab_pid: int) -> ProcessSnapshot:
    """Sorts the processes of a moment."""
    ours = descendants(processes, lab_pid)
    others: dict[Birth, ProcessTicks] = {}
    kernel = 0
    for pid, stat in processes.items():
        own = stat.user_ticks + stat.system_ticks
        if stat.flags & PF_KTHREAD:
            kernel += own
        elif pid not in ours:
            others[pid, stat.start_ticks] = ProcessTicks(stat.name, own, stat.children_ticks)
    return ProcessSnapshot(others, kernel)


def descendants(processes: Mapping[int, procfs.ProcessStat], pid: int) -> set[int]:
    """The process and all that descend from it."""
    children = grouped((stat.parent_pid, child) for child, stat in processes.items())
    ours, new = {pid}, [pid]
    while new:
        new = [child for parent in new for child in children.get(parent, ()) if child not in ours]
        ours.update(new)
    return ours


def grown(before: ProcessSnapshot, now: ProcessSnapshot) -> dict[Birth, int]:
    """The foreign processes that are there and spent anything themselves, in ticks."""
    own = {birth: process.own - before.others.get(birth, process._replace(own=0)).own
           for birth, process in now.others.items()}  # fmt: skip
    return {birth: ticks for birth, ticks in own.items() if ticks > 0}


def is_of_hook(pid: int) -> bool:
    """Whether a process, or who made it, was begun by a hook of a plan."""
    environment = files.record(f"/proc/{pid}/environ") or ""
    return f"\0{HOOK_MARK}=" in f"\0{environment}"


def spent(before: ProcessSnapshot, now: ProcessSnapshot, left_out: set[Birth]) -> ForeignLoad:
    """What was spent between two looks, the largest spenders by name; without those left out.

    Whoever ends hands what it spent, and its children, to the one that waits for it. So the sum of
    all accounts grows by what is spent, unless an account is lost; what the living have spent
    themselves is certain.
    """
    own = {birth: ticks for birth, ticks in grown(before, now).items() if birth not in left_out}
    accounts = _total(now, left_out) - _total(before, left_out)
    ticks = max(sum(own.values()), accounts)
    first = sorted(own, key=lambda birth: (-own[birth], birth))[:PROCESSES_NAMED_MAX]
    return ForeignLoad(
        cpu_us=ticks * TICK_US,
        kernel_us=(now.kernel - before.kernel) * TICK_US,
        processes=tuple(
            ForeignProcess(birth[0], readable(now.others[birth].name), own[birth] * TICK_US)
            for birth in first
        ),
    )


def readable(name: str) -> str:
    """A process's name, whose bytes are free, as JSON can have it."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def _total(seen: ProcessSnapshot, left_out: set[Birth]) -> int:
    return sum(
        process.own + process.children
        for birth, process in seen.others.items()
        if birth not in left_out
    )
