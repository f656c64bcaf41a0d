"""Child processes of dyno: how one starts, is heard and told, ends, and how it died.

Each is in a session of its own, as a Ctrl-C at the terminal is for dyno, which ends its children.
"""

import contextlib
import os
import select
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO

from dbdyno.host import process as processes
from dbdyno.model.error import DynoError, HostError

STDERR_LINES_MAX = 50
STDERR_S_MAX = 1.0
"""How long the last lines may take after the end: what it began may hold standard error open."""
END_SIGNALS: processes.Signals = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GROUP_AND_SESSION = slice(2, 4)
"""Positions in /proc/PID/stat after the process's name (proc(5): fields 5 and 6)."""
Words = Sequence[str | Path]


class Child:
    """A program at work."""

    def __init__(  # noqa: PLR0913 (how it is called, each by its name)
        self,
        words: Words,
        *,
        name: str,
        error: type[DynoError] = HostError,
        folder: Path | str | None = None,
        environment: Mapping[str, str] | None = None,
        hear: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Starts it; `name` is what messages call it, `hear` gets each line of standard error.

        Raises `error` where it cannot be started.
        """
        self.name = name
        self.said: deque[str] = deque(maxlen=STDERR_LINES_MAX)
        """The last lines of its standard error."""
        self._hear = hear
        self._lock = threading.Lock()  # of its input
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as reason:
            raise error(f"`{name}` cannot be started: {reason}") from reason
        self._listener = threading.Thread(target=self._listen, name=name, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def output(self) -> IO[str]:
        """Its standard output."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def last_line(self) -> str:
        """The last line of its standard error that says something; empty: none does."""
        return last_line(list(self.said))

    def say(self, line: str) -> None:
        """Writes a line to its standard input, unless it is gone: its end is seen elsewhere."""
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def hang_up(self) -> None:
        """Closes its standard input. Doing so twice is harmless."""
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError):
            self._process.stdin.close()

    def kill(self) -> None:
        """Ends it by force."""
        self._process.kill()

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal, if it is still there."""
        self._process.send_signal(number)

    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def wait(self, limit_s: float | None = None) -> bool:
        """Waits for its end, and for what it said last; whether it has ended within the limit."""
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        self._listener.join(STDERR_S_MAX)
        return True

    def end(
        self,
        limit_s: float,
        by: signal.Signals | None = None,
        rest: Callable[[str], None] | None = None,
    ) -> None:
        """Ends it by a signal, else by the end of its input, and after `limit_s` by force.

        `rest` gets the lines that it still writes; None: somebody else reads them.
        """
        killer = threading.Timer(limit_s, self._process.kill)
        killer.daemon = True
        killer.start()
        try:
            if by is not None:
                self.send(by)
            self.hang_up()
            if rest is not None:
                with self.output as stream:
                    for line in stream:
                        rest(line)
        finally:
            self.wait()
            killer.cancel()

    @property
    def status(self) -> int:
        """How it ended: its status, or less than 0 the signal that killed it. Waits for that."""
        self.wait()
        return self._process.returncode

    def death(self) -> str:
        """`was killed by signal 9`, or `ended with status 1`; waits for that."""
        status = self.status
        return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self.said.append(line.rstrip())
                self._hear(line.rstrip())


def last_line(said: Sequence[str]) -> str:
    """The last line that says something; empty where none does."""
    return next((line for line in reversed(said) if line.strip()), "")


@dataclass(frozen=True)
class ProgramEnding:
    """How a program ended that ran to its end."""

    status: int
    overdue: bool  # whether dyno ended it, as it took too long
    left: tuple[str, ...]  # what it left running, which dyno ended: in words


def run(
    words: Words,
    output: IO[bytes],
    *,
    folder: Path,
    environment: Mapping[str, str],
    limit_s: float | None = None,
) -> ProgramEnding:
    """Runs a program to its end, with all that it says into a file; nothing of it goes on then.

    Whatever breaks it off ends it, too. Raises OSError where it cannot be started.
    """
    process, in_time = None, False
    try:
        with interrupts_held():
            process = subprocess.Popen(
                words, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        in_time = ends_within(process.pid, limit_s)
    finally:
        if process is not None:
            left = end_session(process.pid)
            status = process.wait()
    return ProgramEnding(status, not in_time, tuple(left))


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Whatever interrupts dyno in this block does so at its end.

    Python raises an interrupt between any two steps: else also when a program has begun whose
    process has no name yet, and nobody would end that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no signal is handled here
        return
    handlers = {
        number: handler for number in INTERRUPTS if callable(handler := signal.getsignal(number))
    }
    held: list[Callable[[], object]] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(partial(handlers[signal.Signals(number)], number, frame))

    for number in handlers:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for interrupt in held:
            interrupt()


def ends_within(pid: int, limit_s: float | None) -> bool:
    """Waits for the end of a child, which stays to be waited for: its id is nobody else's yet."""
    handle = os.pidfd_open(pid)
    try:
        return bool(select.select([handle], [], [], limit_s)[0])
    finally:
        os.close(handle)


def end_session(pid: int) -> list[str]:
    """Ends what runs in the session, or process group, that the child `pid` began, until there is
    no more of it; what that was, in words. Raises HostError where a process does not end.
    """
    ended = []
    while members := [(member, at) for member in processes.pids() if (at := _began(member, pid))]:
        for member, ticks in members:
            title = processes.command_line(member)
            if not processes.end(member, ticks, END_SIGNALS):
                raise HostError(f"process {member} (`{title}`) does not end: see `ps {member}`")
            ended.append(f"`{title}` (process {member})")
    return ended


def _began(other: int, pid: int) -> int | None:
    """When a process of the session or process group of `pid` began; None: it is none of them."""
    fields = processes.stat(other)
    inside = fields is not None and str(pid) in fields[GROUP_AND_SESSION]
    return processes.start_ticks(other) if inside else None
