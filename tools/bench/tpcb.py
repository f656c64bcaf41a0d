"""pgbench's tpcb-like transaction: seven prepared statements, eight clients, a commit each."""

from __future__ import annotations

from collections.abc import Iterator

from bench import contenders, jobs, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import after
from dbdyno.model import Json

CONNECTIONS = 8
SCALE = 10
"""At least as many branches as connections, or clients wait for each other's locks."""
CPU_MAX = THROUGHPUT_MIN = 1.0


def measure(bench: Bench) -> Iterator[Figure]:
    """The generator beside pgbench."""
    with server.running() as running:
        server.make_accounts(running, SCALE)
        address = server.address_of(running)

        def job(seconds: float) -> Json:
            return jobs.tpcb(address, scale=SCALE, connections=CONNECTIONS, seconds=seconds)

        def freshen() -> None:
            server.freshen_tpcb(running)

        yield from compare(
            bench,
            Subject(
                measurement="tpcb",
                connections=CONNECTIONS,
                cpu_max=CPU_MAX,
                throughput_min=THROUGHPUT_MIN,
            ),
            after(freshen, contenders.dyno(bench.generator, job)),
            after(freshen, contenders.pgbench(address, "tpcb-like", CONNECTIONS)),
        )
