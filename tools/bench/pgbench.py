"""pgbench's three scripts as the shipped workload has them, beside pgbench itself."""

from collections.abc import Iterator
from dataclasses import replace

from bench import arms, jobs, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import BenchArm, after
from dbdyno.engine import LabServer
from dbdyno.model import Json

SCRIPTS = {"select": "select-only", "simple": "simple-update", "tpcb": "tpcb-like"}
"""By what the table calls them."""
CPU_MAX = {1: None, 8: 0.9, 64: 0.9}
"""The targets by number of connections; None: shown without one."""
SCALE = 64
"""At least as many branches as connections, or clients wait for each other's locks."""
SHARED_BUFFERS = "2GB"
"""All rows of this scale, and what updates leave behind."""
THROUGHPUT_MIN, SERVER_WITHIN = 1.0, 0.05


def measure(bench: Bench) -> Iterator[Figure]:
    """Each script: the client's CPU, throughput, the server's CPU."""
    settings = server.SETTINGS | {"shared_buffers": SHARED_BUFFERS}
    with server.running(replace(server.NEWEST, settings=settings)) as running:
        server.make_accounts(running, SCALE)
        for name, script in SCRIPTS.items():
            for connections, cpu_max in CPU_MAX.items():
                yield from compare(
                    bench,
                    Subject(
                        measurement=name,
                        connections=connections,
                        cpu_max=cpu_max,
                        throughput_min=THROUGHPUT_MIN,
                        server_within=SERVER_WITHIN,
                    ),
                    fresh(running, generator(bench, running, script, connections)),
                    fresh(running, arms.pgbench(server.address_of(running), script, connections)),
                )


def generator(bench: Bench, running: LabServer, script: str, connections: int) -> BenchArm:
    """The generator with a script of the workload, on one thread, as pgbench has it here."""
    address = server.address_of(running)

    def job(seconds: float) -> Json:
        return jobs.pgbench(
            address, script, scale=SCALE, connections=connections, seconds=seconds
        ) | {"threads": 1}

    return arms.dyno(bench.generator, job)


def fresh(running: LabServer, arm: BenchArm) -> BenchArm:
    """The arm, observed; what the run before left behind is not its to pay for."""

    def freshen() -> None:
        server.freshen_tpcb(running)

    return after(freshen, server.observed(running, arm))
