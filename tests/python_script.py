"""Programs in Python for tests, run by this interpreter wherever it lies."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def write(path: Path, code: str) -> None:
    """Writes a program of this code. No first line of a script holds a path with a space: the shell
    hands the file on to Python, to which its own line is a text.
    """
    path.write_text(f"#!/bin/sh\n'''exec' {shlex.quote(sys.executable)} \"$0\" \"$@\"\n'''\n{code}")
    path.chmod(0o755)
