"""A program as the load of a step: what it writes are the contract's events (contract/README.md).

dyno says `hello`, `ready` and `started`, and begins the program then; its first line opens the
window. What a line leaves out that need not be told is null: nothing is made up for it. The
program runs as dyno does, in a session of its own, of which nothing is left afterwards.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from dbdyno.builds import Build
from dbdyno.model import Address, Json, Plan, Step, events
from dbdyno.model.error import GeneratorError, PlanError
from dbdyno.model.events import Told
from dbdyno.model.form import misfit
from dbdyno.model.job import connections, server_json
from dbdyno.run.driver import END_TIMEOUT_S
from dbdyno.run.driver.child import Child, placed
from dbdyno.run.measurement import Bench

OWN_EVENTS = ("hello", "ready", "started", "paused", "resumed")
"""Events that dyno writes for a program."""
VERSION_DIGITS = 12


class Program:
    """A program that a workload file names, as a driver."""

    name = "command"
    tells: frozenset[Told] = frozenset({"seconds", "histograms", "connections", "rows", "lag"})

    def check(self, step: Step, plan: Plan, build: Build | None) -> None:
        """Raises PlanError where the program is not there."""
        program = step.job["command"][0]
        if found(step.job, os.environ.get("PATH")) is None:
            raise PlanError(
                f"{step.job['workload']}: step `{step.name}`: key `command`: there is no program "
                f"`{program}`: write its path from the workload file on, or install it"
            )

    def version(self, step: Step) -> str:
        """A hash of the program and of those of its arguments that are files."""
        digest = hashlib.sha256()
        program = found(step.job, os.environ.get("PATH"))
        for path in (program, *(folder(step.job) / word for word in step.job["command"][1:])):
            if path is not None and path.is_file():
                digest.update(path.read_bytes())
        return digest.hexdigest()[:VERSION_DIGITS]

    def prepare(self, step: Step, bench: Bench) -> Json:
        """The job: how the program is called, and what it is told in its environment."""
        address = bench.server.address()
        about = {
            "DYNO_ENGINE": bench.server.engine,
            "DYNO_STEP": step.name,
            "DYNO_ARM": bench.arm,
            "DYNO_BLOCK": str(bench.block),
            "DYNO_CLIENTS": str(connections(step.job)),
            "DYNO_SECONDS": str(step.job["stop"]["seconds"] or ""),
            "DYNO_WARMUP_S": str(step.job["stop"]["warmup_s"]),
            "DYNO_SEED": str(bench.seed),
        }
        return step.job | {
            "seed": bench.seed,
            "engine": bench.server.engine,
            "server": None if address is None else server_json(address),
            "program": called(step.job),
            "version": self.version(step),
            "folder": str(folder(step.job).absolute()),
            "environment": about | of_server(address),
            "report": "events",
        }

    def start(self, job: Json, keep: Callable[[str], None], cpus: str | None) -> Run:
        """A load that begins with `go`."""
        return Run(job, keep, cpus=cpus)


def folder(job: Json) -> Path:
    """Where the program works: the workload file's folder."""
    return Path(job["workload"]).parent


def found(job: Json, search: str | None) -> Path | None:
    """The program's file: by its path from the workload file on, or in the folders of PATH."""
    word = job["command"][0]
    path = shutil.which(str(folder(job) / word) if "/" in word else word, path=search)
    return None if path is None else Path(path)


def called(job: Json) -> str:
    """What the program is called in words: its file's name, or the beginning of a shell's text."""
    first, *rest = job["command"]
    text = rest[1].strip().splitlines()[0] if (first, *rest[:1]) == ("sh", "-c") else None
    return text if text is not None else Path(first).name


def of_server(address: Address | None) -> dict[str, str | Json]:
    """The environment by which clients of all engines find the server; secrets are named only."""
    if address is None:
        return {}
    socket = address.host if address.host.startswith("/") else ""
    told: dict[str, str | Json] = {
        "DYNO_HOST": address.host,
        "DYNO_PORT": str(address.port),
        "DYNO_USER": address.user,
        "DYNO_DATABASE": address.database,
        "DYNO_SOCKET": socket,
        "PGHOST": address.host,
        "PGPORT": str(address.port),
        "PGUSER": address.user,
        "PGDATABASE": address.database,
        "MYSQL_HOST": "localhost" if socket else address.host,
        "MYSQL_TCP_PORT": str(address.port),
        "MYSQL_UNIX_PORT": socket,
    }
    if address.tls is not None:
        told["PGSSLMODE"] = address.tls
    if address.tls_root is not None:
        told["PGSSLROOTCERT"] = str(address.tls_root)
    if address.password is not None and address.password.env is not None:
        told |= {key: {"env": address.password.env} for key in ("PGPASSWORD", "MYSQL_PWD")}
    if address.password is not None and address.password.passfile is not None:
        told["PGPASSFILE"] = str(address.password.passfile)
    return told


def environment(job: Json) -> dict[str, str]:
    """The whole environment of the program, with what is named there only."""
    told = {
        name: os.environ.get(value["env"], "") if isinstance(value, dict) else value
        for name, value in job["environment"].items()
    }
    return {**os.environ, **told}


class Run:
    """A program at work, from `go` on. Use it as a context manager: nothing is left of it."""

    def __init__(self, job: Json, keep: Callable[[str], None], *, cpus: str | None) -> None:
        self._job = job
        self._keep = keep
        self._cpus = cpus
        self._reader = Lines(job)
        self._began = threading.Event()
        self._child: Child | None = None
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
        assert self._child is not None
        self._child.input.close()
        self._child.end_within(END_TIMEOUT_S)

    def hang_up(self) -> None:
        """Ends it: nobody listens any more."""
        self._told_to_end = True
        self._began.set()
        if self._child is not None:
            self._child.end()

    kill = hang_up

    def events(self) -> Iterator[Json]:
        """All events up to `done`, each as soon as it is written.

        Raises GeneratorError where the program cannot be started or writes what is no event, and
        GeneratorDied where somebody else killed it.
        """
        yield self._said(self._reader.hello())
        yield self._said(self._reader.ready())
        self._began.wait()
        if not self._told_to_end:
            child = self._start()
            yield self._said(
                {"event": "started", "mono_ns": time.monotonic_ns(), "unix_ns": time.time_ns()}
            )
            for line in child.output:
                if line.strip():
                    yield self._said(self._reader.event(line))
        if not self._reader.over:
            yield self._said(self._reader.done(*self._end_of_it()))

    def _said(self, event: Json) -> Json:
        self._keep(json.dumps(event, separators=(",", ":")))
        return event

    def _start(self) -> Child:
        job = self._job
        program = found(job, os.environ.get("PATH"))
        words = [str(program.absolute()) if program else job["command"][0], *job["command"][1:]]
        self._child = Child(
            [*placed(self._cpus), *words],
            name=job["program"],
            folder=job["folder"],
            environment=environment(job),
            limit_s=job["limit_s"],
        )
        if self._told_to_end:  # meanwhile
            self._child.end()
        return self._child

    def _end_of_it(self) -> tuple[str, str | None]:
        """How the program ended: the status of `done`, and the reason where it is not ok."""
        child = self._child
        if child is not None:
            child.wait()
        if child is None or (self._told_to_end and child.overdue is None):
            return "stopped", None
        failure = child.failure()
        if failure is None and not self._reader.closed:
            said = f": {child.last_line}" if child.last_line else ""
            failure = f"`{child.name}` ended without the event `window_close`{said}"
        return ("ok", None) if failure is None else ("failed", failure)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends the program and all that it began."""
        self.hang_up()
        if self._child is not None:
            self._child.__exit__(kind, error, traceback)


class Lines:
    """The lines of a program as events of the contract, in their order; pure but for the clock."""

    def __init__(self, job: Json) -> None:
        self.closed = False  # whether the window has closed
        self.over = False
        self._job = job
        self._role: str = job["roles"][0]["name"]
        self._open = False
        self._totals = {"count": 0, "rows": 0, "errors": 0, "retries": 0}
        self._untold: set[str] = set()  # of the totals

    def hello(self) -> Json:
        """Which program it is."""
        own = {"protocol": events.PROTOCOL, "version": self._job["version"]}
        return completed({"event": "hello", **own, "program": self._job["program"]})

    def ready(self) -> Json:
        """It can always begin."""
        return completed({"event": "ready"})

    def done(self, status: str, reason: str | None) -> Json:
        """The last event, with the totals of the ticks; null where they do not tell."""
        totals = {
            key: None if key in self._untold else value for key, value in self._totals.items()
        }
        return completed(
            {"event": "done", "status": status, "reason": reason, "totals": {self._role: totals}}
        )

    def event(self, line: str) -> Json:
        """A line that the program wrote, whole. Raises GeneratorError where it is no event."""
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or event.get("event") not in events.EVENTS:
            self._refuse(line, "is no event; send whatever else it says to standard error")
        name = event["event"]
        if name in OWN_EVENTS:
            self._refuse(line, f"`{name}` is dyno's to write; begin with `window_open`")
        if name in ("tick", "connected"):
            event = {"role": self._role} | event
        if name == "done":
            event = {"reason": None, "totals": {}} | event
        event = completed(event)
        wrong = misfit(event, events.EVENTS[name].forms)
        if wrong is None and (novel := events.unknown(event)):
            wrong = f"has {' and '.join(novel)}, which nobody knows"
        if wrong is None and event.get("role", self._role) != self._role:
            wrong = f"`role` is {event['role']!r}, and the step has `{self._role}` only"
        self._refuse(line, wrong or self._out_of_order(name, measured=event.get("measured", False)))
        self._count(event)
        return event

    def _refuse(self, line: str, wrong: str | None) -> None:
        if wrong is not None:
            raise GeneratorError(
                f"`{self._job['program']}` wrote a line that does not fit contract/README.md: "
                f"{wrong}: {line.strip()[:200]}"
            )

    def _out_of_order(self, name: str, *, measured: bool) -> str | None:
        """What is wrong with an event that comes now; takes note of the window's ends."""
        if name == "window_open":
            if self._open:
                return "the window is open already"
            self._open = True
        if name == "window_close":
            if self.closed or not self._open:
                return "no window is open"
            self.closed = True
        elif name == "tick" and measured and (self.closed or not self._open):
            return "no window is open"
        if name == "done":
            self.over = True
        return None

    def _count(self, event: Json) -> None:
        if event["event"] != "tick":
            return
        parts = [part.get("retries") for part in event["operations"].values()]
        columns = {
            "count": [row[0] for row in event["per_client"]],
            "rows": [row[1] for row in event["per_client"]],
            "errors": [row[2] for row in event["per_client"]],
            "retries": parts,
        }
        for key, values in columns.items():
            self._totals[key] += sum(filter(None, values))
            if None in values:
                self._untold.add(key)


def completed(event: Mapping[str, object]) -> Json:
    """The event with the moment at which it was read, and null where it tells nothing."""
    its = events.EVENTS[str(event["event"])]
    whole: Json = {"mono_ns": time.monotonic_ns(), **dict.fromkeys(its.told), **event}
    parts = whole.get("operations")
    if isinstance(parts, dict):
        told = dict.fromkeys(key.removesuffix("?") for key in events.PART if key != "count")
        whole["operations"] = {
            name: told | part if isinstance(part, dict) else part for name, part in parts.items()
        }
    return whole
