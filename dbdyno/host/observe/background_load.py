"""Looks at the host for a moment while dyno is idle: what else runs, and what the host does."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from dbdyno.host.observe import files, procfs
from dbdyno.host.observe.procfs import HostStat, ProcessStat
from dbdyno.host.observe.reader import HostReader
from dbdyno.model.host_facts import BusyProcess, IdleSample, ServerProcess
from dbdyno.model.host_reading import SwapPages

PROCESSES_MAX = 5
PROCESS_SHARE_MIN = 0.01
"""Of one CPU's time: what a process must have used to be named."""
SERVERS = frozenset(
    {"clickhouse-serv", "mariadbd", "mongod", "mysqld", "postgres", "postmaster", "redis-server"}
)
"""Names of processes that are database servers (the kernel cuts names to 15 characters)."""
CLOCK_READS = 1_000
CLOCK_ROUNDS = 50

Birth = tuple[int, int]
"""A process id and when it began, in ticks: together they name one process."""


@dataclass(frozen=True, kw_only=True)
class KernelCounters:
    """What the kernel had counted at one moment."""

    at_s: float
    host: HostStat
    swap_pages: tuple[int, int]
    processes: dict[Birth, ProcessStat]


def look(reader: HostReader, seconds: float) -> IdleSample:
    """What the host did in `seconds`: shares of all CPUs' time, swapping, who used the CPUs.

    dyno's own process is not among them.
    """
    before = moment(reader)
    time.sleep(seconds)
    after = moment(reader)
    lasted_s = after.at_s - before.at_s
    us = {key: after.host.cpu_us[key] - was for key, was in before.host.cpu_us.items()}
    whole = sum(us.values()) or 1
    idle = us["idle"] + us["iowait"]
    return IdleSample(
        seconds=round(lasted_s, 3),
        busy_share=share(whole - idle - us["steal"], whole),
        steal_share=share(us["steal"], whole),
        iowait_share=share(us["iowait"], whole),
        context_switches=after.host.context_switches - before.host.context_switches,
        swap_pages=SwapPages(
            into=after.swap_pages[0] - before.swap_pages[0],
            out=after.swap_pages[1] - before.swap_pages[1],
        ),
        load_average=load_average(reader),
        processes=busiest(before, after, lasted_s * os.sysconf("SC_CLK_TCK")),
        servers=servers(after),
    )


def moment(reader: HostReader) -> KernelCounters:
    """The counters of the host and of each process but dyno's own."""
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    return KernelCounters(
        at_s=time.monotonic(),
        host=procfs.stat(files.text(reader.at("/proc/stat")) or "cpu", ticks_per_s),
        swap_pages=procfs.swap_pages(files.text(reader.at("/proc/vmstat")) or ""),
        processes={
            (pid, stat.start_ticks): stat
            for path in reader.at("/proc").iterdir()
            if path.name.isdigit() and (pid := int(path.name)) != os.getpid()
            if (text := files.record(f"{path}/stat"))
            for stat in [procfs.process_stat(text)]
        },
    )


def share(part: int, whole: int) -> float:
    """A part as a share of the whole; not below 0, as counters of idle time may run back."""
    return round(max(part, 0) / whole, 4)


def load_average(reader: HostReader) -> tuple[float, ...] | None:
    """The kernel's load averages of 1, 5 and 15 minutes."""
    text = reader.line("look.load_average", "/proc/loadavg")
    return tuple(float(word) for word in text.split()[:3]) if text else None


def busiest(before: KernelCounters, after: KernelCounters, ticks: float) -> tuple[BusyProcess, ...]:
    """The processes that used most of the CPUs, as shares of one CPU's time."""
    used = {
        birth: stat.user_ticks + stat.system_ticks - (was.user_ticks + was.system_ticks)
        for birth, stat in after.processes.items()
        if (was := before.processes.get(birth)) is not None
    }
    first = sorted(used, key=lambda birth: (-used[birth], birth))[:PROCESSES_MAX]
    return tuple(
        BusyProcess(
            pid=birth[0], name=after.processes[birth].name, cpu_share=round(used[birth] / ticks, 3)
        )
        for birth in first
        if used[birth] / ticks >= PROCESS_SHARE_MIN
    )


def servers(now: KernelCounters) -> tuple[ServerProcess, ...]:
    """The database servers that run: each by its first process, without its children."""
    names = {pid: stat.name for (pid, _), stat in now.processes.items() if stat.name in SERVERS}
    return tuple(
        ServerProcess(pid=pid, name=stat.name)
        for (pid, _), stat in sorted(now.processes.items())
        if pid in names and names.get(stat.parent_pid) != stat.name and stat.state != "Z"
    )


def clock_read_ns() -> float:
    """What a reading of the monotonic clock costs here, from Python: the best of some rounds.

    The loop and the call around it are taken off by the same loop over a call that does nothing.
    """
    return round(max(each_ns(time.monotonic_ns) - each_ns(nothing), 0.0), 1)


def nothing() -> int:
    """Does what a reading of the clock does beside reading it: returns a number."""
    return 0


def each_ns(function: Callable[[], int]) -> float:
    """Nanoseconds of a call, the least of many short rounds: what disturbs makes others longer."""
    rounds = []
    for _ in range(CLOCK_ROUNDS):
        begun_ns = time.perf_counter_ns()
        for _ in range(CLOCK_READS):
            function()
        rounds.append((time.perf_counter_ns() - begun_ns) / CLOCK_READS)
    return min(rounds)
