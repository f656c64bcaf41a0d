"""The clock of a captured query: a dump of last week has nothing of today's last hour.

So the time of the capture stands in the place of `now()` and its like. It also makes the answers
of two servers comparable.
"""

import re
from datetime import UTC, datetime

NAME = re.compile(r"\s*(\w+)")
MOMENTS = frozenset(
    {"now", "current_timestamp", "transaction_timestamp", "statement_timestamp", "clock_timestamp"}
)
"""Functions whose type is that of a moment, in their dialect."""
LOCAL = frozenset({"localtimestamp", "sysdate", "utc_timestamp"})
DAYS = frozenset({"current_date", "curdate"})


def stopped(source: str, at_s: float | None, moment: str) -> str:
    """The literal of a moment for a call of the clock; the call itself where it has no literal.

    `at_s`: seconds since 1970; None: the clock goes on. `moment`: the type of `now()`.
    """
    match = NAME.match(source)
    if at_s is None or match is None:
        return source
    at, name = datetime.fromtimestamp(at_s, UTC), match[1].lower()
    if name in DAYS:
        return f"date '{at:%Y-%m-%d}'"
    if name in LOCAL:
        return f"timestamp '{at:%Y-%m-%d %H:%M:%S}'"
    if name in MOMENTS:
        zone = "+00" if moment == "timestamptz" else ""
        return f"{moment} '{at:%Y-%m-%d %H:%M:%S}{zone}'"
    return source
