"""A program of others that makes load: bounded in time, and nothing of its session is left."""

import os
import select
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from dbdyno.builds import VERSION_S_MAX
from dbdyno.host.child import Child, end_session
from dbdyno.host.program import once
from dbdyno.model.error import GeneratorError
from dbdyno.model.events import Thread
from dbdyno.run.driver.interface import GeneratorDied

WATCHDOG = (
    'read -r pid; read -r nothing; [ -z "$pid" ] || '
    '{ kill -s TERM -- "-$pid"; sleep 5; kill -s KILL -- "-$pid"; }; rm -rf -- "$@"'
)
"""Ends the process group that its first line names as soon as standard input closes, as it does
where dyno is killed, and removes folders."""


class ForeignProgram:
    """A program at work that knows nothing of dyno. Use it as a context manager."""

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
        killed or the program does not start. Raises GeneratorError where it cannot be started.
        """
        # The watchdog starts first: a dyno that is killed at any moment leaves no program behind.
        self._watchdog = subprocess.Popen(
            ["sh", "-c", WATCHDOG, "watchdog", *scratch],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self.child = Child(
                words,
                name=name,
                error=GeneratorError,
                folder=folder,
                environment=environment,
                hear=hear,
            )
            assert self._watchdog.stdin is not None
            self._watchdog.stdin.write(b"%d\n" % self.child.pid)
            self._watchdog.stdin.flush()
        except BaseException:
            self._watchdog.communicate()
            raise
        self.ended = threading.Event()  # set as soon as nothing of it is left
        self.overdue: float | None = None  # the seconds that it was given, where they passed
        self._limit_s = limit_s
        self._late: threading.Timer | None = None
        self._handle = os.pidfd_open(self.child.pid)
        self._ending = os.eventfd(0)  # readable: the program is to end now
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

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
        self._watcher.join()

    def failure(self, line: str | None = None) -> str | None:
        """Waits for its end; why that is no good one, with a line that it said (None: its last).

        None where all is well. Raises GeneratorDied where somebody else killed it.
        """
        self.wait()
        child, line = self.child, line or self.child.last_line
        said = f": {line}" if line else ""
        if self.overdue is not None:
            return f"`{child.name}` did not end within {self.overdue:g} s; dyno ended it{said}"
        if child.status < 0:
            raise GeneratorDied(f"`{child.name}` {child.death()} before the step was done{said}")
        return f"`{child.name}` {child.death()}{said}" if child.status else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the program and all that it began."""
        self.end()
        self.wait()
        self.child.output.close()
        self.child.hang_up()
        if self._late is not None:
            self._late.cancel()
            self._late.join()
        self._watchdog.kill()
        self._watchdog.communicate()
        for descriptor in (self._ending, self._handle):
            os.close(descriptor)

    def _watch(self) -> None:
        """Waits for the program's end, or brings it about; then nothing is left of its session."""
        try:
            if not select.select([self._handle, self._ending], [], [], self._limit_s)[0]:
                self.overdue = self._limit_s
            end_session(self.child.pid)
        finally:
            self.child.wait()
            self.ended.set()

    def _give_up(self, seconds: float) -> None:
        self.overdue = seconds
        self.end()


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
) -> list[Thread]:
    """The time that each thread spent between two looks, as the event `done` has it."""
    return [
        Thread(cpu_us=spent_ns / 1e3, busy_share=spent_ns / passed_ns)
        for spent_ns in (after[thread] - before.get(thread, 0) for thread in after)
    ]


def said(path: Path, *arguments: str) -> str:
    """The output of a program that prints and ends, as for its version; empty if it cannot run."""
    try:
        return once(path, arguments, partial(_output, path, arguments))
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _output(path: Path, arguments: tuple[str, ...]) -> str:
    done = subprocess.run(
        [path, *arguments], capture_output=True, text=True, timeout=VERSION_S_MAX, check=False
    )
    return done.stdout + done.stderr
