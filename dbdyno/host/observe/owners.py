"""Keeps the accounts of owners: who spent what, in sums that never fall.

A process counts with its owner from its first reading on, by differences between readings: where
it changes its owner (a backend turns out to be a role's) what it spent before stays where it was.
Pure: told what was read, reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from dbdyno.model import Json

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


@dataclass(slots=True)
class Sum:
    """What an owner's processes have spent, and how many of them there are now."""

    cpu_ns: int = 0
    user_us: int = 0
    system_us: int = 0
    voluntary: int | None = 0
    involuntary: int | None = 0
    read_bytes: int | None = 0
    write_bytes: int | None = 0
    run_delay_ns: int | None = 0
    processes: int = 0

    def add(self, usage: Usage, before: Usage) -> None:
        """Adds what a process spent between two readings; what it cannot tell makes a None."""
        self.cpu_ns += max(0, usage.cpu_ns - before.cpu_ns)
        self.user_us += max(0, usage.user_us - before.user_us)
        self.system_us += max(0, usage.system_us - before.system_us)
        self.voluntary = grown(self.voluntary, usage.voluntary, before.voluntary)
        self.involuntary = grown(self.involuntary, usage.involuntary, before.involuntary)
        self.read_bytes = grown(self.read_bytes, usage.read_bytes, before.read_bytes)
        self.write_bytes = grown(self.write_bytes, usage.write_bytes, before.write_bytes)
        self.run_delay_ns = grown(self.run_delay_ns, usage.run_delay_ns, before.run_delay_ns)


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


def grown(total: int | None, now: int | None, before: int | None) -> int | None:
    """`total` plus the growth from `before` to `now`; None as soon as anything is unknown."""
    if total is None or now is None or before is None:
        return None
    return total + max(0, now - before)


@dataclass(slots=True)
class Ledger:
    """The sums of all owners over the readings so far."""

    sums: dict[str, Sum] = field(default_factory=dict)
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
            total = self.sums.setdefault(process.owner, Sum())
            spent_before = before.usage if before else NOTHING
            if process.usage != spent_before:
                total.add(process.usage, spent_before)
            total.processes += 1
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

    def as_json(self) -> Json:
        """The owners of a line of host.jsonl."""
        lines: Json = {}
        for owner, total in sorted(self.sums.items()):
            lines[owner] = {name: getattr(total, name) for name in Sum.__slots__}
        ending = self.sums.get(EXITED, Sum())
        lines[EXITED] = {"cpu_ns": self.exited_ns + ending.cpu_ns}
        return lines
