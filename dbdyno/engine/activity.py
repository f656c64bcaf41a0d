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

from dbdyno.model import Json

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
    kind: str  # ON_CPU, a class of waits, IN_TRANSACTION, IDLE or HIDDEN
    event: str  # the server's own name of what it waits for
    text: str  # the beginning of its query
    query_start_us: int | None = None  # since 1970; None: the server does not tell it
    xact_start_us: int | None = None


COLUMNS = (
    *("pid", "owner", "state", "kind", "event", "statement"),
    *("query", "query_start_us", "xact_start_us"),
)
"""The columns of a session of `Look.each`, in this order."""


@dataclass(frozen=True)
class Look:
    """The activity of all sessions at one moment."""

    sessions: tuple[tuple[str, str, str, str, int], ...]  # owner, kind, event, statement, how many
    idle: Mapping[str, int]  # by owner: sessions that wait for their client
    hidden: int = 0  # sessions of other users, of which nobody tells what they do
    each: tuple[tuple[str | int | None, ...], ...] | None = None  # every one; None: not asked for

    def as_json(self) -> Json:
        """Its part of a line of waits.jsonl."""
        line: Json = {"sessions": self.sessions, "idle": self.idle}
        if self.hidden:
            line["hidden"] = self.hidden
        return line if self.each is None else line | {"by_session": self.each}


def look(
    seen: Iterable[Session], roles: Mapping[int, str], names: Names, *, each: bool = False
) -> Look:
    """Sorts the sessions of a sample by owner; `roles`: which connection's process is whose.

    `each`: keeps every one of them, too.
    """
    sessions: Counter[tuple[str, str, str, str]] = Counter()
    idle: Counter[str] = Counter()
    hidden = 0
    rows: list[tuple[str | int | None, ...]] = []
    for one in seen:
        owner = owner_of(one, roles)
        statement = names.of(one.text)
        if one.kind == HIDDEN:
            hidden += 1
        elif one.kind == IDLE:
            idle[owner] += 1
        else:
            sessions[owner, one.kind, one.event, statement] += 1
        if each:
            told = (one.pid, owner, one.state, one.kind, one.event, statement, one.text)
            rows.append((*told, one.query_start_us, one.xact_start_us))
    return Look(
        tuple((*key, count) for key, count in sessions.items()),
        dict(idle),
        hidden,
        tuple(rows) if each else None,
    )


def owner_of(one: Session, roles: Mapping[int, str]) -> str:
    """The owner of a session's work, under the names of host.jsonl's owners."""
    role = None if one.pid is None else roles.get(one.pid)
    if role is not None:
        return f"role:{role}"
    return OTHER_BACKEND if one.background is None else f"background:{one.background}"


class Names:
    """The names of a job's statements, by the text that the server shows of them."""

    def __init__(self, statements: Sequence[Json]) -> None:
        self._names = [str(statement["name"]) for statement in statements]
        self._literals = [tuple(literals(statement["pieces"])) for statement in statements]
        self._known: dict[str, str] = {}

    def of(self, text: str) -> str:
        """The name of the statement with the longest text in common; else the text in short."""
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= NAMES_MAX:
                self._known.clear()
            found = self._known[text] = self._find(text)
        return found

    def _find(self, text: str) -> str:
        prepared = PREPARED.match(text)
        if prepared and int(prepared[1]) < len(self._names):
            return self._names[int(prepared[1])]
        matched = [common(text, own) for own in self._literals]
        longest = max(matched, default=0)
        if longest:
            return self._names[matched.index(longest)]
        return " ".join(text.split())[:SHORT_CHARACTERS]


def literals(pieces: Iterable[object]) -> Iterable[str]:
    """The texts of a statement in their order, up to the end of the first item of a repeat."""
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
        elif isinstance(piece, dict) and "repeat" in piece:
            yield from literals(piece["pieces"])
            return


def common(text: str, own: Sequence[str]) -> int:
    """How many characters of a statement's texts follow each other in `text`; 0: it is another.

    Values and tables lie between them. A text that was cut off need not have all.
    """
    if not own or not text.startswith(own[0].lstrip()):
        return 0
    place = length = len(own[0].lstrip())
    for one in own[1:]:
        found = text.find(one, place)
        if found < 0:
            return length if len(text) >= TEXT_CHARACTERS else 0
        place, length = found + len(one), length + len(one)
    return length
