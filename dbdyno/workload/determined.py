"""Whether a query's text determines its answer: what it orders, and what it leaves open. Pure.

Texts are cut into words and brackets, not parsed: what a parser refuses is asked, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dbdyno.workload.own_text import tokens

LISTING = frozenset(
    {
        "array_agg",
        "group_concat",
        "json_agg",
        "json_arrayagg",
        "jsonb_agg",
        "string_agg",
        "xmlagg",
        "array",
    }
)
"""What makes a list of rows, in the order in which they come; ARRAY(SELECT …), too."""
PLACING = frozenset(
    {"row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"}
)
"""Window functions that depend on the order of rows."""
CLOCK = frozenset(
    {
        "clock_timestamp",
        "curdate",
        "current_date",
        "current_time",
        "current_timestamp",
        "curtime",
        "localtime",
        "localtimestamp",
        "now",
        "statement_timestamp",
        "sysdate",
        "timeofday",
        "transaction_timestamp",
        "unix_timestamp",
        "utc_date",
        "utc_time",
        "utc_timestamp",
    }
)
AFTER_ORDER = frozenset({"limit", "offset", "fetch", "for", "union", "intersect", "except"})
"""Words that end an ORDER BY."""


@dataclass
class Bracket:
    """The words within a pair of brackets, or of the whole text."""

    before: str = ""  # the word in front of it
    parts: list[str | Bracket] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """Its own words and signs, without those in brackets within."""
        return [part for part in self.parts if isinstance(part, str)]

    @property
    def ordered(self) -> bool:
        """Whether it has an ORDER BY of its own."""
        return ("order", "by") in pairwise(self.words)

    @property
    def limited(self) -> bool:
        """Whether it returns only some of its rows."""
        words = self.words
        return "limit" in words or any(
            pair in (("fetch", "first"), ("fetch", "next")) for pair in pairwise(words)
        )

    def walk(self) -> Iterator[Bracket]:
        """Itself, then all those within."""
        yield self
        for part in self.parts:
            if isinstance(part, Bracket):
                yield from part.walk()


def read(text: str) -> Bracket:
    """A query as words and brackets: unquoted words and signs in lower case, without comments."""
    open_ones = [Bracket()]
    for token in tokens(text):
        if token.group in ("space", "comment"):
            continue
        if token.text == "(":
            before = open_ones[-1].parts[-1] if open_ones[-1].parts else ""
            inner = Bracket(before if isinstance(before, str) else "")
            open_ones[-1].parts.append(inner)
            open_ones.append(inner)
        elif token.text == ")":
            open_ones = open_ones[:-1] if len(open_ones) > 1 else open_ones
        else:
            word = token.text
            open_ones[-1].parts.append(word if token.group == "quoted" else word.lower())
    return open_ones[0]


def doubts(
    whole: Bracket, volatile: Collection[str] = (), unique: Collection[frozenset[str]] = ()
) -> list[str]:
    """Why a text does not determine the answer.

    `volatile`: functions that change; `unique`: the columns of each unique index of its tables.
    """
    reasons = [*_doubts(whole, volatile)]
    keys = {key for key in order_keys(whole) if isinstance(key, str)}
    if whole.limited and whole.ordered and not any(index <= keys for index in unique):
        reasons.append("LIMIT after an ORDER BY that ends in no unique key")
    return list(dict.fromkeys(reasons))


def _doubts(whole: Bracket, volatile: Collection[str]) -> Iterator[str]:
    for bracket in whole.walk():
        if bracket.limited and not bracket.ordered:
            yield "LIMIT without ORDER BY"
        if ("distinct", "on") in pairwise(bracket.words) and not bracket.ordered:
            yield "DISTINCT ON without ORDER BY"
        if bracket.before in LISTING and not bracket.ordered:
            yield f"{bracket.before} without ORDER BY"
        yield from _windows(bracket)
    for name in sorted(functions(whole) & set(volatile)):
        yield f"the volatile function {name}"
    clock = names(whole) & CLOCK
    if clock:
        yield f"the clock: {', '.join(sorted(clock))}"


def names(whole: Bracket) -> set[str]:
    """All of its words; names in quotes without them."""
    words = {word.strip('"`') for bracket in whole.walk() for word in bracket.words}
    return {word for word in words if word.isidentifier()}


def _windows(bracket: Bracket) -> Iterator[str]:
    """row_number() OVER (PARTITION BY a)."""
    parts = bracket.parts
    for first, second, third in zip(parts, parts[1:], parts[2:], strict=False):
        calls = isinstance(first, Bracket) and first.before in PLACING and second == "over"
        if calls and isinstance(third, Bracket) and not third.ordered:
            assert isinstance(first, Bracket)
            yield f"{first.before} without ORDER BY"


def functions(whole: Bracket) -> set[str]:
    """The words in front of brackets, among which are all functions that are called."""
    return {bracket.before for bracket in whole.walk() if bracket.before.isidentifier()}


def order_keys(whole: Bracket) -> tuple[str | int | None, ...]:
    """What the outermost ORDER BY names: a column's name or number; None: an expression."""
    words = whole.words
    starts = [place for place, pair in enumerate(pairwise(words)) if pair == ("order", "by")]
    if not starts:
        return ()
    keys: list[list[str | Bracket]] = [[]]
    for part in _after_order(whole.parts):
        if part == ",":
            keys.append([])
        else:
            keys[-1].append(part)
    return tuple(map(_key, keys))


def _after_order(parts: Sequence[str | Bracket]) -> Iterator[str | Bracket]:
    """The parts of the last ORDER BY."""
    start = max(place for place, pair in enumerate(pairwise(parts)) if pair == ("order", "by"))
    for part in parts[start + 2 :]:
        if isinstance(part, str) and part in AFTER_ORDER:
            return
        yield part


def _key(parts: Sequence[str | Bracket]) -> str | int | None:
    """`o.created DESC NULLS LAST` is `created`."""
    words = [part for part in parts if isinstance(part, str)]
    if len(words) < len(parts) or not words:
        return None
    while words[-1] in ("asc", "desc", "first", "last", "nulls") and len(words) > 1:
        words = words[:-1]
    if len(words) == 1 and words[0].isdecimal():
        return int(words[0])
    named = all(word == "." for word in words[1::2]) and len(words) % 2 == 1
    return words[-1].strip('"`') if named and not words[-1].startswith("'") else None


def order_columns(whole: Bracket, names: Sequence[str]) -> tuple[int, ...]:
    """The places, from 0, of an answer's columns that the outermost ORDER BY names."""
    places = []
    for key in order_keys(whole):
        if isinstance(key, int) and 1 <= key <= len(names):
            places.append(key - 1)
        elif isinstance(key, str) and key in names:
            places.append(names.index(key))
    return tuple(places)
