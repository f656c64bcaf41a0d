"""Runs a program to its end and says what CPU it took: its own, of all its threads, no other's."""

import os
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.error import DynoError

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
"""The same on every host: no `PG*` variable of ours gets in."""


class ProgramFailed(DynoError):
    """A program that is measured did not do its work."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What a program wrote, and what it took from its start to its end."""

    output: str
    user_s: float
    system_s: float


def run(command: Sequence[str | Path], *, limit_s: float, text: str = "") -> Ended:
    """Runs a program with `text` as its standard input.

    The CPU is that of wait4(2): of the process, its threads and those of its children that it
    waited for. Raises ProgramFailed where it ends with another status than 0, or not within
    `limit_s` seconds.
    """
    words = [str(word) for word in command]
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        given.write(text.encode())
        given.seek(0)
        process = subprocess.Popen(
            words, stdin=given, stdout=output, stderr=errors, env=ENVIRONMENT
        )
        timer = threading.Timer(limit_s, process.kill)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            timer.cancel()
            if process.returncode is None:
                process.kill()
                process.wait()
        output.seek(0)
        errors.seek(0)
        said = output.read().decode(errors="replace")
        if process.returncode != 0:
            why = " ".join((errors.read().decode(errors="replace") or said).split())[-300:]
            raise ProgramFailed(
                f"`{Path(words[0]).name}` ended with status {process.returncode}: {why}"
            )
        return Ended(output=said, user_s=usage.ru_utime, system_s=usage.ru_stime)
