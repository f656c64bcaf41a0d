"""Keeps the accounts of owners: who spent what, in sums that never fall.

A process counts with its owner from its first reading on, by differences between readings: where
it changes its owner (a backend turns out to be a role's) what it spent before stays where it was.
Pure: told what was read, reads nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from dbdyno.model.host_reading import OwnerCounters

EXITED = "exited"
STANDBY = "standby:"
"""Before what a standby's process is for: its cost is not the server's."""


class Usage(NamedTuple):
    """What one process has spent since its start; None: not ours to read."""

    cpu_ns: int
    user_us: int
    system_us: int
    voluntary: int | None
    involuntary: int | None
    read_bytes: int | None
    write_bytes: int | None
    run_delay_ns: int | None  # ready and without a core; None: the kernel does not count it


class Process(NamedTuple):
    """A reading of one process: its identity, its owner now, and what it has spent.

    The owner `exited` is for one that was first seen at its end, when it had no title any more.
    """

    pid: int
    start_ticks: int  # a pid may be used again, with its start it may not
    owner: str
    usage: Usage
    child: bool  # of the postmaster, in whose account it is when it has ended


NOTHING = Usage(
    cpu_ns=0,
    user_us=0,
    system_us=0,
    voluntary=0,
    involuntary=0,
    read_bytes=0,
    write_bytes=0,
    run_delay_ns=0,
)


def nothing_spent() -> OwnerCounters:
    """The counters of an owner that has just come."""
    return OwnerCounters(**dict.fromkeys(OwnerCounters.__struct_fields__, 0))


def add(total: OwnerCounters, usage: Usage, before: Usage) -> None:
    """Adds what a process spent between two readings; what it cannot tell makes a None."""
    for name, now, was in zip(Usage._fields, usage, before, strict=True):
        known = getattr(total, name)
        grown = None if now is None or was is None else max(0, now - was)
        setattr(total, name, None if known is None or grown is None else known + grown)


@dataclass(slots=True)
class Ledger:
    """The sums of all owners over the readings so far."""

    sums: dict[str, OwnerCounters] = field(default_factory=dict)
    live: dict[tuple[int, int], Process] = field(default_factory=dict)
    children_start_ns: int | None = None  # the postmaster's account of ended children at first
    gone_ns: int = 0  # last readings of the children that have gone
    exited_ns: int = 0

    def update(self, processes: Iterable[Process], children_ns: int | None) -> None:
        """Takes in one reading of all processes that are there.

        `children_ns`: the CPU time of the postmaster's ended children, read *before* the
        processes: one that ends in between is then at worst counted a reading late. None: there
        is no postmaster.
        """
        now = {(process.pid, process.start_ticks): process for process in processes}
        for total in self.sums.values():
            total.processes = 0
        for key, process in now.items():
            before = self.live.get(key)
            if process.owner not in self.sums:
                self.sums[process.owner] = nothing_spent()
            total = self.sums[process.owner]
            spent_before = before.usage if before else NOTHING
            if process.usage != spent_before:
                add(total, process.usage, spent_before)
            total.processes = (total.processes or 0) + 1
        gone = (process for key, process in self.live.items() if key not in now)
        self.gone_ns += sum(process.usage.cpu_ns for process in gone if process.child)
        self.live = now
        self.count_exited(children_ns)

    def count_exited(self, children_ns: int | None) -> None:
        """What ended children spent after their last reading, or unseen between two readings."""
        if children_ns is None:
            return
        if self.children_start_ns is None:
            self.children_start_ns = children_ns
        unseen_ns = children_ns - self.children_start_ns - self.gone_ns
        self.exited_ns = max(self.exited_ns, unseen_ns)

    def restart(self) -> None:
        """The postmaster is another one now: its account of children begins anew."""
        self.children_start_ns = None
        self.gone_ns = -self.exited_ns
        self.live = {key: process._replace(child=False) for key, process in self.live.items()}

    def owners(self) -> dict[str, OwnerCounters]:
        """The owners of a reading, sorted; of those that ended nothing but their CPU is known."""
        ending = self.sums.get(EXITED, OwnerCounters()).cpu_ns or 0
        ended = OwnerCounters(cpu_ns=self.exited_ns + ending)
        return {**dict(sorted(self.sums.items())), EXITED: ended}
