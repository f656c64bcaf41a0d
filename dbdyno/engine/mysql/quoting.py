"""How names and texts stand in SQL of MySQL and MariaDB. Pure."""

from dbdyno.model import literal as literals

NO_BACKSLASH_ESCAPES = "NO_BACKSLASH_ESCAPES"
"""The word of sql_mode by which a backslash in a text stands for itself."""


def named(name: str) -> str:
    """A name as SQL takes it."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text in SQL, for sessions in which a backslash escapes, as dyno's own are."""
    return literals.literal(text, backslash_escapes=True)
