"""Reads one look at a server's sessions: who is on the CPU, who waits, and for what. Pure.

Activity is told in PostgreSQL's classes of waits, for all engines (spec pgbench-cbc-ybio.md 4.8):
active without a wait is on the CPU or ready for it; active with one waits for it; a session that
waits for its client is no load.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dbdyno.model.job.statements import Piece, Statement
from dbdyno.model.wait_samples import SessionCount, SessionSample

TEXT_CHARACTERS = 200
"""Of a query's text are asked for."""
SHORT_CHARACTERS = 60
"""Of a text are shown that is no statement of the job."""
NAMES_MAX = 4_096
"""Texts with literals are all different: so many names of theirs are remembered."""

ON_CPU = "CPU"
IN_TRANSACTION = "idle in transaction"
IDLE = "idle"
HIDDEN = "hidden"
"""What a session does that the user who asks may not see."""
OTHER_BACKEND = "backend:other"
PREPARED = re.compile(r"EXECUTE s(\d+)_")
"""How dyno-loadgen names what it prepares in SQL (contract/README.md, statements)."""


class Session(NamedTuple):
    """The activity of a session, or of a part of the server's background, at one moment."""

    pid: int | None  # as `server_pid` of the generator's `connected`; None: it has no connection
    background: str | None  # what a part of the background is for; None: it serves a connection
    state: str | None  # in the server's own words
    activity: str  # ON_CPU, a class of waits, IN_TRANSACTION, IDLE or HIDDEN
    event: str  # the server's own name of what it waits for
    text: str  # the beginning of its query
    query_start_us: int | None = None  # since 1970; None: the server does not tell it
    xact_start_us: int | None = None


@dataclass(frozen=True)
class ActivitySample:
    """The activity of all sessions at one moment."""

    sessions: tuple[SessionCount, ...]
    idle: Mapping[str, int]  # by owner: sessions that wait for their client
    hidden: int = 0  # sessions of other users, of which nobody tells what they do
    by_session: tuple[SessionSample, ...] | None = None  # every one; None: not asked for


def look(
    sessions: Iterable[Session], roles: Mapping[int, str], names: Names, *, each: bool = False
) -> ActivitySample:
    """Sorts the sessions of a sample by owner; `roles`: which connection's process is whose.

    `each`: keeps every one of them, too.
    """
    counts: Counter[tuple[str, str, str, str]] = Counter()
    idle: Counter[str] = Counter()
    hidden = 0
    every: list[SessionSample] = []
    for session in sessions:
        owner = owner_of(session, roles)
        statement = names.of(session.text)
        if session.activity == HIDDEN:
            hidden += 1
        elif session.activity == IDLE:
            idle[owner] += 1
        else:
            counts[owner, session.activity, session.event, statement] += 1
        if each:
            every.append(
                SessionSample(
                    pid=session.pid,
                    owner=owner,
                    state=session.state,
                    activity=session.activity,
                    event=session.event,
                    statement=statement,
                    query=session.text,
                    query_start_us=session.query_start_us,
                    xact_start_us=session.xact_start_us,
                )
            )
    return ActivitySample(
        sessions=tuple(SessionCount(*place, count) for place, count in counts.items()),
        idle=dict(idle),
        hidden=hidden,
        by_session=tuple(every) if each else None,
    )


def owner_of(session: Session, roles: Mapping[int, str]) -> str:
    """The owner of a session's work, under the names of host.jsonl's owners."""
    role = None if session.pid is None else roles.get(session.pid)
    if role is not None:
        return f"role:{role}"
    return OTHER_BACKEND if session.background is None else f"background:{session.background}"


class Names:
    """The names of a job's statements, by the text that the server shows of them."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self._names = [statement.name for statement in statements]
        self._literals = [tuple(literals(statement.pieces)) for statement in statements]
        self._known: dict[str, str] = {}

    def of(self, text: str) -> str:
        """The name of the statement with the longest text in common; else the text in short."""
        name = self._known.get(text)
        if name is None:
            if len(self._known) >= NAMES_MAX:
                self._known.clear()
            name = self._known[text] = self._find(text)
        return name

    def _find(self, text: str) -> str:
        prepared = PREPARED.match(text)
        if prepared and int(prepared[1]) < len(self._names):
            return self._names[int(prepared[1])]
        matched = [common(text, own) for own in self._literals]
        longest = max(matched, default=0)
        if longest:
            return self._names[matched.index(longest)]
        return " ".join(text.split())[:SHORT_CHARACTERS]


def literals(pieces: Iterable[str | Piece]) -> Iterable[str]:
    """The texts of a statement in their order, up to the end of the first item of a repeat."""
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
        elif piece.pieces is not None:
            yield from literals(piece.pieces)
            return


def common(text: str, own: Sequence[str]) -> int:
    """How many characters of a statement's texts follow each other in `text`; 0: it is another.

    Values and tables lie between them. A text that was cut off need not have all.
    """
    if not own or not text.startswith(own[0].lstrip()):
        return 0
    place = length = len(own[0].lstrip())
    for literal in own[1:]:
        begin = text.find(literal, place)
        if begin < 0:
            return length if len(text) >= TEXT_CHARACTERS else 0
        place, length = begin + len(literal), length + len(literal)
    return length
