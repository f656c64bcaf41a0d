"""What a server consists of: the processes of a postmaster, or the threads of one process.

Members are known by their ids, which are process ids or thread ids. Reads /proc only.
"""

import os
import time
from collections.abc import Sequence
from typing import Protocol

from dbdyno.host.observe import files, procfs
from dbdyno.host.observe.usage import TICK_US, ProcessReader, ProcessReading

CPU_CLOCK = 2
"""CPUCLOCK_SCHED of the kernel's include/linux/posix-timers_types.h: time on a CPU, to the ns."""


class Members(Protocol):
    """How the members of a server are found and read."""

    main: str  # what the first one is for
    main_ends_apart: bool  # whether the first one is in nobody's account of the ended
    key: str  # of the generator's event `connected`: the id of the member that serves it

    def listed(self, pid: int) -> set[int] | None:
        """The ids of those that live, the first included; None: the kernel has no such list."""

    def reader(self, pid: int, member: int, *, nanoseconds: bool) -> ProcessReader:
        """What reads a member of the server whose first process is `pid`."""

    def account_ns(self, pid: int, stat: procfs.ProcessStat, *, nanoseconds: bool) -> int:
        """The CPU time in which that of the ended is contained; read before the members."""

    def ended_ns(self, account_ns: int, live_ns: int) -> int:
        """The CPU time of the ended: of the account without what the living have spent."""

    def resident_bytes(self, readings: Sequence[ProcessReading]) -> int | None:
        """Memory of the server with what is shared counted once; None without readings."""

    def with_memory(self, pid: int, members: Sequence[int]) -> Sequence[int]:
        """Those that have a memory of their own."""


class PostmasterChildren:
    """A postmaster and its children (PostgreSQL)."""

    main = "postmaster"
    main_ends_apart = True
    key = "server_pid"

    def listed(self, pid: int) -> set[int] | None:
        """The postmaster's children and itself."""
        found = files.text(f"/proc/{pid}/task/{pid}/children")
        return None if found is None else {pid, *procfs.children(found)}

    def reader(self, pid: int, member: int, *, nanoseconds: bool) -> ProcessReader:
        """A reader of a process."""
        return ProcessReader(pid=member, nanoseconds=nanoseconds)

    def account_ns(self, pid: int, stat: procfs.ProcessStat, *, nanoseconds: bool) -> int:
        """The time of children that ended and were waited for."""
        return stat.children_ticks * TICK_US * 1000

    def ended_ns(self, account_ns: int, live_ns: int) -> int:
        """The whole account: the living are not in it."""
        return account_ns

    def resident_bytes(self, readings: Sequence[ProcessReading]) -> int | None:
        """What is shared counted once, as far as it is resident."""
        if not readings:
            return None
        own = sum(reading.resident_bytes - reading.shared_bytes for reading in readings)
        return own + max(reading.shared_bytes for reading in readings)

    def with_memory(self, pid: int, members: Sequence[int]) -> Sequence[int]:
        """All of them."""
        return members


class Threads:
    """The threads of one process (MySQL, MariaDB)."""

    main = "main"
    main_ends_apart = False
    key = "server_tid"

    def listed(self, pid: int) -> set[int] | None:
        """All threads; the first has the number of the process."""
        try:
            return {int(name) for name in os.listdir(f"/proc/{pid}/task")}
        except OSError:
            return set()

    def reader(self, pid: int, member: int, *, nanoseconds: bool) -> ProcessReader:
        """A reader of one thread."""
        return ProcessReader(pid=pid, nanoseconds=nanoseconds, thread_id=member)

    def account_ns(self, pid: int, stat: procfs.ProcessStat, *, nanoseconds: bool) -> int:
        """The time of the whole process, its ended threads included.

        By the process's own CPU clock (clock_getcpuclockid(3)), as stat has only clock ticks.
        """
        if nanoseconds:
            try:
                return time.clock_gettime_ns((~pid << 3) | CPU_CLOCK)
            except OSError:
                pass  # it has ended, or may not be asked: stat knows to a tick
        return (stat.user_ticks + stat.system_ticks) * TICK_US * 1000

    def ended_ns(self, account_ns: int, live_ns: int) -> int:
        """What the living threads have not spent."""
        return account_ns - live_ns

    def resident_bytes(self, readings: Sequence[ProcessReading]) -> int | None:
        """That of any thread: they have one memory."""
        return readings[0].resident_bytes if readings else None

    def with_memory(self, pid: int, members: Sequence[int]) -> Sequence[int]:
        """The first one, which has the number of the process."""
        return [pid] if pid in members else []
