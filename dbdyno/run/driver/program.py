"""A program as the load of a step: what it writes are the contract's events (contract/README.md).

dyno says `hello`, `ready` and `started`, and begins the program then; its first line opens the
window. A figure that a line may leave out, and does, is null: nothing is made up for it. The
program runs as dyno does, in a session of its own, of which nothing is left afterwards.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from dbdyno.builds import Build
from dbdyno.engine.connection import password
from dbdyno.host.program import of_user
from dbdyno.model import Address, Plan, Step
from dbdyno.model.address import PREFERRED
from dbdyno.model.error import PlanError
from dbdyno.model.events import AnyEvent, ReadyEvent, Told, line
from dbdyno.model.job import Job
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.model.job.external import EnvironmentVariable
from dbdyno.run.driver.foreign import ForeignProgram
from dbdyno.run.driver.interface import END_TIMEOUT_S, Bench
from dbdyno.run.driver.lines import LineReader, ProgramLines, hello, now_started
from dbdyno.run.driver.loadgen import placed
from dbdyno.run.driver.pattern import Patterns

VERSION_DIGITS = 12
CLIENTS_OWN = ("PG", "MYSQL_", "LIBMYSQL_")
"""How the variables begin that clients of PostgreSQL, MySQL and MariaDB read."""


class ProgramDriver:
    """A program that a workload file names, as a driver."""

    name = "command"
    tells: frozenset[Told] = frozenset({"seconds", "histograms", "connections", "rows", "lag"})

    def check(self, step: Step, plan: Plan, build: Build | None) -> None:
        """Raises PlanError where the program, or something that it needs, is not there."""
        job, where = step.job, f"{step.job.workload}: step `{step.name}`"
        if of_user(job.command[0], folder(job)) is None:
            raise PlanError(
                f"{where}: key `command`: there is no program `{job.command[0]}`: write its path "
                "relative to the workload file, or install it"
            )
        for word in job.needs:
            if needed(word, folder(job)) is None:
                raise PlanError(f"{where}: key `needs`: {missing(word)}")

    def version(self, step: Step) -> str:
        """A hash of the program, of what it needs, and of those of its arguments that are files."""
        digest, place = hashlib.sha256(), folder(step.job)
        program, *arguments = step.job.command
        for path in (
            of_user(program, place),
            *(place / word for word in arguments),
            *(needed(word, place) for word in step.job.needs),
        ):
            if path is not None and path.is_file():
                digest.update(path.read_bytes())
        return digest.hexdigest()[:VERSION_DIGITS]

    def prepare(self, step: Step, bench: Bench) -> Job:
        """The job: how the program is called, and what it is told in its environment."""
        address = bench.server.load_address
        about = {
            "DYNO_ENGINE": bench.server.engine,
            "DYNO_STEP": step.name,
            "DYNO_ARM": bench.arm,
            "DYNO_BLOCK": str(bench.block),
            "DYNO_CLIENTS": str(step.job.connections),
            "DYNO_SECONDS": str(step.job.stop.seconds or ""),
            "DYNO_WARMUP_S": str(step.job.stop.warmup_s),
            "DYNO_SEED": str(bench.seed),
        }
        return replace(
            step.job,
            seed=bench.seed,
            engine=bench.server.engine,
            server=None if address is None else Endpoint.of(address),
            program=called(step.job),
            version=self.version(step),
            folder=str(folder(step.job).absolute()),
            environment={**about, **of_server(address)},
            report="events",
        )

    def start(self, job: Job, keep: Callable[[str], None], cpus: str | None) -> ProgramRun:
        """A load that begins with `go`."""
        return ProgramRun(job, keep, cpus=cpus)


def folder(job: Job) -> Path:
    """The program's working folder: the workload file's."""
    return Path(job.workload).parent


def needed(word: str, place: Path) -> Path | None:
    """What a word of `needs` names: a program of PATH, or by a path from `place` on a file.

    `$NAME` in it stands for a variable of dyno's own environment. None: nothing is there.
    """
    word = os.path.expandvars(word)
    if "/" not in word:
        return of_user(word, place)
    return place / word if (place / word).exists() else None


def missing(word: str) -> str:
    """What is wrong with a word of `needs` that names nothing, and what to do about it."""
    path = os.path.expandvars(word)
    if (unset := re.search(r"\$\{?(\w+)", path)) is not None:
        return f"`{word}`: the environment has no `{unset[1]}`: set it to the folder"
    if "/" not in path:
        return f"there is no program `{path}`: install it"
    return f"there is no `{path}`" + (f" (`{word}`)" if path != word else "")


def called(job: Job) -> str:
    """The program's name in words: its file's, or the beginning of a shell's text."""
    first, *rest = job.command
    text = rest[1].strip().splitlines()[0] if (first, *rest[:1]) == ("sh", "-c") else None
    return text if text is not None else Path(first).name


def of_server(address: Address | None) -> dict[str, str | EnvironmentVariable]:
    """The environment by which clients of all engines find the server; secrets are named only."""
    if address is None:
        return {}
    socket = address.host if address.host.startswith("/") else ""
    variables: dict[str, str | EnvironmentVariable] = {
        "DYNO_HOST": address.host,
        "DYNO_PORT": str(address.port),
        "DYNO_USER": address.user,
        "DYNO_DATABASE": address.database,
        "DYNO_SOCKET": socket,
        "DYNO_PASSWORD": "",
        "PGHOST": address.host,
        "PGPORT": str(address.port),
        "PGUSER": address.user,
        "PGDATABASE": address.database,
        "PGGSSENCMODE": "disable",  # as the load generator, which speaks no GSSAPI
        "MYSQL_HOST": "localhost" if socket else address.ip or address.host,
        "MYSQL_TCP_PORT": str(address.port),
        "MYSQL_UNIX_PORT": socket,
    }
    for name, value in (("PGHOSTADDR", address.ip), ("PGOPTIONS", address.options)):
        if value is not None:
            variables[name] = value
    if address.tls is not None:
        tls = address.tls
        named = {
            "PGSSLMODE": tls.mode,
            "PGSSLROOTCERT": tls.root_certificate,
            "PGSSLCERT": tls.certificate,
            "PGSSLKEY": tls.key,
            "PGSSLNEGOTIATION": "direct" if tls.direct else None,
            "PGCHANNELBINDING": None if tls.channel_binding == PREFERRED else tls.channel_binding,
        }
        variables |= {name: value for name, value in named.items() if value is not None}
    if address.password is not None and address.password.env is not None:
        secret = EnvironmentVariable(address.password.env)
        variables |= {"PGPASSWORD": secret, "MYSQL_PWD": secret, "DYNO_PASSWORD": secret}
    if address.password is not None and address.password.passfile is not None:
        variables["PGPASSFILE"] = str(address.password.passfile)
    return variables


def environment(job: Job) -> dict[str, str]:
    """The whole environment of the program, with what is named there only.

    Of dyno's own it has none of the variables by which clients go elsewhere (CLIENTS_OWN).
    """
    variables = {
        name: value if isinstance(value, str) else os.environ.get(value.env, "")
        for name, value in job.environment.items()
    }
    address = job.server.address if isinstance(job.server, Endpoint) else None
    if address is not None and address.password is not None and address.password.passfile:
        # MySQL's clients read no passfile, nor do many programs.
        variables |= dict.fromkeys(("MYSQL_PWD", "DYNO_PASSWORD"), password(address) or "")
    own = {key: value for key, value in os.environ.items() if not key.startswith(CLIENTS_OWN)}
    return {**own, **variables}


class ProgramRun:
    """A program at work, from `go` on. Use it as a context manager: nothing is left of it."""

    def __init__(self, job: Job, keep: Callable[[str], None], *, cpus: str | None) -> None:
        self._job = job
        self._keep = keep
        self._cpus = cpus
        self._reader: LineReader = (
            ProgramLines(job) if job.pattern is None else Patterns(job, job.pattern)
        )
        self._began = threading.Event()
        self._foreign: ForeignProgram | None = None
        self._scratch: Path | None = None  # the program's folder for temporary files
        self._told_to_end = False

    def go(self) -> None:
        """Lets the program begin, after `ready`."""
        self._began.set()

    def pause(self) -> None:
        """Nobody asks a program for it: plans that would are refused."""
        raise AssertionError("a program cannot pause")

    resume = pause

    def stop(self) -> None:
        """Ends it; after `window_close` only closes its standard input, and it has to end soon."""
        if not self._reader.closed:
            self.hang_up()
            return
        assert self._foreign is not None
        self._foreign.child.hang_up()
        self._foreign.end_within(END_TIMEOUT_S)

    def hang_up(self) -> None:
        """Ends it: nobody listens any more."""
        self._told_to_end = True
        self._began.set()
        if self._foreign is not None:
            self._foreign.end()

    kill = hang_up

    def events(self) -> Iterator[AnyEvent]:
        """All events up to `done`, each as soon as it is written.

        Raises GeneratorError where the program cannot be started or writes what is no event, and
        GeneratorDied where somebody else killed it.
        """
        yield self._said(hello(self._job))
        yield self._said(ReadyEvent(mono_ns=time.monotonic_ns()))
        self._began.wait()
        if not self._told_to_end:
            foreign = self._start()
            yield self._said(now_started())
            yield from map(self._said, self._reader.begun())
            for text in foreign.child.output:
                yield from map(self._said, self._reader.events(text))
                self._end_failed()
        if not self._reader.over:
            yield from map(self._said, self._reader.done(*self._end_of_it()))

    def _said(self, event: AnyEvent) -> AnyEvent:
        self._keep(line(event))
        return event

    def _start(self) -> ForeignProgram:
        job = self._job
        program = of_user(job.command[0], folder(job)) or job.command[0]
        self._scratch = Path(tempfile.mkdtemp(prefix="dyno-program-"))
        self._foreign = ForeignProgram(
            [*placed(self._cpus), str(program), *job.command[1:]],
            name=job.program,
            folder=job.folder,
            environment=environment(job) | {"TMPDIR": str(self._scratch)},
            limit_s=job.limit_s,
            hear=self._hear,
            scratch=[self._scratch],
        )
        if self._told_to_end:  # meanwhile
            self._foreign.end()
        self._end_failed()
        return self._foreign

    def _hear(self, text: str) -> None:
        self._reader.hear(text)
        self._end_failed()

    def _end_failed(self) -> None:
        """Ends a program that has failed: its other threads may wait for ever."""
        if self._reader.failed and self._foreign is not None:
            self._foreign.end()

    def _end_of_it(self) -> tuple[str, str | None]:
        """How the program ended: the status of `done`, and the reason where it is not ok."""
        foreign = self._foreign
        if foreign is not None:
            foreign.wait()
        if foreign is None or (self._told_to_end and foreign.overdue is None):
            return "stopped", None
        failure, last_line = None, foreign.child.last_line
        if not self._reader.failed:
            failure = foreign.failure()
        if failure is None and (failure := self._reader.missing()) is not None:
            failure += f": {last_line}" if last_line else ""
        return ("ok", None) if failure is None else ("failed", failure)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the program and all that it began."""
        self.hang_up()
        if self._foreign is not None:
            self._foreign.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
