"""A dump as the load of a step: it becomes the data of the arm's server (engine/restore.py).

Nothing of it is judged. The step begins with an empty database and ends with one at rest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from dbdyno import engine
from dbdyno.builds import Build
from dbdyno.engine import golden, installed
from dbdyno.engine import restore as restores
from dbdyno.engine.restore import KEY, ClientPrograms, DumpRestore
from dbdyno.host import account
from dbdyno.model import Plan, Step
from dbdyno.model.error import DynoError, PlanError
from dbdyno.model.events import AnyEvent, ReadyEvent, Told, Totals, WindowClose, WindowOpen, line
from dbdyno.model.job import Job, external
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run.driver.interface import Bench
from dbdyno.run.driver.lines import ended, hello, now_started

Files = tuple[tuple[str, int, int], ...]


class RestoreDriver:
    """The restore of a dump, as a driver."""

    name = "restore"
    tells: frozenset[Told] = frozenset()

    def check(self, step: Step, plan: Plan, build: Build | None) -> None:
        """Raises PlanError or HostError where the arm cannot take the dump."""
        restoring = dump_of(step.job)
        if build is not None:
            user = account.choose(build.engine, plan.server_user)
            restoring.refuse_unfit(build, user, f"of version {build.version}")

    def version(self, step: Step) -> str:
        """A hash of the dump and of how it is restored, and the client's version."""
        return dump_of(step.job).version

    def prepare(self, step: Step, bench: Bench) -> Job:
        """The job, with the server and what stands for the dump's content."""
        address, made = bench.server.address(), bench.server.made
        assert address is not None and made is not None, "what takes dumps is the lab's"
        target = bench.server.setting("default_statistics_target") or "default"
        return replace(
            step.job,
            seed=bench.seed,
            engine=bench.server.engine,
            server=Endpoint.of(address),
            program=self.name,
            version=self.version(step),
            folder=str(made.data_dir.parents[1]),
            session=target,
        )

    def start(self, job: Job, keep: Callable[[str], None], cpus: str | None) -> RestoreRun:
        """A restore that begins with `go`."""
        return RestoreRun(job, keep)


def dump_of(job: Job) -> DumpRestore:
    """The dump of a step, looked into. Raises PlanError, HostError."""
    assert job.restore is not None, "a step that restores names a dump"
    changed = restores.changed_ns(Path(job.restore.path))
    return _dump_of(job.engine, job.restore, changed)


@cache
def _dump_of(name: str, wish: external.Restore, changed: Files) -> DumpRestore:
    """Looked into once for each dump as it is, as it may be read whole."""
    restorer = engine.of(name).restorer
    if restorer is None:
        raise PlanError(f"{KEY}: engine `{name}` takes no dump: remove the key")
    paths = [path for program in restorer.programs for path in installed.programs(program)]
    return restorer.read(wish, paths)


def statistics(job: Job, restoring: DumpRestore) -> Path | None:
    """The file of the statistics that arms of the same data share; None: each has its own."""
    assert job.restore is not None, "a step that restores names a dump"
    if job.restore.statistics == "own":
        return None
    return golden.statistics_file(Path(job.folder), f"{restoring.content}-{job.session}")


class RestoreRun:
    """A restore at work, from `go` on. Use it as a context manager: nothing is left of it."""

    def __init__(self, job: Job, keep: Callable[[str], None]) -> None:
        self._job = job
        self._keep = keep
        self._began = threading.Event()
        self._session = ClientPrograms()

    def go(self) -> None:
        """Lets the restore begin, after `ready`."""
        self._began.set()

    def pause(self) -> None:
        """Nobody asks a restore for it: plans that would are refused."""
        raise AssertionError("a restore cannot pause")

    resume = pause

    def stop(self) -> None:
        """Nothing, after `window_close`; before, ends it."""

    def hang_up(self) -> None:
        """Ends it: nobody listens any more."""
        self._session.end()
        self._began.set()

    kill = hang_up

    def events(self) -> Iterator[AnyEvent]:
        """All events up to `done`; the restore happens between the two ends of the window."""
        yield self._said(hello(self._job))
        yield self._said(ReadyEvent(mono_ns=time.monotonic_ns()))
        self._began.wait()
        yield self._said(now_started())
        begun_ns = time.monotonic_ns()
        yield self._said(WindowOpen(mono_ns=begun_ns))
        status, reason, report = self._restore()
        now_ns = time.monotonic_ns()
        yield self._said(
            WindowClose(mono_ns=now_ns, active_ns=now_ns - begun_ns, clients_end_ns=None)
        )
        whole = Totals(count=1, rows=None, errors=0, retries=None)
        done = ended(status, reason, {role.name: whole for role in self._job.roles})
        yield self._said(replace(done, report=report))

    def _restore(self) -> tuple[str, str | None, dict[str, Any]]:
        """Does it; the status of `done`, the reason where it is not ok, its report.

        `lacks`: a sentence for each thing that the data lack; `dumped`: when the dump was made.
        """
        assert isinstance(self._job.server, Endpoint), "the job is whole"
        try:
            restoring, address = dump_of(self._job), self._job.server.address
            lacks = restoring.carry_out(address, self._session, statistics(self._job, restoring))
        except DynoError as error:
            return "failed", str(error), {"lacks": []}
        return "ok", None, {"lacks": lacks, "dumped": restoring.dumped}

    def _said(self, event: AnyEvent) -> AnyEvent:
        self._keep(line(event))
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends whatever runs."""
        self.hang_up()
