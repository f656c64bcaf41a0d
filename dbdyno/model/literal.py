"""Texts as literals of SQL."""

from __future__ import annotations

import re

BARE = re.compile(r"-?\d+(?:\.\d+)?|(?:CONCAT|REPLACE)\(@@\w+(?:, '[\w, ]*')+\)", re.IGNORECASE)
"""Numbers, and what changes the words of a variable that a session begins with."""


def literal(text: str, *, backslash_escapes: bool = False) -> str:
    """A text in quotes; `backslash_escapes`: the server reads a backslash as an escape."""
    plain = text.replace("\\", "\\\\") if backslash_escapes else text
    return "'" + plain.replace("'", "''") + "'"


def of_setting(value: str) -> str:
    """A setting's value as SET of MySQL and MariaDB takes it: a text in quotes, all else bare."""
    return value if BARE.fullmatch(value) else literal(value, backslash_escapes=True)
