"""Literals, names and comments of MySQL's SQL, by one regular expression."""

import re
from dataclasses import dataclass

import msgspec

IN_QUOTES = r"[^'\\]*(?:(?:\\.|'')[^'\\]*)*'"
IN_DOUBLE = r'[^"\\]*(?:(?:\\.|"")[^"\\]*)*"'
BEGIN = r"""(['"`#/\-\d.?$"""
"""The characters at which a literal, a name in quotes or a comment can begin: the expression jumps
from one to the next."""
ANY = rf"""]
    (?: (?<=') {IN_QUOTES} (?: \s*' {IN_QUOTES} )*
      | (?<=") {IN_DOUBLE} (?: \s*" {IN_DOUBLE} )*
      | (?<=`) [^`]*` (?: [\s,.]*`[^`]*` )*
      | (?<=\d) (?<![\w$@.]\d)
        (?: (?<=0)[xX][\da-fA-F]+ | (?<=0)b[01]+ | \d*(?:\.\d*)?(?:[eE][+-]?\d+)? ) (?![\w$])
      | (?<=\.) (?<![\w$`)]\.) \d+(?:[eE][+-]?\d+)? (?![\w$])
      | (?<=\?) | (?<=\$) (?<![\w$]\$) \d+
      | (?<=\#) [^\n]* | (?<=-)-(?=\s|$)[^\n]* | (?<=/)\*.*?\*/
"""
LETTERS = r"""
      | (?<=[nNxXbB]) (?<![\w$@.`].) ' (?: (?<=[nN]') [^'\\]*(?:(?:\\.|'')[^'\\]*)* | [\da-fA-F]* )'
      | (?<![\w$@.`].) (?: (?<=[nN])[uU][lL][lL] | (?<=[tT])[rR][uU][eE]
                         | (?<=[fF])[aA][lL][sS][eE] ) (?![\w$(`])
"""
TOKEN = re.compile(f"{BEGIN}{ANY}))", re.VERBOSE | re.DOTALL)
TOKEN_OR_WORD = re.compile(f"{BEGIN}nNxXbBtTfF{ANY}{LETTERS}))", re.VERBOSE | re.DOTALL)
"""Where no literal begins with a letter, letters need not be tried: a third of the time."""
WORDS = ("null", "true", "false", "x'", "b'", "n'")
COMMENTS = ("#", "-", "/")
NAMED_BY_DOUBLE = re.compile(
    r'(?:\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+"|"\s*\.|\.\s*")(?!\s*$)', re.IGNORECASE
)
"""Where only a name can stand: the session quotes names so (ANSI_QUOTES)."""
KEPT_COMMENTS = ("/*+", "/*!", "/*M!")
"""Hints, and comments that the server reads as SQL."""
TAKEN, BOUND = "\0", "\1"
"""Stand in a skeleton for a literal and for a bound parameter; no text of SQL has them."""
BYTES, BITS = "\2", "\3"
"""Follow TAKEN for literals that are put back otherwise than texts, or are no values."""
BYTES_DIGITS = 16
"""So many hexadecimal digits are bytes, such as a UUID; fewer are a number of the form."""
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
ESCAPE = re.compile(r"\\(.)|''", re.DOTALL)
ESCAPE_DOUBLE = re.compile(r'\\(.)|""', re.DOTALL)
LITERALS = re.compile(rf"'({IN_QUOTES})|\"({IN_DOUBLE})", re.DOTALL)
OUTSIDE = re.compile(
    rf"'{IN_QUOTES}|\"{IN_DOUBLE}|`[^`]*`|\#[^\n]*|--(?=\s)[^\n]*|/\*.*?\*/|(;)", re.DOTALL
)


@dataclass(frozen=True)
class MysqlToken:
    """A literal or a bound parameter in a text; places count characters."""

    first: int
    end: int
    text: str

    @property
    def is_bound(self) -> bool:
        """Whether it is `?` or `$1` rather than a literal."""
        return self.text[0] in "?$"

    @property
    def is_number(self) -> bool:
        """Whether it is a number in decimal digits."""
        return self.text[0] in "0123456789." and self.text[1:2] not in ("x", "X", "b")

    @property
    def is_word(self) -> bool:
        """Whether it is NULL, TRUE or FALSE."""
        return self.text[0] in "nNtTfF" and self.text[1] != "'"


def taken_out(text: str) -> tuple[str, list[str]]:
    """The text's skeleton, and the literals and bound parameters that were taken out of it."""
    parts = pieces_and_tokens(text)
    names = '`"' if '"' in text and NAMED_BY_DOUBLE.search(text) else "`"
    tokens = []
    for place in range(1, len(parts), 2):
        token = parts[place]
        first = token[0]
        if first in names:
            continue
        if first in COMMENTS:
            parts[place] = token if token.startswith(KEPT_COMMENTS) else " "
        else:
            tokens.append(token)
            parts[place] = BOUND if first in "?$" else TAKEN
            if first in "0xXbB" and (is_bytes(token) or not is_value(token)):
                parts[place] += BYTES if is_bytes(token) else BITS
    return "".join(parts), tokens


def tokens_of(text: str) -> list[MysqlToken]:
    """The literals and bound parameters of a text with their places, as `taken_out` has them."""
    names = '`"' if '"' in text and NAMED_BY_DOUBLE.search(text) else "`"
    tokens, at = [], 0
    for count, part in enumerate(pieces_and_tokens(text)):
        if count % 2 and part[0] not in names and part[0] not in COMMENTS:
            tokens.append(MysqlToken(at, at + len(part), part))
        at += len(part)
    return tokens


def pieces_and_tokens(text: str) -> list[str]:
    """The text cut at its literals, quoted names and comments, which stand at odd places."""
    lower = text.lower()
    for word in WORDS:
        if word in lower:
            return TOKEN_OR_WORD.split(text)
    return TOKEN.split(text)


def json_of(literal: str, *, negative: bool = False) -> str:
    """A literal as JSON: numbers keep their digits, bytes are their hexadecimal digits."""
    first = literal[0]
    if first in "'\"":
        return as_text(plain(literal))
    if is_bytes(literal):
        return as_text(literal[2:].rstrip("'"))
    if first in "nNtTfF":
        return as_text(plain(literal)) if literal[1] == "'" else literal.lower()
    return ("-" if negative else "") + number(literal)


def as_text(value: str) -> str:
    """A text as JSON; bytes that were no UTF-8 stay as they were read."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeError:
        return '"' + "".join(map(escaped, value)) + '"'


def escaped(character: str) -> str:
    """A character as JSON; a byte that was no UTF-8 as it was read."""
    if "\udc80" <= character <= "\udcff":
        return character
    return msgspec.json.encode(character).decode()[1:-1]


def plain(literal: str) -> str:
    """What a literal says."""
    quote = literal[0]
    if literal[0] in "nN":
        literal, quote = literal[1:], "'"
    inner = literal[1:-1]
    if "\\" not in inner and quote not in inner:
        return inner
    return "".join(map(unescaped, LITERALS.finditer(literal)))


def unescaped(match: re.Match[str]) -> str:
    """What a single quoted text says."""
    inner = (match[1] or match[2])[:-1]
    pattern = ESCAPE if match[1] else ESCAPE_DOUBLE
    return pattern.sub(character, inner)


def character(match: re.Match[str]) -> str:
    """What an escape stands for; before a wildcard of LIKE the backslash stays."""
    if match[1] is None:
        return match[0][0]
    if match[1] in "%_":
        return match[0]
    return ESCAPES.get(match[1], match[1])


def number(literal: str) -> str:
    """A number as JSON has it, with its digits."""
    if literal.isdecimal():
        return literal if literal[0] != "0" else literal.lstrip("0") or "0"
    whole, point, rest = literal.partition(".")
    if not point:
        return whole.lstrip("0") if whole[0] == "0" and whole[1] in "0123456789" else whole
    if not rest or not rest[0].isdecimal():
        rest = "0" + rest
    return f"{int(whole or 0)}.{rest}"


def is_bytes(literal: str) -> bool:
    """Whether a literal is hexadecimal and long enough to be bytes rather than a number."""
    return (
        len(literal) - 2 >= BYTES_DIGITS
        and literal[:2].lower() in ("0x", "x'")
        and len(literal.rstrip("'")) - 2 >= BYTES_DIGITS
    )


def is_value(literal: str) -> bool:
    """Whether a literal can be a value by how it is written; a short row of bits is none."""
    return literal[:2].lower() not in ("0x", "0b", "x'", "b'") or is_bytes(literal)


def without_comments(piece: str) -> str:
    """The piece without comments, which may hold values; hints stay."""

    def kept(match: re.Match[str]) -> str:
        if match[0].startswith(("#", "--", "/*")) and not match[0].startswith(KEPT_COMMENTS):
            return " "
        return match[0]

    return OUTSIDE.sub(kept, piece)
