"""Programs in Python for tests, run by this interpreter wherever it lies."""

import shlex
import sys
from pathlib import Path


def write(path: Path, code: str) -> None:
    """Writes a program of this code.

    `#!` cannot name an interpreter whose path has a space. So the shell starts Python on the file;
    Python reads the shell's line as a string.
    """
    path.write_text(f"#!/bin/sh\n'''exec' {shlex.quote(sys.executable)} \"$0\" \"$@\"\n'''\n{code}")
    path.chmod(0o755)
