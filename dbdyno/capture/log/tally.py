"""What reading a log meets beside calls: counted here, said in coverage.md."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dbdyno.engine.mysql import flavour

DIGITS = re.compile(r"\d+\.\d+(?:\.\d+)?")


@dataclass
class Tally:
    """Counts of what was read and could not be used."""

    records: int = 0
    torn: int = 0  # records without an end
    strange: int = 0  # lines that are no record
    bare_durations: int = 0  # a time without a text
    texts_without_time: int = 0
    texts_with_time: int = 0
    plans: int = 0
    nested: int = 0  # plans of statements that functions ran
    translated: int = 0  # messages in another language
    cut_values: int = 0
    wrapped: bool = False  # whether a service has put its lines into JSON
    format: str = ""
    prefix: str = ""
    engine: str = ""  # of the server, where the log tells it
    version: str = ""
    untimed: int = 0  # calls of a log that has no times at all
    without_session: int = 0  # calls of which the log does not tell the session
    rate_limit: int = 0  # the log has one of so many calls; 0: it does not say
    shortest_s: float | None = None  # the shortest call that a slow log has

    def opened(self, version: str) -> None:
        """Takes what a server of MySQL or MariaDB says of itself when it opens the log."""
        self.engine = flavour.told(version)
        digits = DIGITS.search(version.removeprefix("5.5.5-"))
        self.version = digits[0] if digits else ""
