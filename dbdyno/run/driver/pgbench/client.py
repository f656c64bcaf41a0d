"""Finds the pgbench that makes the load: one for all arms, or each arm's own if a step says so."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.engine import installed
from dbdyno.host.program import of_user
from dbdyno.model.error import PlanError
from dbdyno.model.job import Job
from dbdyno.model.job.external import Pgbench
from dbdyno.run.driver.foreign import said
from dbdyno.run.driver.pgbench import report

NAME = "pgbench"
NEWEST = "newest"
OWN = "own"
"""The arm's: what is compared then are two clients, too."""


@dataclass(frozen=True, kw_only=True)
class PgbenchClient:
    """A pgbench of this host."""

    path: Path
    major: int
    version: str  # "15.18"


def client(job: Job, build: Build | Path | None) -> PgbenchClient:
    """The pgbench that a step asks for; `build` is the arm's, or its folder.

    Raises PlanError that names the key.
    """
    program = called(job).program
    where = f"{job.workload}: step `{job.step}`: key `pgbench.program`"
    if program == NEWEST:
        client = newest()
        if client is None:
            raise PlanError(
                f"{where}: there is no pgbench on this host: write the path of one, or install "
                "PostgreSQL's clients"
            )
        return client
    if program == OWN:
        if build is None:
            raise PlanError(
                f'{where}: "own" is the pgbench of an arm\'s build, and dyno does not run this '
                'server: write "newest" or a path'
            )
        path = in_build(build.base_dir if isinstance(build, Build) else build)
        remedy = f'write "{NEWEST}" or a path, or build the server (`dyno server build --help`)'
    elif "/" in program:
        path = (Path(job.workload).parent / program).absolute()
        path = in_build(path) if path.is_dir() else path
        remedy = (
            "write its path relative to the workload file, or the folder of a build that has it"
        )
    else:
        raise PlanError(f'{where}: `{program}` is neither "{NEWEST}" nor "{OWN}" nor a path')
    client = of_file(path)
    if client is None:
        raise PlanError(
            f"{where}: there is no pgbench of version 10 or later at `{path}`: {remedy}"
        )
    return client


def called(job: Job) -> Pgbench:
    """How the step calls pgbench."""
    assert job.pgbench is not None, "pgbench makes its load"
    return job.pgbench


def newest() -> PgbenchClient | None:
    """The newest on this host: of its builds, or in the folders of PATH."""
    here = [client for path in _paths() if (client := of_file(path)) is not None]
    return max(here, key=lambda client: report.order(client.version), default=None)


def _paths() -> Iterator[Path]:
    yield from installed.programs(NAME)
    path = of_user(NAME, Path())
    if path is not None:
        yield path


def in_build(folder: Path) -> Path:
    """The place of pgbench in a build."""
    return folder / "bin" / NAME


def of_file(path: Path) -> PgbenchClient | None:
    """The pgbench in a file; None where there is none, it does not run, or is older than 10."""
    version = report.version(said(path, "--version"))
    if version is None or version[0] < report.MAJOR_MIN:
        return None
    return PgbenchClient(path=path, major=version[0], version=version[1])
