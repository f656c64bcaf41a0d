"""Samples what sessions wait for while a window is open, into waits.jsonl (docs/results.md).

A connection of its own is asked by a thread. Sampling disturbs a server that is measured, and is
done only if the plan asks for it; what it costs is in the result, on both sides. How the server is
asked an engine says (`WaitConnection`); all else is the same of every engine.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol, Self

from dbdyno.engine.activity import Names, Session, look
from dbdyno.model import Observation
from dbdyno.model.events import AnyEvent, ConnectedEvent
from dbdyno.model.job import Job
from dbdyno.model.wait_samples import SESSION_COLUMNS, WaitLook, WaitsBegin, WaitsEnd

APPLICATION = "dyno waits"
STATEMENT_S_MAX = 5.0
"""How long the server may take for an answer."""
END_S_MAX = 1.0
"""How long the last sample may take; then its connection is cut."""
STRIDE = 0.6180339887498949
"""The golden ratio less 1, by which the moment of a sample moves on within its interval."""
BLOCKS_NS = 1_000_000_000
"""The counters of pages are read at most this often."""

Write = Callable[[WaitsBegin | WaitLook | WaitsEnd], None]


class WaitConnection(Protocol):
    """A connection over which a server's sessions are asked for; it is open."""

    broken: tuple[type[Exception], ...]  # what its methods raise where the server does not answer

    @property
    def pid(self) -> int:
        """The process, or thread, of the server that serves it, by the kernel's id."""

    @property
    def version_num(self) -> int:
        """The server's version."""

    def sessions(self) -> Iterable[Session]:
        """The activity of all sessions but this one and those that only wait for work."""

    def blocks(self) -> tuple[int, int]:
        """Pages that the server read from outside of its cache so far, and found in it."""

    def fileno(self) -> int:
        """The socket's descriptor."""

    def close(self) -> None:
        """Ends it, and puts back what was changed for the samples."""


def moment(number: int) -> float:
    """When a sample is due, in intervals since the first one began: once in each.

    Multiples of the golden ratio fill an interval evenly (Weyl), so that samples cannot keep step
    with what recurs, such as a burst at the beginning of each second.
    """
    return number + (number + 0.5) * STRIDE % 1.0


class SessionSampler:
    """Samples a server's sessions from `begin` to `stop`, less the time between `rest` and `begin`.

    A context manager: its connection and its thread are gone afterwards. An error that keeps it
    from sampling is in `failure`, and nobody else's trouble.
    """

    def __init__(self, asked: WaitConnection, job: Job, observe: Observation, write: Write) -> None:
        """Writes the file's first line.

        `asked` is its own from now on, `job` has the names of statements; `write` gets each line.
        """
        assert observe.waits_s is not None
        self.failure: str | None = None  # why it ended before it was told to
        self.samples = 0
        self.late = 0  # intervals that passed without a sample
        self.cpu_us = 0.0  # of the thread, from the first sample on
        self._asked = asked
        self._interval_ns = round(observe.waits_s * 1e9)
        self._each = observe.waits_sessions
        self._write = write
        self._names = Names(job.statements)
        self._roles: dict[int, str] = {}
        self._begun_ns = 0  # as `begin` says it; the thread takes it over into `_base_ns`
        self._base_ns, self._slot = 0, 0  # the interval from there whose sample comes next
        self._blocks_ns = 0  # when the counters of pages were read last
        self._going, self._ended = threading.Event(), threading.Event()
        self._mistake: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="waits", daemon=True)
        write(
            WaitsBegin(
                asked_ns=self._interval_ns,
                application=APPLICATION,
                by_session=SESSION_COLUMNS if self._each else None,
                version_num=asked.version_num,
            )
        )

    @property
    def pid(self) -> int:
        """The server's process, or thread, that is asked."""
        return self._asked.pid

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def observe(self, event: AnyEvent) -> None:
        """Takes note of whose a connection is, from an event of the generator."""
        if isinstance(event, ConnectedEvent) and event.server_pid:
            self._roles[event.server_pid] = event.role

    def begin(self) -> None:
        """Begins to sample, at the window's start or after a rest."""
        self._begun_ns = time.monotonic_ns()
        self._going.set()

    def rest(self) -> None:
        """Samples no more until `begin`; one that goes on ends, and is the last."""
        self._going.clear()

    def finish(self) -> None:
        """Ends the thread and the connection, and writes the last line; further calls do nothing.

        Raises what is no fault of the server.
        """
        if self._ended.is_set():
            return
        self._ended.set()
        self._going.set()
        self._thread.join(END_S_MAX)
        if self._thread.is_alive():
            self._cut()
            self._thread.join()
        try:
            self._asked.close()
        except self._asked.broken as error:
            self.failure = self.failure or said(error)
        if self._mistake is not None:
            raise self._mistake
        self._write(
            WaitsEnd(samples=self.samples, late=self.late, cpu_us=self.cpu_us, failed=self.failure)
        )

    def _run(self) -> None:
        started_ns = time.thread_time_ns()
        broken: tuple[type[Exception], ...] = (*self._asked.broken, OSError)
        try:
            while self._wait():
                self._sample()
                self.cpu_us = (time.thread_time_ns() - started_ns) / 1000
        except broken as error:
            self.failure = said(error)
        except Exception as error:
            self._mistake = error

    def _wait(self) -> bool:
        """Waits until the next sample is due; False: there is to be none."""
        while True:
            self._going.wait()
            if self._ended.is_set():
                return False
            if self._base_ns != self._begun_ns:
                self._base_ns, self._slot = self._begun_ns, 0
            self._pass_over()
            due_ns = self._base_ns + round(moment(self._slot) * self._interval_ns)
            if self._ended.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9)):
                return False
            if self._going.is_set() and self._base_ns == self._begun_ns:
                self._slot += 1
                return True

    def _pass_over(self) -> None:
        """Leaves out the intervals that are over, and counts them."""
        passed = (time.monotonic_ns() - self._base_ns) // self._interval_ns
        missed = max(0, passed - self._slot)
        self.late += missed
        self._slot += missed

    def _sample(self) -> None:
        begun_ns = time.monotonic_ns()
        seen = look(self._asked.sessions(), self._roles, self._names, each=self._each)
        ended_ns = time.monotonic_ns()
        blocks = None
        if ended_ns - self._blocks_ns >= BLOCKS_NS:
            blocks = self._asked.blocks()
            self._blocks_ns = ended_ns
        self._write(
            WaitLook(
                mono_ns=begun_ns,
                took_us=(ended_ns - begun_ns) // 1000,
                sessions=seen.sessions,
                idle=seen.idle,
                hidden=seen.hidden,
                blocks=blocks,
                by_session=seen.by_session,
            )
        )
        self.samples += 1

    def _cut(self) -> None:
        """Makes a wait for a server that does not answer fail."""
        with suppress(OSError), socket.socket(fileno=os.dup(self._asked.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)


def said(error: Exception) -> str:
    """An error in one line."""
    return " ".join(str(error).split()) or type(error).__name__
