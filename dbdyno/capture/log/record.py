"""A record of a server's log, whatever its format."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from msgspec import Struct


class Record(Struct, frozen=True, kw_only=True):
    """A message of the server, with what the log says of its session."""

    end_s: float  # seconds since 1970
    session: str
    database: str = ""
    user: str = ""
    application: str = ""
    severity: str
    message: str
    detail: str = ""
    statement: str = ""  # of an error: what failed
    sqlstate: str = ""
    query_id: int = 0
    context: str = ""  # of a statement that a function runs: which
    lost: bool = False  # lines after it were not understood, so its text may be cut


STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d{3})?(?: ?([A-Z][A-Za-z]*|[+-]\d\d(?::?\d\d)?))?"
)
"""A time as PostgreSQL's logs have it: %m, %t, and the columns of csvlog and jsonlog."""
ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d(?::?\d\d)?|)")
"""A time as services write it."""
ZONES = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7} | {
    "CET": 1,
    "CEST": 2,
    "EET": 2,
    "EEST": 3,
    "MSK": 3,
    "BST": 1,
    "WET": 0,
    "WEST": 1,
    "JST": 9,
    "KST": 9,
    "IST": 5.5,
    "HKT": 8,
    "SGT": 8,
    "AEST": 10,
    "AEDT": 11,
    "BRT": -3,
}
"""Hours ahead of UTC of the abbreviations that logs have; another is taken for UTC."""


@dataclass
class LogClock:
    """Reads the times of a log; the second of the record before is kept, as many share it."""

    seconds: dict[str, float] = field(default_factory=dict)

    def read(self, stamp: str) -> float | None:
        """Seconds since 1970; None where it is no time."""
        exact = stamp[19:20] == "." and stamp[20:23].isdecimal()
        key = stamp[:19] + stamp[23:] if exact else stamp
        known = self.seconds.get(key)
        if known is not None:
            return known + int(stamp[20:23]) / 1000 if exact else known
        match = STAMP.fullmatch(stamp)
        if match is None:
            return None
        try:
            at = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
        except ValueError:
            return None
        whole = (at - offset(match[3] or "")).timestamp()
        if len(self.seconds) > 10:
            self.seconds.clear()
        fraction = float(match[2] or 0)
        self.seconds[key] = whole if exact else whole + fraction
        return whole + fraction


def offset(zone: str) -> timedelta:
    """How far a zone is ahead of UTC."""
    if zone[:1] in ("+", "-"):
        digits = zone[1:].replace(":", "")
        ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
        return ahead if zone[0] == "+" else -ahead
    return timedelta(hours=ZONES.get(zone, 0))


def stamp_of(time: str) -> str:
    """A time of ISO 8601 (`2026-11-26T10:00:00.123456Z`) as %m writes it."""
    match = ISO.match(time)
    if match is None:
        return time
    zone = match[4] if match[4] not in ("", "Z") else "UTC"
    return f"{match[1]} {match[2]}.{(match[3] or '')[:3]:0<3} {zone}"
