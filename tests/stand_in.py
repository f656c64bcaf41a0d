"""A process in place of a database server, for tests of who spent what on this host."""

import contextlib
import os
import signal
import subprocess
import sys


class StandIn:
    """A Python program that is told line by line what to do, and answers each with a number."""

    def __init__(self, program: str, *, threads: bool) -> None:
        self.threads = threads  # whether its parts are threads, as MySQL's, or processes
        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.postmaster_pid: int | None = self.process.pid
        self.standby_pids: tuple[int, ...] = ()
        self.kinds: dict[int, str] = {}
        self.led: dict[int, int] = {}  # parallel worker -> its leader
        self.asked = 0

    def processes(self) -> dict[int, str]:
        """What the server's own look at its processes or threads would give."""
        self.asked += 1
        return dict(self.kinds)

    def leaders(self) -> dict[int, int]:
        """The leaders of those that are parallel workers."""
        return dict(self.led)

    def tell(self, command: str) -> int:
        """Sends a command; returns what it answers with, an id of a process or thread."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        """Ends it and its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
