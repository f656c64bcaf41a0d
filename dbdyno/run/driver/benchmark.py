"""The common part of runs of pgbench and sysbench: programs that dyno knows by name.

Each begins at once, makes its sessions, waits to be let go, keeps its sessions after the window
until dyno has read the counters, and then prints its report.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from msgspec import structs

from dbdyno.model.events import AnyEvent, ConnectedEvent, ReadyEvent, Thread, WindowClose, line
from dbdyno.model.job import Job
from dbdyno.run.driver.foreign import ForeignProgram
from dbdyno.run.driver.lines import hello
from dbdyno.run.driver.program import environment


class Benchmark:
    """A benchmark at work, in a folder of its own. Use it as a context manager."""

    _called: str
    _foreign: ForeignProgram

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

    def _stopped(self) -> bool:
        """Whether it ended as it was told to, so that there is nothing to judge."""
        return self._told_to_end and self._refused is None and self._foreign.overdue is None

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
