"""The bulk load of pgbench's tables beside `pgbench -i`: rows, vacuum and primary keys.

Both load logged tables on the same server in turn, over one connection for each table. The tables
are gone and everything is written out before each load.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from bench import arms, jobs, process, server
from bench.compare import Bench, progress
from bench.figure import Figure, Target
from bench.pairs import alternating
from bench.process import ProgramFailed
from dbdyno import workload
from dbdyno.engine import LabServer
from dbdyno.model import Json

SPEED_MIN = 1.2
LOAD_S_MAX = 3600
SETTINGS = {"shared_buffers": "2GB", "maintenance_work_mem": "512MB"}
TABLES = ("pgbench_history", "pgbench_tellers", "pgbench_accounts", "pgbench_branches")
PHASE = re.compile(
    r"(drop tables|create tables|client-side generate|vacuum|primary keys) ([\d.]+) s"
)
TO_OUTPUT = ("sh", "-c", 'exec "$@" 2>&1', "sh")
"""pgbench tells its phases on standard error."""


def measure(bench: Bench) -> Iterator[Figure]:
    """How many times as fast as `pgbench -i` the workload's fill is, with all that follows."""
    figure = Figure(
        measurement="fill",
        beside="pgbench -i",
        what="speed",
        target=Target(bound=SPEED_MIN, at_least=True),
    )
    if arms.pgbench_program() is None:
        yield replace(figure, missing=arms.NO_PGBENCH)
        return
    scale = max(1, bench.rows // jobs.ACCOUNTS_OF_SCALE)
    with server.running(replace(server.NEWEST, settings=server.SETTINGS | SETTINGS)) as running:
        found = list(pairs(running, bench, scale))
    yield replace(figure, values=tuple(one["faster"] for one in found), detail={"pairs": found})


def pairs(running: LabServer, bench: Bench, scale: int) -> Iterator[Json]:
    """The seconds of each load and its phases, in turn, after one of each that is thrown away."""
    loads: dict[str, Callable[[], Json]] = {
        "fill": lambda: fill(running, bench.generator, scale),
        "pgbench": lambda: prepare(running, scale),
    }
    found = alternating(loads, bench.pairs, lambda load: timed(running, load))
    for number, took in enumerate(found, 1):
        faster = took["pgbench"]["seconds"] / took["fill"]["seconds"]
        progress(f"fill {number}/{bench.pairs}: {took}, {faster:.2f} times as fast")
        yield {"scale": scale, "faster": faster, **took}


def timed(running: LabServer, load: Callable[[], Json]) -> Json:
    """The seconds of a load into a database without the tables, with those of its phases."""
    running.execute(f"DROP TABLE IF EXISTS {', '.join(TABLES)}", "CHECKPOINT")
    begun_s = time.monotonic()
    phases = load()
    return {"seconds": round(time.monotonic() - begun_s, 2), **phases}


def fill(running: LabServer, generator: Path, scale: int) -> Json:
    """Loads as the workload does; the seconds of the rows, and of the vacuum and the keys after."""
    step, *_ = workload.expand(workload.load("pgbench", fill="fast"), {"scale": scale}, "postgres")
    job = jobs.begun_on(server.address_of(running), step.job)
    afterwards = [sql for one in job["fills"] for sql in one["after"]]
    job["fills"] = [one | {"after": []} for one in job["fills"]]
    begun_s = time.monotonic()
    running.execute(*step.setup)
    arms.generate(generator, job, LOAD_S_MAX)
    took = {"generate": time.monotonic() - begun_s, "vacuum": 0.0, "primary keys": 0.0}
    for sql in afterwards:
        begun_s = time.monotonic()
        running.execute(sql)
        if not sql.startswith("SET"):
            took["vacuum" if sql.startswith("VACUUM") else "primary keys"] += (
                time.monotonic() - begun_s
            )
    return {phase: round(seconds, 2) for phase, seconds in took.items()}


def prepare(running: LabServer, scale: int) -> Json:
    """Loads as pgbench does; the seconds of its phases, as its last line has them."""
    program = arms.pgbench_program()
    if program is None:
        raise ProgramFailed(f"pgbench: {arms.NO_PGBENCH}")
    address = server.address_of(running)
    command: list[str | Path] = [*TO_OUTPUT, program, "-i", "-q", "-s", str(scale)]
    command += ["-h", address.host, "-p", str(address.port), "-U", address.user, address.database]
    said = process.run(command, limit_s=LOAD_S_MAX).output
    return {phase: float(seconds) for phase, seconds in PHASE.findall(said.splitlines()[-1])}
