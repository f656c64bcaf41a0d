"""Texts as literals of SQL."""

from __future__ import annotations


def literal(text: str, *, backslash_escapes: bool = False) -> str:
    """A text in quotes; `backslash_escapes`: the server reads a backslash as an escape."""
    plain = text.replace("\\", "\\\\") if backslash_escapes else text
    return "'" + plain.replace("'", "''") + "'"
