"""Names queries, and writes their texts: verb, first table, eight digits of the text's hash."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from dbdyno.capture.call import Way
from dbdyno.capture.clock import stopped
from dbdyno.capture.dialect import Dialect
from dbdyno.capture.folder import CapturedQuery
from dbdyno.capture.gather import Query
from dbdyno.model.grouping import grouped

NAME_MAX = 64
DIGITS = 8


@dataclass(frozen=True)
class QueryText:
    """A query's text, and what of its parameters stands for the clock."""

    text: str
    clock: dict[int, str]


def named(queries: Sequence[Query], dialect: Dialect, at_s: float | None) -> list[CapturedQuery]:
    """The queries as the folder has them, in their order, under names that no two share.

    `at_s`: when the clock stands still for them, in seconds since 1970; None: nowhere.
    """
    by_key = grouped((query.form.key, query) for query in queries)
    names: set[str] = set()
    captured = []
    for query in queries:
        of_key = by_key[query.form.key]
        key = query.form.key if len(of_key) == 1 else f"{query.form.key}\0{told_by(query, of_key)}"
        name = name_of(query, key)
        while name in names:
            key += f"\0{query.way}"
            name = name_of(query, key)
        names.add(name)
        text = text_of(query, dialect, at_s)
        way: Way = query.way
        captured.append(
            CapturedQuery(
                name=name,
                text=text.text,
                samples=query.samples,
                calls=query.calls,
                time_s=query.time_s,
                rows=query.rows,
                protocol=way,
                types=query.types if way != "simple" else (),
                writes=query.form.writes,
                settings=query.settings,
                role=query.role,
                clock=text.clock,
                cut=query.cut,
            )
        )
    return captured


def told_by(query: Query, of_key: Sequence[Query]) -> str:
    """What tells a query from others of the same text, whichever of them costs more."""
    settings = sorted(
        (name, value)
        for name, value in query.settings.items()
        if any(other.settings.get(name) != value for other in of_key)
    )
    return repr((settings, query.role, query.form.layout, query.literals))


def name_of(query: Query, key: str) -> str:
    """The name of a query by what makes it that query."""
    digits = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=DIGITS // 2).hexdigest()
    words = [query.form.verb, *query.form.tables[:1]]
    begin = "-".join(filter(None, (plain(word) for word in words)))[: NAME_MAX - DIGITS - 1]
    return f"{begin.rstrip('-')}-{digits}"


def plain(word: str) -> str:
    """The word in characters that a file's name and a TOML key have everywhere."""
    return re.sub(r"[^a-z0-9_]+", "-", word.lower()).strip("-")


def text_of(query: Query, dialect: Dialect, at_s: float | None = None) -> QueryText:
    """The text with its parameters; literals that are its own stand in it."""
    form = query.form
    kept = query.literals
    written, clock = [form.pieces[0]], {}
    for slot, piece in zip(form.slots, form.pieces[1:], strict=True):
        number = slot.number
        if slot.part == "clock":
            number -= form.literals if kept is not None else 0
            clock[number] = stopped(slot.source, at_s, dialect.moment)
        place = f"${number}"
        if slot.part == "literal" and kept is not None:
            own = dialect.within(query.settings)
            place = own.quoted(kept[number - form.bound - 1])
        written += [slot.before, place, piece]
    return QueryText("".join(written), clock)
