"""A program as the load of a step: what it writes are the contract's events (contract/README.md).

dyno says `hello`, `ready` and `started`, and begins the program then; its first line opens the
window. What a line leaves out that need not be told is null: nothing is made up for it. The
program runs as dyno does, in a session of its own, of which nothing is left afterwards.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import shutil
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from dbdyno.model import Address, Json, Plan, Step, events
from dbdyno.model.error import GeneratorError, PlanError
from dbdyno.model.events import Told
from dbdyno.model.form import misfit
from dbdyno.model.job import connections, server_json
from dbdyno.run import hooks
from dbdyno.run.driver import END_TIMEOUT_S, GeneratorDied
from dbdyno.run.driver.loadgen import STDERR_LINES_MAX
from dbdyno.run.measurement import Bench

OWN_EVENTS = ("hello", "ready", "started", "paused", "resumed")
"""Events that dyno writes for a program."""
VERSION_DIGITS = 12
WATCHDOG = 'read -r nothing; kill -s TERM -- "-$1"; sleep 5; kill -s KILL -- "-$1"'
"""Ends a process group as soon as standard input closes, as it does where dyno is killed."""


class Program:
    """A program that a workload file names, as a driver."""

    name = "command"
    tells: frozenset[Told] = frozenset({"seconds", "histograms", "connections", "rows", "lag"})

    def check(self, step: Step, plan: Plan) -> None:
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
        self._process: subprocess.Popen[str] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._ending = os.eventfd(0)  # readable: the program is to end now
        self._told_to_end = False
        self._overdue: float | None = None  # the seconds that it was given, where they passed
        self._late: threading.Timer | None = None
        self._threads: list[threading.Thread] = []
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES_MAX)

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
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._late = threading.Timer(END_TIMEOUT_S, self._give_up)
        self._late.daemon = True
        self._late.start()

    def hang_up(self) -> None:
        """Ends it: nobody listens any more."""
        self._told_to_end = True
        self._began.set()
        self._end()

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
            process = self._start()
            yield self._said(
                {"event": "started", "mono_ns": time.monotonic_ns(), "unix_ns": time.time_ns()}
            )
            assert process.stdout is not None
            for line in process.stdout:
                if line.strip():
                    yield self._said(self._reader.event(line))
        if not self._reader.over:
            yield self._said(self._reader.done(*self._end_of_it()))

    def _said(self, event: Json) -> Json:
        self._keep(json.dumps(event, separators=(",", ":")))
        return event

    def _start(self) -> subprocess.Popen[str]:
        job = self._job
        program = found(job, os.environ.get("PATH"))
        words = [str(program.absolute()) if program else job["command"][0], *job["command"][1:]]
        placed = [] if self._cpus is None else ["taskset", "--cpu-list", self._cpus]
        try:
            process = subprocess.Popen(
                [*placed, *words],
                cwd=job["folder"],
                env=environment(job),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # a Ctrl-C at the terminal is for dyno
            )
        except OSError as error:
            raise GeneratorError(f"`{job['program']}` cannot be started: {error}") from error
        self._process = process
        self._watchdog = subprocess.Popen(
            ["sh", "-c", WATCHDOG, "watchdog", str(process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._threads = [
            threading.Thread(target=work, args=(process,), daemon=True)
            for work in (self._listen, self._watch)
        ]
        for thread in self._threads:
            thread.start()
        return process

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr as stream:
            for line in stream:
                self._stderr.append(line.rstrip())

    def _watch(self, process: subprocess.Popen[str]) -> None:
        """Waits for the program's end, or brings it about; then nothing is left of its session."""
        handle = os.pidfd_open(process.pid)
        try:
            limit_s = self._job["limit_s"]
            if not select.select([handle, self._ending], [], [], limit_s)[0]:
                self._overdue = limit_s
            hooks.end_session(process.pid)
        finally:
            os.close(handle)
            process.wait()

    def _give_up(self) -> None:
        self._overdue = END_TIMEOUT_S
        self._end()

    def _end(self) -> None:
        os.eventfd_write(self._ending, 1)

    def _end_of_it(self) -> tuple[str, str | None]:
        """How the program ended: the status of `done`, and the reason where it is not ok."""
        for thread in self._threads:
            thread.join()
        name = self._job["program"]
        said = f": {self._stderr[-1]}" if self._stderr else ""
        status = 0 if self._process is None else self._process.returncode
        if self._overdue is not None:
            return "failed", f"`{name}` did not end within {self._overdue:g} s, and was ended{said}"
        if self._told_to_end:
            return "stopped", None
        if status < 0:
            raise GeneratorDied(
                f"`{name}` was killed by signal {-status} before the step was done{said}"
            )
        if status:
            return "failed", f"`{name}` ended with status {status}{said}"
        if not self._reader.closed:
            return "failed", f"`{name}` ended without the event `window_close`{said}"
        return "ok", None

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
        if self._process is not None:
            assert self._process.stdout is not None
            assert self._process.stdin is not None
            for thread in self._threads:
                thread.join()
            self._process.stdout.close()
            self._process.stdin.close()
        if self._late is not None:
            self._late.cancel()
            self._late.join()
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.communicate()
        os.close(self._ending)


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
