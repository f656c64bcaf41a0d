"""Times as logs of MySQL and MariaDB write them: `2026-11-26T10:00:00.123456Z`, `261126 10:00:00`.

The short form has no zone: it is read as if it were UTC, which rates do not mind.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime

KEPT_MAX = 10
SECOND = len("2026-11-26T10:00:00")


@dataclass
class MysqlClock:
    """Reads the times of a log; seconds that were read are kept, as many records share them."""

    seconds: dict[str, float] = field(default_factory=dict)

    def read(self, stamp: str) -> float | None:
        """Seconds since 1970; None where it is no time."""
        fraction = stamp[SECOND : SECOND + 7]
        exact = fraction[:1] == "." and fraction[1:].isdecimal() and len(fraction) == 7
        whole = stamp[:SECOND] + stamp[SECOND + 7 :] if exact else stamp
        known = self.seconds.get(whole)
        if known is None:
            known = seconds_of(whole)
            if known is None:
                return None
            if len(self.seconds) >= KEPT_MAX:
                self.seconds.clear()
            self.seconds[whole] = known
        return known + float(fraction) if exact else known


def seconds_of(stamp: str) -> float | None:
    """Seconds since 1970 of a time without a fraction; None where it is no time."""
    try:
        if stamp[4:5] == "-":
            at = datetime.fromisoformat(stamp)
        else:
            day, _, hour = stamp.partition(" ")
            hour, _, fraction = hour.strip().partition(".")
            at = datetime.strptime(f"{day} {hour.rjust(8, '0')}", "%y%m%d %H:%M:%S")
            at = at.replace(microsecond=int(fraction.ljust(6, "0")[:6]))
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
