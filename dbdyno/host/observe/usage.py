"""Reads what one process, or one thread of it, has spent, from /proc.

No file stays open between readings: a thousand connections would use up the descriptors, and a
raised limit would be inherited by the servers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import NamedTuple

from dbdyno.host.observe import files, procfs
from dbdyno.host.observe.owners import Usage

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
TICK_US = 1_000_000 // TICKS_PER_S


class ProcessReading(NamedTuple):
    """One reading of one process."""

    start_ticks: int
    usage: Usage
    resident_bytes: int
    shared_bytes: int


class ThreadUsage(NamedTuple):
    """What a thread, or several, have spent."""

    cpu_ns: int = 0
    run_delay_ns: int = 0
    voluntary: int = 0
    involuntary: int = 0

    def plus(self, other: ThreadUsage) -> ThreadUsage:
        """Both together."""
        return ThreadUsage(
            self.cpu_ns + other.cpu_ns,
            self.run_delay_ns + other.run_delay_ns,
            self.voluntary + other.voluntary,
            self.involuntary + other.involuntary,
        )


def counts_nanoseconds() -> bool:
    """Whether this kernel keeps CPU time in schedstat; otherwise there are only clock ticks."""
    found = files.record("/proc/self/schedstat")
    return found is not None and procfs.schedstat_counts(found)


@dataclass(slots=True)
class ProcessReader:
    """One process that is read again and again, thread by thread; or a thread of it alone."""

    pid: int
    nanoseconds: bool  # CPU time from schedstat; False: from stat's ticks
    thread_id: int | None = None  # of the process, and nothing else of it; None: all of it
    start_ticks: int | None = None  # as first read: another one is another process
    first_seen_at_its_end: bool = False  # without memory: its title was gone, too
    threads: dict[str, ThreadUsage] = field(default_factory=dict)
    ended: ThreadUsage = field(
        default_factory=ThreadUsage
    )  # threads that ended, as they were read last
    bytes_last: tuple[int, int] | None = None
    schedstat_last: str = ""
    reading_last: ProcessReading | None = None

    def read(self) -> ProcessReading | None:
        """What the process has spent until now; None when it has gone.

        A single thread that the scheduler has not run since the last reading (schedstat counts its
        time slices) has spent nothing: the rest need not be read.
        """
        schedstat = self.text("schedstat") if self.nanoseconds else ""
        if schedstat is None or (schedstat and schedstat == self.schedstat_last):
            return self.reading_last if schedstat else None
        self.reading_last = self.read_all(schedstat)
        self.schedstat_last = "" if self.threads else schedstat
        return self.reading_last

    def read_all(self, schedstat: str) -> ProcessReading | None:
        """Reads the process's files; `schedstat` is that of its first thread."""
        text = self.text("stat")
        status_text = self.text("status")
        if not text or not status_text:
            return None
        stat = procfs.process_stat(text)
        status = procfs.status(status_text)
        if self.start_ticks is None:
            self.start_ticks = stat.start_ticks
            self.first_seen_at_its_end = status.resident_bytes == 0
        if self.start_ticks != stat.start_ticks:
            return None
        spent = self.spent(stat, status, schedstat)
        return ProcessReading(
            start_ticks=stat.start_ticks,
            usage=self.usage(stat, spent),
            resident_bytes=status.resident_bytes,
            shared_bytes=status.shared_bytes,
        )

    def text(self, name: str) -> str | None:
        """One of the process's or thread's files; None when it has gone or may not be read."""
        thread = "" if self.thread_id is None else f"/task/{self.thread_id}"
        return files.record(f"/proc/{self.pid}{thread}/{name}")

    def usage(self, stat: procfs.ProcessStat, spent: ThreadUsage) -> Usage:
        """Brings the parts together; user and system time are only a split of the CPU time."""
        ticks = stat.user_ticks + stat.system_ticks
        moved = self.moved()
        return Usage(
            cpu_ns=spent.cpu_ns if self.nanoseconds else ticks * TICK_US * 1000,
            user_us=stat.user_ticks * TICK_US,
            system_us=stat.system_ticks * TICK_US,
            voluntary=spent.voluntary,
            involuntary=spent.involuntary,
            read_bytes=moved[0] if moved else None,
            write_bytes=moved[1] if moved else None,
            run_delay_ns=spent.run_delay_ns if self.nanoseconds else None,
        )

    def moved(self) -> tuple[int, int] | None:
        """Bytes read from and written to storage; the last known where it may no more be read."""
        text = self.text("io")
        if text:
            self.bytes_last = procfs.process_io(text)
        return self.bytes_last

    def spent(
        self, stat: procfs.ProcessStat, status: procfs.TaskStatus, schedstat: str
    ) -> ThreadUsage:
        """CPU time, run delay and switches of all threads, ended ones as they were last seen."""
        if self.thread_id is not None or (stat.threads <= 1 and not self.threads):
            return self.of_thread(status, schedstat)
        now = {name: self.thread(f"task/{name}") for name in self.thread_names()}
        live = {name: found for name, found in now.items() if found is not None}
        for name, last in self.threads.items():
            if name not in live:
                self.ended = self.ended.plus(last)
        self.threads = live
        total = self.ended
        for thread in live.values():
            total = total.plus(thread)
        return total

    def thread_names(self) -> list[str]:
        """The threads' numbers as text; none when the process has gone."""
        try:
            return os.listdir(f"/proc/{self.pid}/task")
        except OSError:
            return []

    def thread(self, folder: str) -> ThreadUsage | None:
        """What one thread has spent; None when it has gone."""
        text = self.text(f"{folder}/status")
        schedstat = self.text(f"{folder}/schedstat") if self.nanoseconds else ""
        if not text or (self.nanoseconds and not schedstat):
            return None
        return self.of_thread(procfs.status(text), schedstat or "")

    def of_thread(self, status: procfs.TaskStatus, schedstat: str) -> ThreadUsage:
        """What a thread has spent; no times where the kernel does not count nanoseconds."""
        times_ns = procfs.schedstat(schedstat) if self.nanoseconds else (0, 0)
        return ThreadUsage(*times_ns, status.voluntary, status.involuntary)

    def pss_bytes(self) -> int | None:
        """The proportional set size; walks the page tables, so never within a window."""
        text = self.text("smaps_rollup")
        return None if text is None else procfs.pss_bytes(text)
