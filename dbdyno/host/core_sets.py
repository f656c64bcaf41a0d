"""Whole cores of one memory node for a server and for its clients, and threads that are moved.

All threads of a core are of one of the two, as they share its units and its first caches.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from dbdyno.host.capacity import cpus_of
from dbdyno.host.observe import files
from dbdyno.host.observe.processor import CPUS, placed
from dbdyno.host.observe.reader import HostReader
from dbdyno.model.error import HostError

NODES = "/sys/devices/system/node"
GENERATOR_SHARE = 4
"""One in so many cores is the generator's."""

Core = frozenset[int]
"""The logical processors of a core."""


def whole_cores(reader: HostReader, allowed: set[int]) -> tuple[Core, ...]:
    """The cores of the memory node that has most of them, as far as all their threads are allowed.

    In the order of their numbers.
    """
    whole = [core for core in cores_of(reader) if core <= allowed]
    lists = (files.line(path) for path in reader.found(f"{NODES}/node[0-9]*/cpulist"))
    nodes = [cpus_of(words) for words in lists if words] or [set(allowed)]
    found = max(([core for core in whole if core <= node] for node in nodes), key=len, default=[])
    return tuple(sorted(found, key=min))


def cores_of(reader: HostReader) -> Iterator[Core]:
    """The host's cores."""
    cores: dict[tuple[int | None, int | None], set[int]] = {}
    for folder in reader.found(f"{CPUS}/cpu[0-9]*/topology"):
        cores.setdefault(placed(folder.parent), set()).add(int(folder.parent.name[3:]))
    yield from map(frozenset, cores.values())


def core_by_core(reader: HostReader, allowed: set[int]) -> tuple[int, ...]:
    """The processors in an order by which each core has one of its threads before any has two.

    The last come first, as the kernel gives the first ones more to do.
    """
    ranks = {
        number: rank
        for core in cores_of(reader)
        for rank, number in enumerate(sorted(core & allowed, reverse=True))
    }
    return tuple(sorted(allowed, key=lambda number: (ranks.get(number, 0), -number)))


def dealt(cores: Sequence[Core]) -> tuple[str, str]:
    """Of two cores or more those for a server, and the last of them for its clients: as lists."""
    own = len(cores) - max(1, len(cores) // GENERATOR_SHARE)
    server, clients = (sorted(set().union(*part)) for part in (cores[:own], cores[own:]))
    return ",".join(map(str, server)), ",".join(map(str, clients))


def here() -> tuple[Core, ...]:
    """The whole cores of one memory node of this host that we may use."""
    return whole_cores(HostReader(), os.sched_getaffinity(0))


def moved(thread: int, cpus: frozenset[int]) -> bool:
    """Moves a thread; whether it was elsewhere. Raises HostError where that is not allowed."""
    with suppress(ProcessLookupError):
        if os.sched_getaffinity(thread) == cpus:
            return False
        try:
            os.sched_setaffinity(thread, cpus)
        except PermissionError as error:
            raise HostError(f"thread {thread} may not be moved: {error.strerror}") from error
        return True
    return False
