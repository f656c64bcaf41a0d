"""What samples of waits cost a server: the generator's point queries with samples and without.

Beside it, on MySQL and MariaDB, what InnoDB's mutexes and rw-locks cost that tell theirs, too.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from bench import arms, mysql, point, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import BenchArm, Sample
from bench.process import ProgramFailed
from bench.server import address_of
from dbdyno.engine import Build, LabServer
from dbdyno.engine.mysql.instruments import SETTING
from dbdyno.host import place
from dbdyno.model import Arm, Observation
from dbdyno.model.job import Job

EVERY = Observation(waits_s=0.05)
CONNECTIONS = 2
JOB = Job(clients=1)
"""Whose statements are sampled does not matter here."""
SHORT = {"postgres": "pg", "mysql": "mysql", "mariadb": "maria"}
"""What the table calls engines; with a + those whose latches tell their waits."""
LATCHES = {"performance_schema_instrument": "wait/synch/%/innodb/%=ON"}


def measure(bench: Bench) -> Iterator[Figure]:
    """Throughput and the server's CPU per query, sampled by not sampled, of each engine here."""
    with server.running() as running:
        point.make_sbtest(running)
        plain = point.generator(bench, address_of(running), point.SBTEST, CONNECTIONS)
        yield from pairs(
            bench, SHORT["postgres"], running, running, plain, plain, server.sessions_s
        )
    for engine in mysql.VARIABLES:
        here = mysql.newest(engine)
        if here is None:
            why = mysql.missing(engine)
            yield Figure(measurement=SHORT[engine], beside="no samples", what="CPU", missing=why)
            continue
        yield from of_mysql(bench, engine, here)


def of_mysql(bench: Bench, engine: str, here: Build) -> Iterator[Figure]:
    """The same of a MySQL or MariaDB, and of one beside it whose latches tell their waits."""
    if arms.sysbench_program() is None:
        yield Figure(
            measurement=SHORT[engine], beside="no samples", what="CPU", missing=arms.NO_SYSBENCH
        )
        return
    settings = mysql.SETTINGS | {SETTING: "ON"}
    arm = Arm(name="bench", engine=engine, base_dir=here.base_dir, settings=settings)
    telling = replace(arm, name="bench-latches", settings=settings | LATCHES)
    with ExitStack() as stack:
        plain = stack.enter_context(server.running(arm, here))
        log_dir = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        where = place.default(log_dir=log_dir, engine=engine)
        latches = stack.enter_context(server.running_at(where, telling, here))
        by = {}
        for one in (plain, latches):
            mysql.make_sbtest(one, address_of(one))
            by[one.name] = mysql.generator(bench, engine, address_of(one), CONNECTIONS)
        base = by[plain.name]
        yield from pairs(bench, SHORT[engine], plain, plain, base, base, server.process_s)
        yield from pairs(
            bench, f"{SHORT[engine]}+", latches, plain, by[latches.name], base, server.process_s
        )


def pairs(  # noqa: PLR0913 (two servers and their loads, each by its name)
    bench: Bench,
    name: str,
    asked: LabServer,
    left: LabServer,
    ours: BenchArm,
    theirs: BenchArm,
    cpu_s: Callable[[LabServer], float],
) -> Iterator[Figure]:
    """Queries to a server that is sampled beside such to one that is not."""
    yield from compare(
        bench,
        Subject(measurement=name, connections=CONNECTIONS),
        server.observed(asked, replace(sampled(asked, ours), name="samples"), cpu_s),
        server.observed(left, replace(theirs, name="no samples"), cpu_s),
    )


def sampled(running: LabServer, arm: BenchArm) -> BenchArm:
    """The arm, the server's sessions being sampled meanwhile."""

    def run(seconds: float) -> Sample:
        address = address_of(running)
        sampler = running.client.waits(address, JOB, EVERY, lambda line: None)
        with sampler:
            sampler.begin()
            sample = arm.run(seconds)
        if sampler.failure is not None:
            raise ProgramFailed(sampler.failure)
        return sample

    return replace(arm, run=run)
