"""The common part of runs of pgbench and sysbench: programs that dyno knows by name.

Each begins at once, makes its sessions, waits to be let go, keeps its sessions after the window
until dyno has read the counters, and then prints its report.
"""

import hashlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from msgspec import structs

from dbdyno.model.events import (
    AnyEvent,
    ConnectedEvent,
    DoneEvent,
    ReadyEvent,
    Thread,
    Totals,
    WindowClose,
    line,
)
from dbdyno.model.job import Job
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run.driver.foreign import ForeignProgram, cpu_ns, thread_shares
from dbdyno.run.driver.interface import Bench
from dbdyno.run.driver.lines import ended, hello
from dbdyno.run.driver.program import VERSION_DIGITS, environment, of_server


class Benchmark:
    """A benchmark at work, in a folder of its own. Use it as a context manager."""

    _called: str
    _foreign: ForeignProgram
    _looked: tuple[int, Mapping[str, int]]

    def __init__(self, job: Job, keep: Callable[[str], None]) -> None:
        self._job = job
        self._name: str = job.program
        self._keep = keep
        (self._role,) = job.roles
        self._count = job.connections
        self._began = threading.Event()
        self._read = threading.Event()  # counters are read: it may end
        self._told_to_end = False
        self._refused: str | None = None  # why it was ended, where it was of no use
        self._closed = False  # its window is over
        self._threads: list[Thread] = []
        self._folder = Path(tempfile.mkdtemp(prefix=f"dyno-{self._called}-"))

    def _start(
        self,
        words: Sequence[str],
        *,
        folder: str | Path | None = None,
        hear: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Starts it, to work in a folder, else in its own. Raises GeneratorError."""
        self._foreign = ForeignProgram(
            words,
            name=self._name,
            folder=folder or self._folder,
            environment=environment(self._job),
            limit_s=self._job.limit_s,
            hear=hear,
            scratch=[self._folder],
        )

    def go(self) -> None:
        """Lets it begin, after `ready`."""
        self._began.set()

    def pause(self) -> None:
        """Nobody asks for it: plans that would are refused."""
        raise AssertionError(f"{self._called} cannot pause")

    resume = pause

    def stop(self) -> None:
        """Ends it early; after `window_close` lets it end by itself."""
        if self._closed:
            self._read.set()
        else:
            self.hang_up()

    def hang_up(self) -> None:
        """Ends it: nobody listens any more."""
        self._told_to_end = True
        self._began.set()
        self._read.set()
        self._foreign.end()

    kill = hang_up

    def _hello(self) -> AnyEvent:
        """The event that names the program and its process."""
        return self._say(structs.replace(hello(self._job), pid=self._foreign.child.pid))

    def _connected(self, sessions: Iterable[int]) -> Iterator[AnyEvent]:
        """The events that name the server's processes, in the order of its clients."""
        for number, pid in enumerate(sessions):
            client = number // self._role.connections
            yield self._say(
                ConnectedEvent(
                    mono_ns=time.monotonic_ns(),
                    role=self._role.name,
                    client=client,
                    connection=number,
                    server_pid=pid,
                )
            )

    def _let_go(self, times: int = 1) -> None:
        """Writes as many empty lines as wait for one."""
        self._foreign.child.say("\n" * (times - 1))

    def _unfinished(self, complaint: str | None = None) -> str | None:
        """Why the run came to no report; None: it did. `complaint`: the first of its own."""
        failure = self._refused or self._foreign.failure(complaint)
        if failure is None and not self._closed:
            failure = f"`{self._name}` ended before its window was over"
        return failure

    def _outcome(
        self, failure: Callable[[], str | None], measured: Callable[[], Iterator[AnyEvent]]
    ) -> Iterator[AnyEvent]:
        """Waits for its end; `failure`: why it is no measurement, `measured`: its last events."""
        self._foreign.wait()
        if self._told_to_end and self._refused is None and self._foreign.overdue is None:
            yield self._say(ended("stopped", None, {}))  # as it was told to: nothing to judge
        elif (reason := failure()) is not None:
            yield self._say(ended("failed", reason, {}))
        else:
            yield from map(self._say, measured())

    def _done(self, total: Totals, printed: Any) -> DoneEvent:
        """The event `done` of a measurement; `printed`: the dataclass of what the program said."""
        done = ended("ok", None, {self._role.name: total})
        return structs.replace(done, threads=self._threads or None, report=asdict(printed))

    def _look(self) -> None:
        """Takes the CPU of its threads, from which on `_busy` tells their shares."""
        self._looked = time.monotonic_ns(), cpu_ns(self._foreign.child.pid)

    def _busy(self) -> None:
        """Takes how busy its threads have been since the look."""
        before_ns, before = self._looked
        passed_ns, after = time.monotonic_ns() - before_ns, cpu_ns(self._foreign.child.pid)
        self._threads = thread_shares(before, after, passed_ns)

    def _ready(self, threads: int) -> AnyEvent:
        """The event that its sessions may be made."""
        now_ns = time.monotonic_ns()
        return self._say(ReadyEvent(mono_ns=now_ns, connections=self._count, threads=threads))

    def _window_close(self, close_ns: int, length_ns: int) -> AnyEvent:
        """The event that its window is over."""
        return self._say(WindowClose(mono_ns=close_ns, active_ns=length_ns, clients_end_ns=None))

    def _say(self, event: AnyEvent) -> AnyEvent:
        self._keep(line(event))
        return event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it, and removes its folder."""
        self.hang_up()
        self._foreign.close()
        shutil.rmtree(self._folder)


def of_bench(job: Job, bench: Bench, program: str) -> Job:
    """The job of a step on a server, which the environment names, with a mark on its sessions."""
    address = bench.server.load_address
    assert address is not None, "what it speaks to has an address"
    mark = f"dyno-{program}-{time.monotonic_ns()}"
    return structs.replace(
        job,
        seed=bench.seed,
        engine=bench.server.engine,
        server=Endpoint.of(address),
        program=program,
        session=mark,
        environment={**of_server(address), "PGAPPNAME": mark},
    )


def version_with(version: str, label: str, scripts: Sequence[Path]) -> str:
    """The version of a program, and a hash of the scripts of a user that it runs."""
    if not scripts:
        return version
    content = b"\0".join(path.read_bytes() for path in scripts)
    return f"{version}, {label} {hashlib.sha256(content).hexdigest()[:VERSION_DIGITS]}"
