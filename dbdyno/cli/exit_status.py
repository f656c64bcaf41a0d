"""The exit statuses of `dyno`, and messages beside results."""

from __future__ import annotations

import sys
from pathlib import Path

DONE = 0
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
MEANINGS = {
    DONE: "done",
    FAILED: "finished, but steps failed; for `compare --fail-on`: a verdict was found; for "
    "`verify`: files are damaged",
    BAD_INPUT: "bad input: one line names the file, the key and the remedy",
    INTERRUPTED: "interrupted: all measurements are kept, and the same command resumes",
}
"""Every status that `dyno` ends with, and when: for help, docs/commands.md and the man page."""


def of_result(folder: Path) -> int:
    """FAILED where a step of the result failed, whichever command ran it; else DONE."""
    from dbdyno.store import Results

    return FAILED if Results.open(folder).failed_steps() else DONE


def say(text: str) -> None:
    """A line for the person, on standard error."""
    print(text, file=sys.stderr)  # noqa: T201
