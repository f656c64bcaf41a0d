"""What the host has to offer to a server: cores and memory."""

from __future__ import annotations

import os
from pathlib import Path

CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Where a container sees its memory limit: cgroup version 2, version 1."""


def cores() -> int:
    """The logical processors that we may use."""
    return len(os.sched_getaffinity(0))


def memory_bytes() -> int:
    """The host's memory, or the container's limit where that is less."""
    host = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in CGROUP_LIMITS:
        try:
            return min(host, int(path.read_text()))
        except (OSError, ValueError):  # no such version of cgroups, or `max`
            continue
    return host
