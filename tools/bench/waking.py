"""Fewer wake-ups at one and few connections: what the generator and its server take together.

With few connections both sides sleep and wake each other up. What that costs depends on where they
run: both sides on one processor, or each on its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from bench import point, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import BenchArm, Sample, steady
from dbdyno.engine import LabServer
from dbdyno.host import core_sets, process
from dbdyno.model.error import HostError

CONNECTIONS = (1, 2, 4)
FREE = "free"
"""The generator, where it is held against itself: anything runs anywhere."""
PROCESSORS_MIN = 2
Processors = frozenset[int]
PASSES_MAX = 100
"""A server that makes threads faster than they are moved is not to hold up the bench for ever."""
BIRTH_S = 0.25
"""A process that is being born is listed after so long at the latest."""


def measure(bench: Bench) -> Iterator[Figure]:
    """One thread and its server, placed or not."""
    with server.running() as running:
        server.make_accounts(running, point.SCALE)
        for connections in CONNECTIONS:
            yield from measure_with(bench, running, connections)


def measure_with(bench: Bench, running: LabServer, connections: int) -> Iterator[Figure]:
    """The same with so many connections."""
    address = server.address_of(running)
    everywhere = frozenset(os.sched_getaffinity(0))
    own = point.generator(bench, address, point.ACCOUNT, connections, {})
    ours = together(running, own)
    free = placed(running, replace(ours, name=FREE), everywhere, everywhere)
    for name, (theirs, its) in places(everywhere).items():
        subject = Subject(measurement=name, connections=connections)
        yield from compare(bench, subject, placed(running, ours, theirs, its), free)


def places(everywhere: Processors) -> dict[str, tuple[Processors, Processors]]:
    """By name: the server's processors and the generator's; none where there is one processor."""
    if len(everywhere) < PROCESSORS_MIN:
        return {}
    first, second = (frozenset({one}) for one in sorted(everywhere)[:PROCESSORS_MIN])
    return {"same": (first, first), "apart": (first, second)}


def together(running: LabServer, client: BenchArm) -> BenchArm:
    """The client without connecting; its CPU has that of the server's sessions in it."""
    observed = steady(server.observed(running, client))

    def run(seconds: float) -> Sample:
        sample = observed.run(seconds)
        assert sample.server_s is not None, "it is observed"
        return replace(sample, system_s=sample.system_s + sample.server_s)

    return replace(observed, run=run)


def placed(
    running: LabServer, client: BenchArm, servers: Processors, clients: Processors
) -> BenchArm:
    """The client, with the server and itself on these processors while it runs."""

    def run(seconds: float) -> Sample:
        assert running.postmaster_pid is not None, "it runs"
        move(running.postmaster_pid, servers)
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, clients)  # what is started inherits it
        try:
            return client.run(seconds)
        finally:
            os.sched_setaffinity(0, before)

    return replace(client, run=run)


def move(pid: int, cpus: frozenset[int]) -> None:
    """Moves a process with all its threads, its children and theirs, onto these processors.

    Who is born meanwhile inherits the place of its parent, perhaps the old one, and is listed only
    when it is whole: so it looks until all are there, and a moment later still are. Raises
    HostError where that does not come to an end, or is not allowed.
    """
    settled = False
    for _ in range(PASSES_MAX):
        elsewhere = [thread for thread in threads(pid) if core_sets.moved(thread, cpus)]
        if not elsewhere and settled:
            return
        settled = not elsewhere
        if settled:
            time.sleep(BIRTH_S)
    raise HostError(f"process {pid} makes new ones faster than they can be moved")


def threads(pid: int) -> Iterator[int]:
    """All threads of a process, of its children and theirs, as they are now."""
    with suppress(FileNotFoundError, ProcessLookupError):
        yield from map(int, os.listdir(process.PROC / str(pid) / "task"))
        for child in process.children(pid):
            yield from threads(child)
