"""What a server has counted of its statements, whatever its engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.model.address import Address


@dataclass(frozen=True)
class ViewedServer:
    """The server that is read, as messages call it, and where it answers."""

    name: str
    address: Address


@dataclass(frozen=True, kw_only=True)
class StatementCost:
    """A row: what one statement has cost since the counting began."""

    text: str  # empty: the server no longer has it
    sample: bool = False  # the text has the values of one call; else parameters in their place
    query_id: int
    database: str
    user: str
    calls: int
    time_s: float
    rows: int
    cut: bool = False  # the server has cut its text
    hidden: bool = False  # another user's, whose text this one may not see
    nested: bool = False  # run by a function, and so counted within another row, too


@dataclass(frozen=True, kw_only=True)
class ServerView:
    """The rows, and what the server says of itself."""

    rows: Sequence[StatementCost]
    seconds: float | None  # in which the calls were made; None: not known
    version: str
    encoding: str
    locale: str
    settings: Mapping[str, str] = field(default_factory=dict)  # planner's and sizes, not default
    # Settings that a database or a role has for its sessions, by both names; "" is any.
    of_sessions: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    line_prefix: str = ""
    sampled: str = ""  # what the log leaves out, in words; empty: nothing
    notes: Sequence[str] = ()  # sentences for coverage.md
    database: str = ""  # that capture connected to
    uncounted: str = ""  # why it has no rows, and what does instead; empty: it has them
    foreign: frozenset[str] = frozenset()  # names of tables that lie on other servers


def difference(before: ServerView, after: ServerView, seconds: float) -> ServerView:
    """What was counted between two readings of one server."""
    earlier = {key(row): row for row in before.rows}
    rows = []
    for row in after.rows:
        was = earlier.get(key(row))
        if was is not None and was.calls <= row.calls:
            row = replace(
                row,
                calls=row.calls - was.calls,
                time_s=max(row.time_s - was.time_s, 0.0),
                rows=max(row.rows - was.rows, 0),
            )
        if row.calls:
            rows.append(row)
    return replace(after, rows=rows, seconds=seconds)


def key(row: StatementCost) -> tuple[int, str, str, bool]:
    """What makes a row the same in two readings."""
    return row.query_id, row.database, row.user, row.nested
