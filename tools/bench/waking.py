"""Fewer wake-ups at one and few connections: what the generator and its server take together.

With few connections both sides sleep and wake each other up. Three things change how often, or what
it costs: a generator that spins before it sleeps, both sides on one processor, each on its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from bench import point, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import BenchArm, Sample, steady
from dbdyno.engine import LabServer
from dbdyno.host import core_sets

CONNECTIONS = (1, 2, 4)
ASLEEP, FREE = "asleep", "free"
"""The generator, where it is held against itself: its threads sleep; anything runs anywhere."""
PROCESSORS_MIN = 2
Processors = frozenset[int]


def measure(bench: Bench) -> Iterator[Figure]:
    """A thread for each connection that spins or not; one thread and its server placed or not."""
    with server.running() as running:
        server.make_accounts(running, point.SCALE)
        for connections in CONNECTIONS:
            yield from measure_with(bench, running, connections)


def measure_with(bench: Bench, running: LabServer, connections: int) -> Iterator[Figure]:
    """The same with so many connections."""
    address = server.address_of(running)
    everywhere = frozenset(os.sched_getaffinity(0))

    def ours(**keys: int | str) -> BenchArm:
        one = point.generator(bench, address, point.ACCOUNT, connections, keys)
        return together(running, one)

    spin, sleep = (ours(threads=connections, wait=wait) for wait in ("spin", "auto"))
    subject = Subject(measurement="spin", connections=connections)
    yield from compare(bench, subject, spin, replace(sleep, name=ASLEEP))
    free = placed(running, replace(ours(), name=FREE), everywhere, everywhere)
    for name, (theirs, its) in places(everywhere).items():
        one = placed(running, ours(), theirs, its)
        yield from compare(bench, replace(subject, measurement=name), one, free)


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
        core_sets.move(running.postmaster_pid, servers)
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, clients)  # what is started inherits it
        try:
            return client.run(seconds)
        finally:
            os.sched_setaffinity(0, before)

    return replace(client, run=run)
