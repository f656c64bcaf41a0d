"""Parses what Linux shows of its counters: text in, plain values out; reads nothing itself.

The formats are those of proc(5) and of the kernel's Documentation/filesystems/proc.rst,
Documentation/block/stat.rst. Times in ticks are USER_HZ (`os.sysconf("SC_CLK_TCK")`).
What is made for each process each second is a named tuple: cheaper by far than a dataclass.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from dbdyno.model.host_reading import DeviceCounters
from dbdyno.model.processor import CPU_STATES

SECTOR_BYTES = 512
"""The unit in /sys/class/block, whatever the device's own sectors are."""

NUMBER_WIDTH = 48
"""More characters than a number of 64 bits with the blanks before it."""
LINE_WIDTH = 64
"""More characters than a line `name: number kB` of /proc/PID/status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStat:
    """/proc/stat: time of all cores since boot and what the scheduler counted."""

    cpu_us: dict[str, int]  # by CPU_STATES
    context_switches: int
    running: int  # tasks that run or could run


class ProcessStat(NamedTuple):
    """/proc/PID/stat: the whole process (ended threads included), times in ticks."""

    name: str
    state: str  # "R", "S", "Z" …
    parent_pid: int
    user_ticks: int
    system_ticks: int
    children_ticks: int  # user and system time of children that ended and were waited for
    threads: int
    start_ticks: int  # since boot: with the pid it names a process once and for all
    flags: int = 0  # PF_…, of the kernel's include/linux/sched.h


class TaskStatus(NamedTuple):
    """/proc/PID/status: context switches of one thread, memory of its process."""

    voluntary: int
    involuntary: int
    resident_bytes: int
    shared_bytes: int  # of the resident: pages of files and shared memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    number: str  # "254:0", the device's major and minor number
    mount_point: str
    file_system: str
    source: str
    options: str  # of the mount and of its file system, each once


def stat(text: str, ticks_per_s: int) -> HostStat:
    """Parses /proc/stat. States that an old kernel lacks are 0."""
    tick_us = 1_000_000 // ticks_per_s
    ticks = [int(field) for field in text.partition("\n")[0].split()[1 : 1 + len(CPU_STATES)]]
    ticks += [0] * (len(CPU_STATES) - len(ticks))
    return HostStat(
        cpu_us={name: value * tick_us for name, value in zip(CPU_STATES, ticks, strict=True)},
        context_switches=number_after(text, "\nctxt "),
        running=number_after(text, "\nprocs_running "),
    )


def meminfo(text: str) -> dict[str, int]:
    """Parses /proc/meminfo: sizes in bytes, counts (HugePages_Total …) as they are."""
    values = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        fields = rest.split()
        if fields:
            values[name] = int(fields[0]) * (1024 if fields[1:] == ["kB"] else 1)
    return values


def swap_pages(text: str) -> tuple[int, int]:
    """Pages swapped in and out since boot, of /proc/vmstat; 0 on a kernel without swap."""
    return number_after(text, "\npswpin "), number_after(text, "\npswpout ")


def disk_stat(text: str, device: str) -> DeviceCounters:
    """Parses /sys/class/block/*/stat: a line of /proc/diskstats without numbers and name."""
    fields = [int(field) for field in text.split()]
    discards, discard_merges, discard_sectors, discard_ms = fields[11:15] or (None,) * 4
    flushes, flush_ms = fields[15:17] or (None,) * 2
    return DeviceCounters(
        device=device,
        reads=fields[0],
        read_merges=fields[1],
        read_bytes=fields[2] * SECTOR_BYTES,
        read_ms=fields[3],
        writes=fields[4],
        write_merges=fields[5],
        write_bytes=fields[6] * SECTOR_BYTES,
        write_ms=fields[7],
        in_flight=fields[8],
        io_ms=fields[9],
        weighted_ms=fields[10],
        discards=discards,
        discard_merges=discard_merges,
        discard_bytes=None if discard_sectors is None else discard_sectors * SECTOR_BYTES,
        discard_ms=discard_ms,
        flushes=flushes,
        flush_ms=flush_ms,
    )


def process_stat(text: str) -> ProcessStat:
    """Parses /proc/PID/stat. The name may hold spaces, parentheses, even line ends."""
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return ProcessStat(
        name=head.partition("(")[2],
        state=fields[0],
        parent_pid=int(fields[1]),
        user_ticks=int(fields[11]),
        system_ticks=int(fields[12]),
        children_ticks=int(fields[13]) + int(fields[14]),
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
        flags=int(fields[6]),
    )


def schedstat(text: str) -> tuple[int, int]:
    """Parses /proc/PID/schedstat of one thread: nanoseconds on a CPU, and ready without one."""
    cpu_ns, run_delay_ns = text.split()[:2]
    return int(cpu_ns), int(run_delay_ns)


def schedstat_counts(text: str) -> bool:
    """Whether the kernel keeps these counters: a task that has run shows its time slices."""
    return text.split() != ["0", "0", "0"]


def status(text: str) -> TaskStatus:
    """Parses /proc/PID/status of one thread. A zombie has no memory any more.

    A key with its line end in front cannot be forged by a process name: the kernel escapes those.
    """
    anonymous, of_files, of_shared_memory = numbers_from(text, "\nRssAnon:", 3)
    voluntary, involuntary = numbers_from(text, "\nvoluntary_ctxt_switches:", 2)
    shared = of_files + of_shared_memory
    return TaskStatus(voluntary, involuntary, (anonymous + shared) * 1024, shared * 1024)


def numbers_from(text: str, key: str, count: int) -> list[int]:
    """The numbers of `count` lines `name: number`, the first of which is `key`; 0 without it."""
    start = text.find(key)
    if start < 0:
        return [0] * count
    fields = text[start : start + count * LINE_WIDTH].split(maxsplit=3 * count)
    width = 3 if fields[2] == "kB" else 2
    return [int(field) for field in fields[1 : 1 + width * count : width]]


def process_io(text: str) -> tuple[int, int]:
    """Parses /proc/PID/io: (read_bytes, write_bytes), what came from and went to storage.

    Writes count when a page is dirtied; `cancelled_write_bytes` (truncated before it was written)
    is left alone: it may be of pages that another process dirtied.
    """
    return number_after(text, "\nread_bytes:"), number_after(text, "\nwrite_bytes:")


def number_after(text: str, key: str) -> int:
    """The number that follows `key`; 0 where there is no such key."""
    start = text.find(key)
    if start < 0:
        return 0
    start += len(key)
    return int(text[start : start + NUMBER_WIDTH].split(maxsplit=1)[0])


def pss_bytes(text: str) -> int:
    """The proportional set size in /proc/PID/smaps_rollup; 0 for a process without memory."""
    found = re.search(r"^Pss:\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def children(text: str) -> list[int]:
    """Parses /proc/PID/task/TID/children."""
    return [int(pid) for pid in text.split()]


def mountinfo(text: str) -> list[Mount]:
    """Parses /proc/self/mountinfo."""
    return [mount(line) for line in text.splitlines()]


def mount(line: str) -> Mount:
    """Parses one line: `36 35 98:0 /root /mnt rw,noatime optional… - ext3 /dev/root rw`."""
    front, _, back = line.partition(" - ")
    fields = front.split(" ")
    file_system, source, super_options = [*back.split(" "), "", ""][:3]
    options = dict.fromkeys([*fields[5].split(","), *super_options.split(",")])
    return Mount(
        number=fields[2],
        mount_point=unescape(fields[4]),
        file_system=file_system,
        source=unescape(source),
        options=",".join(option for option in options if option),
    )


def unescape(text: str) -> str:
    r"""Mount tables write space, tab, line end and backslash in octal (`\040`)."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def cpuinfo(text: str) -> list[dict[str, str]]:
    """Parses /proc/cpuinfo: one dictionary for each logical CPU."""
    processors = []
    for paragraph in text.strip().split("\n\n"):
        pairs = (line.partition(":") for line in paragraph.splitlines())
        processors.append({key.strip(): value.strip() for key, _, value in pairs})
    return processors
