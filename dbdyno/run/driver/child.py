"""A program that makes load, as a process: in a session of its own, of which nothing is left."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from dbdyno.builds import VERSION_S_MAX
from dbdyno.model import Json
from dbdyno.model.error import GeneratorError
from dbdyno.run import hooks
from dbdyno.run.driver.interface import GeneratorDied
from dbdyno.run.driver.loadgen import STDERR_LINES_MAX

WATCHDOG = (
    'read -r nothing; kill -s TERM -- "-$1"; sleep 5; kill -s KILL -- "-$1"; shift; rm -rf -- "$@"'
)
"""Ends a process group as soon as standard input closes, as it does where dyno is killed, and
removes folders."""


class Child:
    """A program at work. Use it as a context manager: nothing that it began goes on."""

    def __init__(  # noqa: PLR0913 (how it is called, each by its name)
        self,
        words: Sequence[str],
        *,
        name: str,
        folder: Path | str,
        environment: Mapping[str, str],
        limit_s: float,
        hear: Callable[[str], None] = lambda line: None,
        scratch: Sequence[Path] = (),
    ) -> None:
        """Starts it; `name` is what messages call it, `hear` gets each line of standard error.

        After `limit_s` seconds it is ended. `scratch` are folders that are removed where dyno is
        killed. Raises GeneratorError where it cannot be started.
        """
        self.name = name
        self.ended = threading.Event()  # set as soon as nothing of it is left
        self.overdue: float | None = None  # the seconds that it was given, where they passed
        self._hear = hear
        self._limit_s = limit_s
        self._late: threading.Timer | None = None
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES_MAX)
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # a Ctrl-C at the terminal is for dyno
            )
        except OSError as error:
            raise GeneratorError(f"`{name}` cannot be started: {error}") from error
        self._handle = os.pidfd_open(self._process.pid)
        self._ending = os.eventfd(0)  # readable: the program is to end now
        self._watchdog = subprocess.Popen(
            ["sh", "-c", WATCHDOG, "watchdog", str(self.pid), *scratch],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._listen, self._watch)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def input(self) -> IO[str]:
        """Its standard input."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def output(self) -> IO[str]:
        """Its standard output."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def last_line(self) -> str | None:
        """The last line of its standard error."""
        return self._stderr[-1] if self._stderr else None

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)

    def end(self) -> None:
        """Ends it with its whole session; returns at once."""
        os.eventfd_write(self._ending, 1)

    def end_within(self, seconds: float) -> None:
        """Ends it where it has not ended by itself within so many seconds."""
        self._late = threading.Timer(seconds, self._give_up, [seconds])
        self._late.daemon = True
        self._late.start()

    def wait(self) -> None:
        """Waits for its end, and for all that it said."""
        for thread in self._threads:
            thread.join()

    def failure(self, line: str | None = None) -> str | None:
        """Waits for its end; why that is no good one, with a line that it said (None: its last).

        None where all is well. Raises GeneratorDied where somebody else killed it.
        """
        self.wait()
        said = f": {line or self.last_line}" if line or self.last_line else ""
        status = self._process.returncode
        if self.overdue is not None:
            return f"`{self.name}` did not end within {self.overdue:g} s; dyno ended it{said}"
        if status < 0:
            raise GeneratorDied(
                f"`{self.name}` was killed by signal {-status} before the step was done{said}"
            )
        return f"`{self.name}` ended with status {status}{said}" if status else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends the program and all that it began."""
        self.end()
        self.wait()
        self.output.close()
        with contextlib.suppress(BrokenPipeError):  # what it never read
            self.input.close()
        if self._late is not None:
            self._late.cancel()
            self._late.join()
        self._watchdog.kill()
        self._watchdog.communicate()
        for descriptor in (self._ending, self._handle):
            os.close(descriptor)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self._stderr.append(line.rstrip())
                self._hear(line.rstrip())

    def _watch(self) -> None:
        """Waits for the program's end, or brings it about; then nothing is left of its session."""
        try:
            if not select.select([self._handle, self._ending], [], [], self._limit_s)[0]:
                self.overdue = self._limit_s
            hooks.end_session(self.pid)
        finally:
            self._process.wait()
            self.ended.set()

    def _give_up(self, seconds: float) -> None:
        self.overdue = seconds
        self.end()


def placed(cpus: str | None) -> list[str]:
    """The words before a program's own that keep it on these processors; None: on all."""
    return [] if cpus is None else ["taskset", "--cpu-list", cpus]


def cpu_ns(pid: int) -> Mapping[str, int]:
    """The CPU time of each thread of a process; empty where nobody tells."""
    try:
        return {
            path.parent.name: int(path.read_text().split()[0])
            for path in Path(f"/proc/{pid}/task").glob("*/schedstat")
        }
    except (OSError, ValueError, IndexError):
        return {}


def thread_shares(
    before: Mapping[str, int], after: Mapping[str, int], passed_ns: int
) -> list[Json]:
    """The time that each thread spent between two looks, as the event `done` has it."""
    return [
        {"cpu_us": spent_ns / 1e3, "busy_share": spent_ns / passed_ns}
        for spent_ns in (after[thread] - before.get(thread, 0) for thread in after)
    ]


def said(path: Path, *arguments: str) -> str:
    """The output of a program that prints and ends, as for its version; empty if it cannot run."""
    try:
        return _said(path, path.stat().st_mtime_ns, arguments)
    except (OSError, subprocess.TimeoutExpired):
        return ""


@cache
def _said(path: Path, changed_ns: int, arguments: tuple[str, ...]) -> str:
    """Asked once for each file as it is since `changed_ns`."""
    done = subprocess.run(
        [path, *arguments], capture_output=True, text=True, timeout=VERSION_S_MAX, check=False
    )
    return done.stdout + done.stderr
