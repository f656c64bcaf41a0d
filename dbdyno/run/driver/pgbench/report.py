"""Reads the output of pgbench, 10 to 19: its report, by key, and the lines about failures.

The lines depend on the version and on the options. Pure.
"""

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
class PgbenchReport:
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
    match = VERSION.match(line)
    if match is None:
        return None
    minor = "" if match[2] is None else f".{match[2]}"
    return int(match[1]), f"{match[1]}{minor}{match[3]}"


def order(text: str) -> tuple[int, ...]:
    """By which versions ascend: before all releases those that are none, 18beta1 or 17devel.

    A search among commits builds the latter, and leaves them on the host.
    """
    numbers = tuple(int(part) for part in re.findall(r"\d+", text))
    return (int(text.replace(".", "").isdigit()), *numbers)


def parse(text: str) -> PgbenchReport | None:
    """The report; None where the text has none, or not the number of transactions."""
    printed = PgbenchLines(text)
    processed = printed.whole("number of transactions actually processed")
    if processed is None:
        return None
    stddev = printed.number("latency stddev")
    first_connections_ms = printed.number("initial connection time")
    return PgbenchReport(
        processed=processed,
        tps=printed.number("tps"),
        failed=printed.whole("number of failed transactions"),
        skipped=printed.whole("number of transactions skipped"),
        retries=printed.whole("total number of retries"),
        latency_ms=printed.number("latency average"),
        latency_derived=stddev is None,
        latency_stddev_ms=stddev,
        lag_ms=printed.number("rate limit schedule lag"),
        connecting_ms=printed.number("average connection time")
        if first_connections_ms is None
        else first_connections_ms,
    )


class PgbenchLines:
    """The lines of a report, by their words. Those of single scripts and statements are indented.

    Before 14 two lines have the rate, of which the later one leaves the connections out.
    """

    def __init__(self, text: str) -> None:
        matches = filter(None, map(LINE.match, text.splitlines()))
        self._values = {match[1]: match[2] for match in matches}

    def number(self, words: str) -> float | None:
        """The first number of a line; None where there is none."""
        match = NUMBER.search(self._values.get(words, ""))
        return None if match is None else float(match[0])

    def whole(self, words: str) -> int | None:
        """The same as a whole number."""
        number = self.number(words)
        return None if number is None else int(number)


def complaint(lines: Iterable[str]) -> str | None:
    """The first line that says what went wrong; None where none does."""
    return next((line for line in lines if COMPLAINT.search(line)), None)
