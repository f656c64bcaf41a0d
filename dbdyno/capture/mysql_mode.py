"""How `sql_mode` has a session's texts read: what a double quote and a backslash are in them.

Everything else that reads MySQL's SQL knows the usual mode alone. A text of another mode is brought
into the usual one before it is taken apart, and what is kept of it back into its own.
"""

import re
from dataclasses import dataclass
from functools import cache

from dbdyno.capture.mysql_token import IN_DOUBLE, IN_QUOTES
from dbdyno.engine.mysql.quoting import NO_BACKSLASH_ESCAPES, named

SQL_MODE = "sql_mode"
ANSI_QUOTES = frozenset({"ANSI_QUOTES", "ANSI", "DB2", "MAXDB", "MSSQL", "ORACLE", "POSTGRESQL"})
"""Words by which a double quote begins a name; all but the first stand for several."""
PLAIN_QUOTES, PLAIN_DOUBLE = r"[^']*(?:''[^']*)*'", r'[^"]*(?:""[^"]*)*"'
CHANGES, TAKES_AWAY = "@@", "REPLACE("
REST = r"`[^`]*`|\#[^\n]*|--(?=\s)[^\n]*|/\*.*?\*/"
"""Names and comments, in which a quote begins nothing."""


@dataclass(frozen=True)
class ModeReading:
    """What a mode makes of a text."""

    ansi_quotes: bool = False  # "x" is a name
    plain_backslashes: bool = False  # a backslash stands for itself

    def usual(self, text: str) -> str:
        """A session's text as one of the usual mode, which means the same."""
        return pattern(plain=self.plain_backslashes).sub(self._usual, text)

    def own(self, piece: str) -> str:
        """A piece of a text of the usual mode, cut outside of quotes, as one of this mode."""
        if not self.plain_backslashes:
            return piece
        return pattern(plain=False).sub(halved, piece)

    def _usual(self, match: re.Match[str]) -> str:
        token = match[0]
        if token[0] == '"' and self.ansi_quotes:
            return named(token[1:-1].replace('""', '"'))
        if token[0] in "'\"" and self.plain_backslashes:
            return token.replace("\\", "\\\\")
        return token


def halved(match: re.Match[str]) -> str:
    """A quoted text without the backslash before each backslash."""
    return match[0].replace("\\\\", "\\") if match[0][0] in "'\"" else match[0]


@cache
def pattern(*, plain: bool) -> re.Pattern[str]:
    """What finds quoted texts, names and comments; `plain`: where no backslash escapes."""
    quotes = (PLAIN_QUOTES, PLAIN_DOUBLE) if plain else (IN_QUOTES, IN_DOUBLE)
    return re.compile(rf"'{quotes[0]}|\"{quotes[1]}|{REST}", re.DOTALL)


USUAL = ModeReading()


def reading_of(mode: str, before: ModeReading = USUAL) -> ModeReading:
    """How texts of sessions with this `sql_mode` are read; `before`: what an expression changes."""
    own = before if CHANGES in mode else USUAL
    taken = mode.upper().startswith(TAKES_AWAY)
    words = set() if taken else set(re.findall(r"\w+", mode.upper()))
    return ModeReading(
        ansi_quotes=own.ansi_quotes or bool(words & ANSI_QUOTES),
        plain_backslashes=own.plain_backslashes or NO_BACKSLASH_ESCAPES in words,
    )
