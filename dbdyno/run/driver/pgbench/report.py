"""Reads the output of pgbench, 10 to 18: its report, by key, and the lines about failures.

The lines depend on the version and on the options. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

VERSION = re.compile(r"pgbench \(PostgreSQL\) (\d+)(?:\.(\d+))?(\S*)")
LINE = re.compile(r"([a-z][a-z -]*?)(?: \([^)]*\))?(?: =|:) (.+)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
MAJOR_MIN = 10
"""The oldest version whose words and log are known."""
ABORTED = re.compile(r"\bclient \d+ (?:script \d+ )?aborted\b")
"""A client that goes on no more, after which there is another load."""
COMPLAINT = re.compile(
    r"\b(?:error|fatal|aborted|could not|invalid|unrecognized|illegal|requires)\b", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """The figures of a whole run; None where this version, or this run, does not tell them."""

    processed: int  # transactions that ended well
    tps: float | None  # without the time of the first connections; None where nothing ended
    failed: int | None
    skipped: int | None
    retries: int | None
    latency_ms: float | None
    latency_derived: bool  # from the rate and the number of clients: nothing was timed
    latency_stddev_ms: float | None
    lag_ms: float | None  # the mean, of a run with a rate
    connecting_ms: float | None


def version(line: str) -> tuple[int, str] | None:
    """Major and whole version, (15, "15.18"), of what `pgbench --version` says; None: it does not.

    Versions before 10 are (9, …).
    """
    found = VERSION.match(line)
    if found is None:
        return None
    minor = "" if found[2] is None else f".{found[2]}"
    return int(found[1]), f"{found[1]}{minor}{found[3]}"


def order(text: str) -> tuple[int, ...]:
    """By which versions ascend: 18beta1 is before 18.0."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", text.partition("beta")[0]))
    return (*numbers, 0)[:2] if "beta" not in text else (numbers[0] - 1, 10**6)


def parse(text: str) -> Report | None:
    """The report; None where the text has none, or not the number of transactions."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if told := LINE.match(line):  # of single scripts and statements lines are indented
            # Before 14 two lines have the rate, of which the later one leaves the connections out.
            found[told[1]] = told[2]
    processed = number(found.get("number of transactions actually processed"))
    if processed is None:
        return None
    stddev = number(found.get("latency stddev"))
    return Report(
        processed=int(processed),
        tps=number(found.get("tps")),
        failed=whole(found.get("number of failed transactions")),
        skipped=whole(found.get("number of transactions skipped")),
        retries=whole(found.get("total number of retries")),
        latency_ms=number(found.get("latency average")),
        latency_derived=stddev is None,
        latency_stddev_ms=stddev,
        lag_ms=number(found.get("rate limit schedule lag")),
        connecting_ms=number(
            found.get("initial connection time") or found.get("average connection time")
        ),
    )


def number(text: str | None) -> float | None:
    """The first number of a value; None where there is none."""
    found = NUMBER.search(text or "")
    return None if found is None else float(found[0])


def whole(text: str | None) -> int | None:
    """The same as a whole number."""
    found = number(text)
    return None if found is None else int(found)


def complaint(lines: Iterable[str]) -> str | None:
    """The first line that says what went wrong; None where none does."""
    return next((line for line in lines if COMPLAINT.search(line)), None)
