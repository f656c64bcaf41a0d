"""Cuts an expression into tokens, up to the end of its line; a backslash continues the line."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from dbdyno.workload.script.source import ScriptText
from dbdyno.workload.script.sql import LETTER_OR_DIGIT, NAME

INTEGER_MAX = 2**63 - 1
KEYWORDS = frozenset(
    {"and", "or", "not", "is", "isnull", "notnull", "case", "when", "then", "else", "end"}
    | {"null", "true", "false"}
)
END = "end of line"
TOKEN = re.compile(
    rf"""(?P<blank>[ \t\r\f\v]+|\\\r?\n)
    |(?P<end>\n|\Z)
    |(?P<double>[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)
        |\.[0-9]+(?:[eE][-+]?[0-9]+)?)
    |(?P<integer>[0-9]+)
    |:(?P<variable>{LETTER_OR_DIGIT}+)
    |(?P<word>{NAME.pattern})
    |(?P<sign><=|>=|<>|!=|<<|>>|[-+*/%=<>|\#&~(),])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """`symbol` is a keyword, a sign, or `integer`, `double`, `variable`, `name`, END."""

    symbol: str
    text: str
    offset: int

    @property
    def shown(self) -> str:
        """How a message names it."""
        return self.symbol if self.symbol == END else f"`{self.text}`"


def tokens(source: ScriptText, start: int) -> Iterator[Token]:
    """The tokens from there on; the last one is END, which stands behind its newline's place.

    Raises WorkloadError for a character that is none, and for numbers that do not fit.
    """
    position = start
    while True:
        match = TOKEN.match(source.text, position)
        if match is None:
            raise source.error(position, f"unexpected character `{source.text[position]}`")
        position = match.end()
        form = str(match.lastgroup)
        if form == "end":
            yield Token(END, "", match.start())
            return
        if form == "blank":
            continue
        text = match["variable"] or match[0]
        if form == "word":
            form = text.lower() if text.lower() in KEYWORDS else "name"
        elif form == "sign":
            form = text
        _check_number(form, text, match.start(), source)
        yield Token(form, text, match.start())


def _check_number(form: str, text: str, offset: int, source: ScriptText) -> None:
    """Refuses integers of more than 64 bits, and doubles that strtod finds too large or small.

    The largest integer plus one stays, as a minus in front makes it the smallest.
    """
    if form == "integer" and int(text) > INTEGER_MAX + 1:
        raise source.error(offset, f"the integer {text} does not fit into 64 bits")
    if form == "double":
        value, digits = float(text), re.split("[eE]", text)[0]
        small = value < sys.float_info.min and re.search("[1-9]", digits)
        if value > sys.float_info.max or small:
            raise source.error(offset, f"the number {text} does not fit into a double")
