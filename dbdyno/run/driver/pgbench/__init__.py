"""pgbench as the load of a step: one program for all arms, whose log tells every transaction.

pgbench is started with a transaction log that leaves nothing out, and its window lies within its
run: when it is over, dyno sends the signal of pgbench's own timer (SIGALRM, as `-T` has it sent),
and reads the log. So sessions are there at both ends of the window, and their costs are known.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.model import Json, Plan, Step, engine
from dbdyno.model.error import PlanError
from dbdyno.model.events import Told
from dbdyno.model.job import connections, server_json
from dbdyno.run.driver.interface import Bench
from dbdyno.run.driver.pgbench import client
from dbdyno.run.driver.pgbench.run import Run
from dbdyno.run.driver.program import VERSION_DIGITS, of_server

LOG = "log"
"""How the names of its log's files begin, in a folder of their own."""
SEED_FROM = 11
"""The major version from which on pgbench takes a seed."""
SEEDS = 2**32


class Pgbench:
    """pgbench as a driver."""

    name = client.NAME
    tells: frozenset[Told] = frozenset({"seconds", "histograms", "connections", "lag"})

    def check(self, step: Step, plan: Plan, build: Build | None) -> None:
        """Raises PlanError where it does not speak to the arm, or lacks itself or a script."""
        job = step.job
        its = engine.of(job["engine"])
        if "pgbench" not in its.can:
            raise PlanError(
                f"{job['workload']}: step `{step.name}`: key `driver`: pgbench cannot connect to "
                f"{its.product}: remove it from the plan's arms, or the step from its `steps`"
            )
        for one, path in _scripts(job):
            if not path.is_file():
                raise PlanError(
                    f"{job['workload']}: step `{step.name}`: key `pgbench.scripts`: there is no "
                    f"file `{one['name']}`: write its path relative to the workload file"
                )
        own = job["pgbench"]["program"] == client.OWN
        if not (own and build is not None and not build.made):  # once made it has one
            client.client(job, build)

    def version(self, step: Step) -> str:
        """Its version, and a hash of the scripts that are files."""
        asked = step.job["pgbench"]["program"]
        version = asked if asked == client.OWN else client.client(step.job, None).version
        scripts = [path.read_bytes() for _, path in _scripts(step.job)]
        if not scripts:
            return version
        digest = hashlib.sha256(b"\0".join(scripts)).hexdigest()[:VERSION_DIGITS]
        return f"{version}, scripts {digest}"

    def prepare(self, step: Step, bench: Bench) -> Json:
        """The job: how pgbench is called, and what its environment tells it of the server.

        Raises PlanError where there is no such pgbench.
        """
        address = bench.server.load_address
        assert address is not None, "what pgbench speaks to has an address"
        job = step.job
        used = client.client(job, bench.build)
        count = connections(job)
        threads = min(count, bench.threads or len(os.sched_getaffinity(0)))
        mark = f"dyno-pgbench-{time.monotonic_ns()}"
        return job | {
            "seed": bench.seed,
            "threads": threads,
            "engine": bench.server.engine,
            "server": server_json(address),
            "program": client.NAME,
            "version": used.version,
            "major": used.major,
            "command": [str(used.path), *words(job, used.major, threads, bench.seed)],
            "session": mark,
            "environment": of_server(address) | {"PGAPPNAME": mark},
            "report": "log",
        }

    def start(self, job: Json, keep: Callable[[str], None], cpus: str | None) -> Run:
        """pgbench, waiting for `go`."""
        return Run(job, keep, cpus=cpus)


def words(job: Json, major: int, threads: int, seed: int) -> list[str]:
    """The arguments of pgbench; it runs until it is told to end, its `-T` is longer than that."""
    its = job["pgbench"]
    arguments = ["-n", "-l", f"--log-prefix={LOG}", "-T", str(math.ceil(job["limit_s"]) + 1)]
    arguments += ["-c", str(connections(job)), "-j", str(threads), "-M", its["protocol"]]
    if major >= SEED_FROM:
        arguments.append(f"--random-seed={seed % SEEDS}")
    arguments += its["options"]
    files = {one["name"]: path for one, path in _scripts(job)}
    for one in its["scripts"]:
        word = one["name"] if one["builtin"] else files[one["name"]].absolute()
        arguments += ["-b" if one["builtin"] else "-f", f"{word}@{one['weight']}"]
    return arguments


def _scripts(job: Json) -> list[tuple[Json, Path]]:
    """The scripts that are files, by their path from the workload file on."""
    folder = Path(job["workload"]).parent
    return [
        (script, folder / script["name"])
        for script in job["pgbench"]["scripts"]
        if not script["builtin"]
    ]
