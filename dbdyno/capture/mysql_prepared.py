"""Finds in the text of an Execute the values that its Prepare has `?` for."""

import re
from collections.abc import Sequence

from dbdyno.capture.mysql_token import IN_DOUBLE, IN_QUOTES, as_text, number, plain, tokens_of

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
    """The values in a text that has these pieces around them, as they stand there.

    None: it is another statement, or a value is no text of UTF-8.
    """
    values: list[str | None] = []
    at = 0
    for piece in pieces[:-1]:
        if not text.startswith(piece, at):
            return None
        at += len(piece)
        match = VALUE.match(text, at)
        if match is None or (match.group("hex") and said_by(match.group("hex")) is None):
            return None
        values.append(None if match.group("null") else match[0])
        at = match.end()
    return tuple(values) if text[at:] == pieces[-1] else None


def bound_json(value: str) -> str:
    """A bound value as JSON: a number as it stood bare, anything else as a text."""
    match = VALUE.fullmatch(value)
    if match is None:
        return as_text(value)
    if match.group("text"):
        return as_text(plain(match.group("text")))
    if match.group("hex"):
        return as_text(said_by(value) or "")
    sign = "-" if value.startswith("-") else ""
    return sign + number(value.lstrip("+-"))


def said_by(literal: str) -> str | None:
    """What the bytes of a hexadecimal literal say; None: they are no UTF-8."""
    digits = literal[2:].rstrip("'")
    try:
        return bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0")).decode()
    except UnicodeDecodeError:
        return None
