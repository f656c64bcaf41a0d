"""`dyno` as a person calls it, within the process of the test: a process of its own takes a second.

What is said of the process itself is tested with one: test_package, test_blocks.
"""

import io
import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from dbdyno.cli import main


def dyno(*arguments: str | Path, columns: int = 80) -> CompletedProcess[str]:
    """What `dyno` with these arguments prints, and its exit status."""
    words = ["dyno", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    ends = signal.getsignal(signal.SIGTERM)
    try:
        with (
            patch.object(sys, "argv", words),
            patch.dict(os.environ, COLUMNS=str(columns)),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            status = _status()
    finally:
        signal.signal(signal.SIGTERM, ends)
    return CompletedProcess(words, status, out.getvalue(), err.getvalue())


def _status() -> int:
    try:
        return main()
    except SystemExit as ended:
        assert isinstance(ended.code, int | None)
        return ended.code or 0
