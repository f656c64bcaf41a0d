"""l.i0 of the Insert Benchmark, CPU per row, beside a Python client like the published one."""

from __future__ import annotations

from collections.abc import Iterator

from bench import arms, jobs, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import after, steady
from dbdyno.engine import LabServer
from dbdyno.model import Json

CPU_MAX = 0.10
CLIENTS = (1, 4)


def measure(bench: Bench) -> Iterator[Figure]:
    """The generator beside the Python client, with one client and with several."""
    for clients in CLIENTS:
        with server.running() as running:
            yield from measure_with(bench, running, clients)


def measure_with(bench: Bench, running: LabServer, clients: int) -> Iterator[Figure]:
    """The two with so many clients, a connection and an empty table for each.

    Both without their start: the Python client leaves out its own.
    """
    address = server.address_of(running)
    running.execute(f"ALTER DATABASE {server.DATABASE} SET synchronous_commit = off")
    running.execute(*jobs.insert(address, seconds=bench.seconds, clients=clients)[1])

    def job(seconds: float) -> Json:
        return jobs.insert(address, seconds=seconds, clients=clients)[0]

    def empty() -> None:
        running.execute(*(f"TRUNCATE pi{number}" for number in range(1, clients + 1)))

    yield from compare(
        bench,
        Subject(measurement="insert", connections=clients, cpu_max=CPU_MAX),
        after(empty, steady(arms.dyno(bench.generator, job, rows=True))),
        after(empty, arms.python_client(address, clients)),
    )
