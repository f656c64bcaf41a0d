"""pgbench as the load of a step: one program for all arms, whose log tells every transaction.

pgbench is started with a transaction log that leaves nothing out, and its window lies within its
run: when it is over, dyno sends the signal of pgbench's own timer (SIGALRM, as `-T` has it sent),
and reads the log. So sessions are there at both ends of the window, and their costs are known.
"""

import math
import os
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from dbdyno.builds import Build
from dbdyno.model import Plan, Step, engine
from dbdyno.model.error import PlanError
from dbdyno.model.events import Told
from dbdyno.model.job import Job
from dbdyno.run.driver.benchmark import of_bench, version_with
from dbdyno.run.driver.interface import Bench
from dbdyno.run.driver.pgbench import client
from dbdyno.run.driver.pgbench.run import PgbenchRun

LOG = "log"
"""How the names of its log's files begin, in a folder of their own."""
SEED_FROM = 11
"""The major version from which on pgbench takes a seed."""
SEEDS = 2**32


class PgbenchDriver:
    """pgbench as a driver."""

    name = client.NAME
    tells: frozenset[Told] = frozenset({"seconds", "histograms", "connections", "lag"})

    def check(self, step: Step, plan: Plan, build: Build | None) -> None:
        """Raises PlanError where it does not speak to the arm, or lacks itself or a script."""
        job = step.job
        traits = engine.of(job.engine)
        if "pgbench" not in traits.can:
            raise PlanError(
                f"{job.workload}: step `{step.name}`: key `driver`: pgbench cannot connect to "
                f"{traits.product}: remove it from the plan's arms, or the step from its `steps`"
            )
        for name, path in _scripts(job).items():
            if not path.is_file():
                raise PlanError(
                    f"{job.workload}: step `{step.name}`: key `pgbench.scripts`: there is no "
                    f"file `{name}`: write its path relative to the workload file"
                )
        own = client.called(job).program == client.OWN
        if not (own and build is not None and not build.made):  # once made it has one
            client.client(job, build)

    def version(self, step: Step) -> str:
        """Its version, and a hash of the scripts that are files."""
        program = client.called(step.job).program
        version = program if program == client.OWN else client.client(step.job, None).version
        return version_with(version, "scripts", list(_scripts(step.job).values()))

    def prepare(self, step: Step, bench: Bench) -> Job:
        """The job: how pgbench is called, and what its environment tells it of the server.

        Raises PlanError where there is no such pgbench.
        """
        job = step.job
        used = client.client(job, bench.build)
        threads = min(job.connections, bench.threads or len(os.sched_getaffinity(0)))
        return replace(
            of_bench(job, bench, client.NAME),
            threads=threads,
            version=used.version,
            major=used.major,
            command=(str(used.path), *words(job, used.major, threads, bench.seed)),
            report="log",
        )

    def start(self, job: Job, keep: Callable[[str], None], cpus: str | None) -> PgbenchRun:
        """pgbench, waiting for `go`."""
        return PgbenchRun(job, keep, cpus=cpus)


def words(job: Job, major: int, threads: int, seed: int) -> list[str]:
    """The arguments of pgbench; it runs until it is told to end, its `-T` is longer than that."""
    called, files = client.called(job), _scripts(job)
    arguments = ["-n", "-l", f"--log-prefix={LOG}", "-T", str(math.ceil(job.limit_s) + 1)]
    arguments += ["-c", str(job.connections), "-j", str(threads), "-M", called.protocol]
    if major >= SEED_FROM:
        arguments.append(f"--random-seed={seed % SEEDS}")
    arguments += called.options
    for script in called.scripts:
        word = script.name if script.builtin else files[script.name].absolute()
        arguments += ["-b" if script.builtin else "-f", f"{word}@{script.weight}"]
    return arguments


def _scripts(job: Job) -> dict[str, Path]:
    """The scripts that are files, by their names, paths from the workload file on."""
    folder = Path(job.workload).parent
    scripts = client.called(job).scripts
    return {script.name: folder / script.name for script in scripts if not script.builtin}
