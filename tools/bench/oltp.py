"""sysbench's scripts as the shipped workload has them, beside sysbench itself on the same table."""

from collections.abc import Iterator

from bench import arms, jobs, point, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import BenchArm, after
from dbdyno.engine import LabServer
from dbdyno.model import Address, Json

SCRIPTS = {"get": "oltp_point_select", "read": "oltp_read_only", "put": "oltp_update_index"}
"""By what the table calls them."""
THREADS = ((1, 1), (8, 1), (8, 8))
"""Connections, and the generator's threads for them; sysbench has a thread for each connection."""
ROWS = point.SBTEST.rows
THROUGHPUT_MIN = 1.0
SERVER_WITHIN = 0.05
"""Both send the server the same work."""


def measure(bench: Bench) -> Iterator[Figure]:
    """Each script: the client's CPU, throughput, the server's CPU."""
    with server.running() as running:
        point.make_sbtest(running)
        running.execute(f"ALTER DATABASE {server.DATABASE} SET synchronous_commit = off")
        address = server.address_of(running)
        for name, script in SCRIPTS.items():
            for connections, threads in THREADS:
                yield from compare(
                    bench,
                    Subject(
                        measurement=name if threads == 1 else f"{name}/{threads}",
                        connections=connections,
                        throughput_min=THROUGHPUT_MIN,
                        server_within=SERVER_WITHIN,
                    ),
                    settled(running, generator(bench, address, script, (connections, threads))),
                    settled(running, arms.sysbench(address, ROWS, connections, script)),
                )


def generator(bench: Bench, address: Address, script: str, size: tuple[int, int]) -> BenchArm:
    """The generator with a script, on so many connections and threads."""
    connections, threads = size

    def job(seconds: float) -> Json:
        made = jobs.oltp(address, script, rows=ROWS, connections=connections, seconds=seconds)
        return made | {"threads": threads}

    return arms.dyno(bench.generator, job)


def settled(running: LabServer, arm: BenchArm) -> BenchArm:
    """The arm, observed; dead rows of the run before are not its to pay for."""

    def vacuum() -> None:
        running.execute("VACUUM sbtest1")

    return after(vacuum, server.observed(running, arm))
