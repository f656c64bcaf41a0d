"""sysbench as the load of a step: its own scripts and yours, one sysbench for all arms.

sysbench runs the step's script by way of a file of dyno's (`script.py`), so that all sessions are
there at both ends of the window. Its warm-up ends with a report of its own
(`--report-checkpoints`), after which it counts anew: so the last report and the histogram are of
the window.
"""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from dbdyno.builds import Build
from dbdyno.host.program import of_user
from dbdyno.model import Address, Plan, Step, engine
from dbdyno.model.error import PlanError
from dbdyno.model.events import Told
from dbdyno.model.job import Job, external
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run.driver.benchmark import of_bench, version_with
from dbdyno.run.driver.foreign import said
from dbdyno.run.driver.interface import Bench
from dbdyno.run.driver.sysbench import report
from dbdyno.run.driver.sysbench.run import SysbenchRun
from dbdyno.workload.sysbench import is_file

SEEDS = 2**31 - 1
"""0 would have sysbench take the time."""


class SysbenchDriver:
    """sysbench as a driver."""

    name = "sysbench"
    tells: frozenset[Told] = frozenset({"seconds", "histograms", "connections", "lag"})

    def check(self, step: Step, plan: Plan, build: Build | None) -> None:
        """Raises PlanError where it does not speak to the arm, or lacks itself or its script."""
        job = step.job
        where = f"{job.workload}: step `{step.name}`: key "
        traits = engine.of(job.engine)
        if traits.sysbench is None:
            raise PlanError(f"{where}`driver`: sysbench cannot connect to {traits.product}")
        script = called(job).script
        path = program(job)
        if is_file(script):
            if not _file(job).is_file():
                raise PlanError(
                    f"{where}`sysbench.script`: there is no file `{script}`: write its path from "
                    "the workload file on"
                )
        elif report.NO_SCRIPT in said(path, script, "help"):
            raise PlanError(
                f"{where}`sysbench.script`: {path} has no script `{script}`: write the name of one "
                "that comes with it (oltp_point_select …), or the path of a .lua file"
            )

    def version(self, step: Step) -> str:
        """Its version, and a hash of the script where that is a file."""
        scripts = [_file(step.job)] if is_file(called(step.job).script) else []
        return version_with(_version(step.job), "script", scripts)

    def prepare(self, step: Step, bench: Bench) -> Job:
        """The job: how sysbench is called, and what its environment tells it of the server.

        Raises PlanError where there is no such sysbench, or it cannot speak to the server.
        """
        job = of_bench(step.job, bench, self.name)
        assert isinstance(job.server, Endpoint), "it speaks to one server"
        return replace(
            job,
            version=_version(job),
            command=(str(program(job)), *words(job, job.server.address, bench.seed)),
            folder=str(_file(job).parent.absolute()),
            report="seconds and histogram",
        )

    def start(self, job: Job, keep: Callable[[str], None], cpus: str | None) -> SysbenchRun:
        """sysbench, whose threads have their sessions before `ready`."""
        return SysbenchRun(job, keep, cpus=cpus)


def called(job: Job) -> external.Sysbench:
    """How the step calls sysbench."""
    assert job.sysbench is not None, "sysbench makes its load"
    return job.sysbench


def program(job: Job) -> Path:
    """The file of sysbench itself. Raises PlanError where there is none."""
    name = called(job).program
    path = of_user(name, Path(job.workload).parent)
    if path is None:
        raise PlanError(
            f"{job.workload}: step `{job.step}`: key `sysbench.program`: there is no program "
            f"`{name}`: write its path relative to the workload file, or install sysbench"
        )
    return path


def words(job: Job, address: Address, seed: int) -> list[str]:
    """The arguments of sysbench, as on its command line."""
    assert job.stop.seconds is not None, "its window has a length"
    seconds, warmup_s = int(job.stop.seconds), int(job.stop.warmup_s)
    arguments = [f"--threads={job.connections}", f"--time={warmup_s + seconds}", "--events=0"]
    arguments += ["--report-interval=1", "--histogram=on", f"--rand-seed={seed % SEEDS + 1}"]
    if warmup_s:
        arguments.append(f"--report-checkpoints={warmup_s}")
    call = called(job)
    return [*arguments, *_server(job, address), *call.options, call.script, "run"]


def _server(job: Job, address: Address) -> list[str]:
    """The options that name the server. Raises PlanError where it cannot be told safely."""
    name = engine.of(job.engine).sysbench
    where = f"{job.workload}: step `{job.step}`: key `driver`: sysbench"
    by_words = address.host.startswith("/") and not Path(address.host).is_dir()
    host = address.host if name == "pgsql" else address.ip or address.host
    place = {"socket": address.host} if by_words else {"host": host, "port": address.port}
    if address.tls is not None and (by_words or name != "pgsql"):  # libpq reads its environment
        raise PlanError(f"{where} takes no TLS settings: give the arm another driver")
    options = place | {"user": address.user, "db": address.database}
    return [f"--db-driver={name}", *(f"--{name}-{key}={value}" for key, value in options.items())]


def _file(job: Job) -> Path:
    return Path(job.workload).parent / called(job).script


def _version(job: Job) -> str:
    """Raises PlanError where the program says none, and so is no sysbench from 1.0 on."""
    path = program(job)
    version = report.version(said(path, "--version"))
    if version is None:
        raise PlanError(
            f"{job.workload}: step `{job.step}`: key `sysbench.program`: {path} is not "
            "sysbench of version 1.0 or later"
        )
    return version
