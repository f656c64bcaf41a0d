"""Texts of captured queries: `$1`, `$2` … are parameters, all else stands as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dbdyno.workload.scope import Scope
from dbdyno.workload.script.sql import BRACKET, STANDARD
from dbdyno.workload.sql import Piece, ValueHere

PARAMETER = re.compile(r"\$[1-9][0-9]*")


def placed(text: str, values: Sequence[str], scope: Scope) -> tuple[Piece, ...]:
    """The pieces of SQL that stands as written but for $1, $2 …, which are these values."""
    pieces: list[Piece] = []
    for number, piece in enumerate(at_parameters(text)):
        if number % 2 == 0:
            pieces += [piece] if piece else []
        elif 1 <= int(piece[1:]) <= len(values):
            pieces.append(ValueHere(values[int(piece[1:]) - 1]))
        else:
            raise scope.at("values").error(f"has no value for {piece}; it lists {len(values)}")
    return tuple(pieces)


def at_parameters(text: str) -> list[str]:
    """Text and parameters ($1 …) by turns, the first and the last a text.

    In quotes, comments and names nothing is a parameter.
    """
    pieces, end = [""], 0
    for token in STANDARD.finditer(text):
        if token.start() < end:
            continue
        if token.lastgroup == "comment":
            end = comment_end(text, token.start())
            pieces[-1] += text[token.start() : end]
            continue
        parameter = PARAMETER.match(text, token.start())
        if parameter is None:
            pieces[-1] += token[0]
            continue
        pieces += [parameter[0], ""]
        end = parameter.end()
    return pieces


def masked(text: str) -> str:
    """A query's text with `?` in the place of each number and quoted text in it, without comments.

    Parameters and quoted names stay; white space is one blank.
    """
    words = []
    for number, piece in enumerate(at_parameters(text)):
        words += [piece] if number % 2 else list(_masked(piece))
    return " ".join("".join(words).split())


def _masked(text: str) -> Iterator[str]:
    """The tokens of SQL without what it holds of data."""
    end = 0
    for token in STANDARD.finditer(text):
        if token.start() < end:
            continue
        if token.lastgroup == "comment":
            end = comment_end(text, token.start())
        elif token.lastgroup == "space":
            yield " "
        elif token.lastgroup in ("number", "open", "quoted"):
            is_name = token[0].startswith(('"', 'U&"', 'u&"'))
            yield token[0] if is_name else "?"
        else:
            yield token[0]


def comment_end(text: str, start: int) -> int:
    """Where a comment ends that may hold others; the text's end where none ends it."""
    depth = 0
    for mark in BRACKET.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)
