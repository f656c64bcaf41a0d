"""What one look at pg_stat_activity comes to: who is on the CPU, who waits, and for what. Pure.

The meaning of a row is that of spec pgbench-cbc-ybio.md 4.8: active without a wait is on the CPU or
ready for it; active with one waits for it; a session that waits for its client is no load.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.model import Json

TEXT_CHARACTERS = 200
"""Of a query's text are asked for."""
SHORT_CHARACTERS = 60
"""Of a text are shown that is no statement of the job."""
NAMES_MAX = 4_096
"""Texts with literals are all different: so many names of theirs are remembered."""

ON_CPU = "CPU"
IN_TRANSACTION = "idle in transaction"
OTHER_BACKEND = "backend:other"
PREPARED = re.compile(r"EXECUTE s(\d+)_")
"""How dyno-loadgen names what it prepares in SQL (contract/README.md, statements)."""

Row = tuple[int, str | None, str | None, str | None, str | None, str | None]
"""pid, backend_type, state, wait_event_type, wait_event, the query's beginning."""


def sql(version_num: int) -> str:
    """The query of a sample: all processes but the one asked and those that only wait for work.

    The function below pg_stat_activity, as the view joins names that nobody needs here. Before 10
    it has client backends and autovacuum's workers only, and does not tell them apart.
    """
    kind = "backend_type" if version_num >= 100000 else "NULL::text"
    return f"""
        SELECT pid, {kind}, state, wait_event_type, wait_event,
               CASE WHEN state IS DISTINCT FROM 'idle' THEN left(query, {TEXT_CHARACTERS}) END
        FROM pg_stat_get_activity(NULL)
        WHERE pid <> pg_backend_pid() AND wait_event_type IS DISTINCT FROM 'Activity'
    """


@dataclass(frozen=True)
class Look:
    """What sessions did at one moment."""

    sessions: tuple[tuple[str, str, str, str, int], ...]  # owner, kind, event, statement, how many
    idle: Mapping[str, int]  # by owner: sessions that wait for their client

    def as_json(self) -> Json:
        """Its part of a line of waits.jsonl."""
        return {"sessions": self.sessions, "idle": self.idle}


def look(rows: Iterable[Row], roles: Mapping[int, str], names: Names) -> Look:
    """Sorts the rows of a sample by owner; `roles`: which connection's process is whose."""
    sessions: Counter[tuple[str, str, str, str]] = Counter()
    idle: Counter[str] = Counter()
    for pid, kind, state, wait, event, text in rows:
        owner = owner_of(pid, kind, roles)
        if state == "idle" or (wait == "Client" and event == "ClientRead" and not pausing(state)):
            idle[owner] += 1
            continue
        statement = names.of(text or "")
        if pausing(state):
            sessions[owner, IN_TRANSACTION, "", statement] += 1
        else:
            sessions[owner, wait or ON_CPU, event or "", statement] += 1
    return Look(tuple((*key, count) for key, count in sessions.items()), dict(idle))


def pausing(state: str | None) -> bool:
    """Whether a session holds a transaction open and waits for its client, failed ones too."""
    return state is not None and state.startswith(IN_TRANSACTION)


def owner_of(pid: int, kind: str | None, roles: Mapping[int, str]) -> str:
    """Whom a process works for, under the names of host.jsonl's owners."""
    role = roles.get(pid)
    if role is not None:
        return f"role:{role}"
    return OTHER_BACKEND if kind in (None, "client backend") else f"background:{kind}"


class Names:
    """The names of a job's statements, by the text that the server shows of them."""

    def __init__(self, statements: Sequence[Json]) -> None:
        self._names = [str(one["name"]) for one in statements]
        self._literals = [tuple(literals(one["pieces"])) for one in statements]
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

    Whatever lies between them are values and tables. A text that was cut off need not have all.
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
