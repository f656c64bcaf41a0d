"""Texts of captured queries: `$1`, `$2` … are parameters, all else stands as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.workload.scope import Scope
from dbdyno.workload.script.sql import BRACKET, STANDARD
from dbdyno.workload.sql import Piece, ValuePlace

PARAMETER = re.compile(r"\$[1-9][0-9]*")


def placed(text: str, values: Sequence[str], scope: Scope) -> tuple[Piece, ...]:
    """The pieces of SQL that stands as written but for $1, $2 …, which are these values."""
    pieces: list[Piece] = []
    for number, piece in enumerate(at_parameters(text)):
        if number % 2 == 0:
            pieces += [piece] if piece else []
        elif 1 <= int(piece[1:]) <= len(values):
            pieces.append(ValuePlace(values[int(piece[1:]) - 1]))
        else:
            raise scope.at("values").error(f"has no value for {piece}; it lists {len(values)}")
    return tuple(pieces)


def at_parameters(text: str) -> list[str]:
    """Text and parameters ($1 …) by turns, the first and the last a text.

    In quotes, comments and names nothing is a parameter.
    """
    pieces = [""]
    for token in tokens(text):
        if token.group == "parameter":
            pieces += [token.text, ""]
        else:
            pieces[-1] += token.text
    return pieces


def masked(text: str) -> str:
    """A query's text with `?` in the place of each number and quoted text in it, without comments.

    Parameters and quoted names stay; white space is one blank.
    """
    return " ".join("".join(map(_masked, tokens(text))).split())


def _masked(token: SqlToken) -> str:
    """A token of SQL without what it holds of data."""
    if token.group in ("comment", "space"):
        return " "
    is_name = token.text.startswith(('"', 'U&"', 'u&"'))
    return "?" if token.group in ("number", "open", "quoted") and not is_name else token.text


@dataclass(frozen=True)
class SqlToken:
    """A token of SQL, and what it is: `parameter`, `comment`, or a group of STANDARD."""

    group: str
    text: str


def tokens(text: str) -> Iterator[SqlToken]:
    """The tokens of a text, which together are the text; a comment with those within is one."""
    place = 0
    while place < len(text):
        match = PARAMETER.match(text, place) or STANDARD.match(text, place)
        assert match is not None, "each character is a token"
        group = match.lastgroup or "parameter"
        end = comment_end(text, place) if group == "comment" else match.end()
        yield SqlToken(group, text[place:end])
        place = end


def comment_end(text: str, start: int) -> int:
    """Where a comment ends that may hold others; the text's end where none ends it."""
    depth = 0
    for mark in BRACKET.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)
