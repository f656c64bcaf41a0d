"""Fewer wake-ups at one and few connections: what the generator and its server take together.

With few connections both sides sleep and wake each other up. Three things change how often, or what
it costs: a generator that spins before it sleeps, both sides on one processor, each on its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from bench import contenders, jobs, point, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import Contender, Sample, steady
from dbdyno.engine import Server
from dbdyno.host import core_sets
from dbdyno.model import Address, Json

CONNECTIONS = (1, 2, 4)
ASLEEP, FREE = "asleep", "free"
"""The generator, where it is held against itself: its threads sleep; anything runs anywhere."""
PROCESSORS_MIN = 2
Processors = frozenset[int]


def measure(bench: Bench) -> Iterator[Figure]:
    """A thread for each connection that spins or not; one thread and its server placed or not."""
    everywhere = frozenset(os.sched_getaffinity(0))
    with server.running() as running:
        server.make_accounts(running, point.SCALE)
        address = server.address_of(running)
        for connections in CONNECTIONS:
            spin, sleep = (
                together(running, a_thread_each(bench, address, connections, wait))
                for wait in ("spin", "auto")
            )
            sleep = replace(sleep, name=ASLEEP)
            yield from compare(bench, subject("spin", connections), spin, sleep)
            ours = together(running, point.generator(bench, address, point.ACCOUNT, connections))
            free = placed(running, ours, everywhere, everywhere)
            for name, (theirs, its) in places(everywhere).items():
                one = placed(running, ours, theirs, its)
                yield from compare(bench, subject(name, connections), one, replace(free, name=FREE))


def a_thread_each(bench: Bench, address: Address, connections: int, wait: str) -> Contender:
    """The generator with the point query, and a thread for each connection that waits so."""

    def job(seconds: float) -> Json:
        query = point.ACCOUNT
        asked = jobs.point(
            address, query.sql, key_max=query.rows, connections=connections, seconds=seconds
        )
        # A client has one thread at most.
        role = asked["roles"][0] | {"per": "client", "connections": 1}
        each = {"clients": connections, "threads": connections, "wait": wait, "roles": [role]}
        return asked | each

    return contenders.dyno(bench.generator, job)


def places(everywhere: Processors) -> dict[str, tuple[Processors, Processors]]:
    """By name: the server's processors and the generator's; none where there is one processor."""
    if len(everywhere) < PROCESSORS_MIN:
        return {}
    first, second = (frozenset({one}) for one in sorted(everywhere)[:PROCESSORS_MIN])
    return {"same": (first, first), "apart": (first, second)}


def subject(measurement: str, connections: int) -> Subject:
    """A row of the table."""
    return Subject(measurement=measurement, connections=connections)


def together(running: Server, client: Contender) -> Contender:
    """The client without connecting; its CPU has that of the server's sessions in it."""
    observed = steady(server.observed(running, client))

    def run(seconds: float) -> Sample:
        sample = observed.run(seconds)
        return replace(sample, system_s=sample.system_s + (sample.server_s or 0.0))

    return replace(observed, run=run)


def placed(
    running: Server, client: Contender, servers: Processors, clients: Processors
) -> Contender:
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
