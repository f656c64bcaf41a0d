"""Tells texts whose end may be lost: in a log's lines, at a limit of a length, in a view.

Such a text is never run where it writes: a DELETE without its WHERE empties a table. One that reads
is kept and marked.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from dbdyno.capture.gather import Query

CUT = "texts that may be cut"
WHOLE = re.compile(r'"(?:[^"]|"")*"|`[^`]*`|/\*.*?\*/', re.DOTALL)
"""Names in quotes and hints, which skeletons have."""
CLAUSES = (
    r"where|and|x?or|not|set|from|join|inner|left|right|full|cross|outer|on|in|values|into|by|group"
    r"|order|having|select|i?like|between|is|as|union|except|intersect|all|limit|offset|using|case"
    r"|when|then|else|distinct|insert|delete|interval|exists|any|for|with|returning"
)
WORDS = (*CLAUSES.replace("?", "").split("|"), "or", "like", "update", "replace", "merge")
LEFT_OPEN = re.compile(
    r"""['"`]|/\*|(?<![\w$])\$(?:[^\W\d]\w*)?(?:\$|\Z)"""
    rf"|(?:[-=<>+/%|&^~@#:,(.*]|(?<![\w$.])(?:{CLAUSES}))\s*\Z",
    re.IGNORECASE,
)
"""A quote or a comment without its end, or a clause that goes on."""
LACKING = re.compile(
    r"\s*(?:update\b(?!.*\bset\b.*=)|delete\b(?!.*\bfrom\b)"
    r"|(?:insert|replace)\b(?!.*\b(?:values?|select|set|table|default|with)\b))",
    re.IGNORECASE | re.DOTALL,
)
"""A write without the clause that makes it one."""
LAST_WORD = re.compile(r"(?<![\w$.])([a-z]+)\s*\Z", re.IGNORECASE)
WHERE = re.compile(r" WHERE\b", re.IGNORECASE)
BEGUN_WHERE = re.compile(r"DELETE FROM \S+ W(?:H(?:ER?)?)?", re.IGNORECASE)
"""What a server takes for another name of the table."""
LENGTH_MIN = 100
"""The shortest `track_activity_query_size`."""
LIMITS = frozenset(
    {2**n - less for n in range(10, 21) for less in (0, 1)}
    | {1000 * n for n in (1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100)}
)
"""Lengths at which servers and services cut: `track_activity_query_size` is 1024 with its end."""
CHARACTER_MAX = 4
"""Bytes of a character: a text is cut before one that does not fit."""
ALIKE_MIN = 3
"""So many different texts that end at one length show a limit there."""


def is_open(skeleton: str, *, refused: bool = False) -> bool:
    """Whether a text, given without its literals and comments, ends where none can.

    `refused`: the parser does not take it, so that its last word may be the beginning of another.
    """
    bare = WHOLE.sub("x", skeleton)
    if bare.count("(") != bare.count(")") or bare.count("[") != bare.count("]"):
        return True
    last = LAST_WORD.search(bare) if refused else None
    begun = last is not None and any(word.startswith(last[1].lower()) for word in WORDS)
    return begun or LEFT_OPEN.search(bare) is not None or LACKING.match(bare) is not None


def marked(queries: Sequence[Query], length_max: int, *, has_ends: bool = True) -> list[Query]:
    """The queries, with those marked whose texts may be cut.

    `length_max`: of all texts of the source, in bytes. `has_ends`: whether its records show where
    a text ends; in others a text may be the first line of a longer one.
    """
    at_limit = [query for query in queries if query.length_min > length_max - CHARACTER_MAX]
    ends_open = sum(query.form.open for query in at_limit)
    is_limit = length_max in LIMITS or (
        length_max >= LENGTH_MIN and len(at_limit) >= ALIKE_MIN and 2 * ends_open >= len(at_limit)
    )
    cut = set(map(id, at_limit)) if is_limit else set()
    keys = [] if has_ends else [query.form.key for query in queries]
    begun = {key[: where.start()] for key in keys for where in WHERE.finditer(key)}
    return [
        replace(
            query,
            cut=query.cut
            or query.form.open
            or id(query) in cut
            or BEGUN_WHERE.fullmatch(query.form.key) is not None
            or (query.form.writes and query.form.key in begun),
        )
        for query in queries
    ]
