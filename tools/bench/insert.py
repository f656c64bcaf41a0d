"""l.i0 of the Insert Benchmark, CPU per row, beside a Python client like the published one."""

from __future__ import annotations

from collections.abc import Iterator

from bench import contenders, jobs, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import after, steady
from dbdyno.model import Json

CPU_MAX = 0.10


def measure(bench: Bench) -> Iterator[Figure]:
    """The generator beside the Python client, one connection each, into an empty table.

    Both without their start: the Python client leaves out its own.
    """
    with server.running() as running:
        address = server.address_of(running)
        running.execute(f"ALTER DATABASE {server.DATABASE} SET synchronous_commit = off")
        running.execute(*jobs.insert(address, seconds=bench.seconds)[1])

        def job(seconds: float) -> Json:
            return jobs.insert(address, seconds=seconds)[0]

        def empty() -> None:
            running.execute("TRUNCATE pi1")

        yield from compare(
            bench,
            Subject(measurement="insert", connections=1, cpu_max=CPU_MAX),
            after(empty, steady(contenders.dyno(bench.generator, job, rows=True))),
            after(empty, contenders.python_client(address)),
        )
