"""Finds in the text of an Execute the values that its Prepare has `?` for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dbdyno.capture.mysql_token import IN_DOUBLE, IN_QUOTES, plain, tokens_of

VALUE = re.compile(
    rf"(?P<null>NULL\b)|(?P<hex>[xX]'[\da-fA-F]*'|0x[\da-fA-F]+)"
    rf"|(?:(?:TIMESTAMP|DATE|TIME|_\w+ ?)?(?P<text>'{IN_QUOTES}|\"{IN_DOUBLE}))"
    r"|(?P<number>[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|[+-]?\.\d+)",
    re.DOTALL,
)
"""A value as the server writes it into the text of an Execute."""


def pieces_of(prepared: str) -> tuple[str, ...]:
    """The text around each `?`."""
    places = [token for token in tokens_of(prepared) if token.is_bound]
    ends = [0, *(token.end for token in places)]
    firsts = [*(token.first for token in places), len(prepared)]
    return tuple(prepared[end:first] for end, first in zip(ends, firsts, strict=True))


def bound_values(text: str, pieces: Sequence[str]) -> tuple[str | None, ...] | None:
    """The values in a text that has these pieces around them; None: it is another statement."""
    values: list[str | None] = []
    at = 0
    for piece in pieces[:-1]:
        if not text.startswith(piece, at):
            return None
        at += len(piece)
        match = VALUE.match(text, at)
        if match is None:
            return None
        values.append(bound_value(match))
        at = match.end()
    return tuple(values) if text[at:] == pieces[-1] else None


def bound_value(match: re.Match[str]) -> str | None:
    """A bound value as a text; bytes that are no UTF-8 as they were."""
    if match.group("null"):
        return None
    if match.group("text"):
        return plain(match.group("text"))
    if match.group("hex"):
        digits = match.group("hex")[2:].rstrip("'")
        whole = bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0"))
        return whole.decode("utf-8", "surrogateescape")
    return match.group("number")
