"""What this host has to offer to a server: processors, memory, room on its disk."""

import math
import os
from dataclasses import replace
from pathlib import Path

from dbdyno.host import quiesce
from dbdyno.host.observe import limits
from dbdyno.host.observe.reader import HostReader
from dbdyno.model import Arm
from dbdyno.model.error import HostError
from dbdyno.model.size import Capacity, bytes_of


def here(wal_root: Path, cpus: str | None = None) -> Capacity:
    """What a server can have whose write-ahead log lies in `wal_root`, on processors `cpus`.

    `cpus`: a list as `cpus_of` reads it; None: all that dyno may use.
    """
    return Capacity(
        cores=cores() if cpus is None else len(cpus_of(cpus)),
        memory_bytes=memory_bytes(),
        free_disk_bytes=quiesce.room(wal_root),
    )


def of_arm(arm: Arm, host: Capacity) -> Capacity:
    """What an arm's server can have of the host: its own limit of memory may be less."""
    if arm.memory_max is None:
        return host
    return replace(host, memory_bytes=min(host.memory_bytes, bytes_of(arm.memory_max)))


def cores() -> int:
    """The logical processors that we may use, or the container's limit where that is less."""
    there, limit = len(os.sched_getaffinity(0)), limits.control_group(HostReader()).cpu_max
    return min(there, math.ceil(limit)) if isinstance(limit, int | float) else there


def last() -> int:
    """The last of the processors that we may use; the kernel gives the first ones more to do."""
    return max(os.sched_getaffinity(0))


def cpus_of(text: str) -> set[int]:
    """The processors that a list such as `0-3,8` names."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def refuse_absent(cpus: str | None, key: str) -> None:
    """Raises HostError where `cpus` names a processor that we may not use, or none."""
    if cpus is None:
        return
    wanted, there = cpus_of(cpus), os.sched_getaffinity(0)
    if not wanted or wanted - there:
        raise HostError(
            f"{key}: `{cpus}` does not name processors that are there: dyno may use "
            f"{', '.join(map(str, sorted(there)))}"
        )


def memory_bytes() -> int:
    """The host's memory, or the container's limit where that is less."""
    host = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = limits.control_group(HostReader()).memory_max
    return min(host, limit) if isinstance(limit, int) else host
