"""The log of a build's making, and running programs into it so that none of them stays behind."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from dbdyno.model.error import HostError, ServerError

END_S_MAX = 2.0
"""How long programs may take to end by themselves when a build is interrupted."""
KILL_S_MAX = 0.3
"""Likewise by force; what then is still there is dead, and its parent has not noticed yet."""
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "GIT_TERMINAL_PROMPT": "0"}
KEPT = ("PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "https_proxy", "http_proxy", "no_proxy")
"""What programs get of our environment: a CFLAGS or MAKEFLAGS of ours would change the build."""


class BuildLog:
    """The log of one build, as a context manager; who has it open is making the build."""

    def __init__(self, path: Path) -> None:
        """`path`: of the log; what an earlier making said is replaced."""
        self.path = path
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Opens it, empty. Raises HostError where another process makes this build now."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = self.path.open("ab")
        except OSError as error:
            raise HostError(f"`{self.path}` cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise HostError(f"`{self.path.stem}` is being built now: see `{self.path}`") from None
        file.truncate(0)
        self._file = file
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Closes it; the file stays."""
        assert self._file is not None
        self._file.close()
        self._file = None

    def write(self, text: str) -> None:
        """Adds a text of our own."""
        assert self._file is not None
        self._file.write(text.encode())
        self._file.flush()

    def run(
        self,
        command: Sequence[str | Path],
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> str | None:
        """Runs a program in `folder` to its end; None where all went well, else what it said.

        Whatever breaks it off ends the program and all that it started. Raises ServerError where
        it cannot be started.
        """
        assert self._file is not None
        self.write(f"$ {' '.join(map(str, command))}\n")
        begin = self.path.stat().st_size
        try:
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=folder,
                env=environment_of(environment),
                stdin=subprocess.DEVNULL,
                stdout=self._file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ServerError(f"`{command[0]}` cannot be run: {error.strerror}") from error
        try:
            status = process.wait()
        except BaseException:
            end_group(process)
            raise
        if status == 0:
            return None
        with self.path.open("rb") as file:
            file.seek(begin)
            return file.read().decode(errors="replace") or f"it ended with status {status}"


def environment_of(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the programs that build, the same whatever ours is."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return kept | ENVIRONMENT | dict(more or {})


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a program and all that it started, which are of its session: in order, else by force."""
    for number, limit_s in ((signal.SIGTERM, END_S_MAX), (signal.SIGKILL, KILL_S_MAX)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        until = time.monotonic() + limit_s
        while time.monotonic() < until and _is_there(process):
            time.sleep(0.02)
    process.wait()


def _is_there(process: subprocess.Popen[bytes]) -> bool:
    """Whether any process of the group lives; the first one is collected, as it counts else."""
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True
