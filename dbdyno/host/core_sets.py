"""Two disjoint sets of whole cores of one memory node, and moving processes from one to the other.

All threads of a core are in one set, as they share its units and its first caches.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dbdyno.host import process
from dbdyno.host.capacity import cpus_of
from dbdyno.host.observe import files
from dbdyno.host.observe.processor import CPUS, placed
from dbdyno.host.observe.reader import Reader
from dbdyno.model.error import HostError

NODES = "/sys/devices/system/node"
CORES_MIN = 4
"""Physical cores of a node: with fewer a generator shares its server's core."""
CORES_LEAST = 2
"""One for each arm; with fewer they could not run at once at all."""
GENERATOR_SHARE = 4
"""One in so many cores of a set is the generator's."""
PASSES_MAX = 100
"""A server that makes threads faster than they are moved is not to hold up the lab for ever."""

BIRTH_S = 0.1
"""A process that is being born is listed after so long at the latest."""

Core = frozenset[int]
"""The logical processors of a core."""


@dataclass(frozen=True, kw_only=True)
class CoreSet:
    """The processors of one arm; they are the same where it has a single core."""

    server: frozenset[int]
    generator: frozenset[int]


def whole_cores(reader: Reader, allowed: set[int]) -> tuple[Core, ...]:
    """The cores of the memory node that has most of them, as far as all their threads are allowed.

    In the order of their numbers.
    """
    cores: dict[tuple[int | None, int | None], set[int]] = {}
    for folder in reader.found(f"{CPUS}/cpu[0-9]*/topology"):
        cores.setdefault(placed(folder.parent), set()).add(int(folder.parent.name[3:]))
    whole = [frozenset(cpus) for cpus in cores.values() if cpus <= allowed]
    lists = (files.line(path) for path in reader.found(f"{NODES}/node[0-9]*/cpulist"))
    nodes = [cpus_of(words) for words in lists if words] or [set(allowed)]
    found = max(([core for core in whole if core <= node] for node in nodes), key=len, default=[])
    return tuple(sorted(found, key=min))


def halves(cores: Sequence[Core]) -> tuple[CoreSet, CoreSet]:
    """The cores dealt out to two arms, as many to each; an odd one is left out."""
    each = len(cores) // 2
    return core_set(cores[:each]), core_set(cores[each : 2 * each])


def core_set(cores: Sequence[Core]) -> CoreSet:
    """Its cores for the server, and the last of them for the generator where there are two."""
    apart = max(1, len(cores) // GENERATOR_SHARE) if len(cores) > 1 else 0
    everything = frozenset[int]().union(*cores)
    generator = frozenset[int]().union(*cores[len(cores) - apart :]) if apart else everything
    return CoreSet(server=everything - generator if apart else everything, generator=generator)


def here() -> tuple[Core, ...]:
    """The whole cores of one memory node of this host that we may use."""
    return whole_cores(Reader(), os.sched_getaffinity(0))


def refuse_few(cores: Sequence[Core], *, forced: bool) -> None:
    """Raises HostError where two arms cannot run at once on these cores, or not as they should."""
    if len(cores) >= (CORES_LEAST if forced else CORES_MIN):
        return
    what = f'schedule.interleave: "duet" needs {CORES_MIN} physical cores of one memory node'
    remedy = 'use "turn"' + (
        ', or add duet = "forced" for an estimate without a word' * (len(cores) >= CORES_LEAST)
    )
    raise HostError(f"{what}, and dyno may use {len(cores)} here; {remedy}")


def move(pid: int, cpus: frozenset[int]) -> None:
    """Moves a process with all its threads, its children and theirs, onto these processors.

    Who is born meanwhile inherits the place of its parent, perhaps the old one, and is listed only
    when it is whole: so it looks until all are there, and a moment later still are. Raises
    HostError where that does not come to an end, or is not allowed.
    """
    settled = False
    for _ in range(PASSES_MAX):
        elsewhere = [thread for thread in threads(pid) if moved(thread, cpus)]
        if not elsewhere and settled:
            return
        settled = not elsewhere
        if settled:
            time.sleep(BIRTH_S)
    raise HostError(f"process {pid} makes new ones faster than they can be moved")


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


def threads(pid: int) -> Iterator[int]:
    """All threads of a process, of its children and theirs, as they are now."""
    with suppress(FileNotFoundError, ProcessLookupError):
        yield from map(int, os.listdir(process.PROC / str(pid) / "task"))
        for child in process.children(pid):
            yield from threads(child)


def listed(cpus: frozenset[int]) -> str:
    """The processors as `0,2,3`."""
    return ",".join(map(str, sorted(cpus)))
