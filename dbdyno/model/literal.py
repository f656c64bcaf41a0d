"""Texts as literals of SQL."""

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


MAY_TAKE = (
    "pg_catalog.pg_has_role(oid, CASE WHEN current_setting('server_version_num')::int < 160000 "
    "THEN 'MEMBER' ELSE 'SET' END)"
)
"""Whether the session may take a role of pg_roles."""


def taking(role: str, *, local: bool) -> str:
    """What gives a session of PostgreSQL a role, where the role is there and it may take it.

    `local`: for a transaction. A dump does not bring each role of its server, and a user elsewhere
    may not take each: then the session keeps its own.
    """
    return (
        f"SELECT set_config('role', rolname, {str(local).lower()}) FROM pg_catalog.pg_roles "
        f"WHERE rolname = {literal(role)} AND {MAY_TAKE}"
    )
