"""What `dyno` ends with, and how its commands speak to the person beside their results."""

from __future__ import annotations

import sys

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


def say(text: str) -> None:
    """A line for the person, on standard error."""
    print(text, file=sys.stderr)  # noqa: T201
