"""The log of a build's making, and running programs into it so that none of them stays behind."""

import fcntl
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from dbdyno.host import child
from dbdyno.model.error import HostError, ServerError

ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "GIT_TERMINAL_PROMPT": "0"}
KEPT = ("PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "https_proxy", "http_proxy", "no_proxy",
        "CCACHE_DIR", "CCACHE_DISABLE", "SCCACHE_DIR")  # fmt: skip
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

    def __exit__(self, *_: object) -> None:
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
            end = child.run(
                command, self._file, folder=folder, environment=environment_of(environment)
            )
        except OSError as error:
            raise ServerError(f"`{command[0]}` cannot be run: {error.strerror}") from error
        if end.status == 0:
            return None
        with self.path.open("rb") as file:
            file.seek(begin)
            said = file.read().decode(errors="replace")
        return said or f"it ended with status {end.status}"


def environment_of(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the programs that build, the same whatever ours is."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return kept | ENVIRONMENT | dict(more or {})
