"""Literals, names and comments of MySQL's SQL, by one regular expression."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

IN_QUOTES = r"[^'\\]*(?:(?:\\.|'')[^'\\]*)*'"
IN_DOUBLE = r'[^"\\]*(?:(?:\\.|"")[^"\\]*)*"'
TOKEN = re.compile(
    rf"""
    ['"`#/\-0-9.nNtTfFxXbB?$]  # so that the search runs from these to these
    (?: (?P<text>   (?<=') {IN_QUOTES} (?: \s*' {IN_QUOTES} )*
                  | (?<=") {IN_DOUBLE} (?: \s*" {IN_DOUBLE} )*
                  | (?<=[nN]) (?<![\w$@.`].) ' {IN_QUOTES} )
      | (?P<number> (?<=[0-9]) (?<![\w$@.].)
                    (?: (?<=0)[xX][\da-fA-F]+ | (?<=0)b[01]+ | \d*(?:\.\d*)?(?:[eE][+-]?\d+)? )
                    (?![\w$])
                  | (?<=\.) (?<![\w$`)].) \d+(?:[eE][+-]?\d+)? (?![\w$]) )
      | (?P<word>   (?<![\w$@.`].) (?: (?<=[nN])[uU][lL][lL] | (?<=[tT])[rR][uU][eE]
                                     | (?<=[fF])[aA][lL][sS][eE] ) (?![\w$(`]) )
      | (?P<name>   (?<=`) [^`]*` )
      | (?P<comment>(?<=\#) [^\n]* | (?<=-)-(?=\s|$)[^\n]* | (?<=/)\*.*?\*/ )
      | (?P<bits>   (?<=[xXbB]) (?<![\w$@.`].) '[\da-fA-F]*' )
      | (?P<bound>  (?<=\?) | (?<=\$) (?<![\w$].) \d+ )
    )
    """,
    re.VERBOSE | re.DOTALL,
)
KEPT_COMMENTS = ("/*+", "/*!", "/*M!")
"""Hints, and comments that the server reads as SQL."""
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
class Token:
    """A literal or a bound parameter in a text; places count characters."""

    first: int
    end: int
    text: str
    group: str  # of the expression: text, number, word, bits, bound


def json_of(token: Token, *, negative: bool = False) -> str:
    """A literal as JSON: numbers keep their digits, bytes are their hexadecimal digits."""
    literal = token.text
    if token.group == "text":
        return as_text(plain(literal))
    if token.group == "word":
        return literal.lower()
    if is_bytes(token):
        return as_text(literal[2:].rstrip("'"))
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
    whole, point, rest = literal.partition(".")
    if not point:
        return str(int(whole)) if whole.isdecimal() else whole.lstrip("0") or "0"
    if not rest or not rest[0].isdecimal():
        rest = "0" + rest
    return f"{int(whole or 0)}.{rest}"


def is_bytes(token: Token) -> bool:
    """Whether a literal is hexadecimal and long enough to be bytes rather than a number."""
    literal = token.text
    return literal[:2].lower() in ("0x", "x'") and len(literal.rstrip("'")) - 2 >= BYTES_DIGITS


def is_value(token: Token) -> bool:
    """Whether a literal can be a value by how it is written."""
    return (token.group != "bits" and token.text[:2].lower() not in ("0x", "0b")) or is_bytes(token)


def without_comments(piece: str) -> str:
    """The piece without comments, which may hold values; hints stay."""

    def kept(match: re.Match[str]) -> str:
        if match[0].startswith(("#", "--", "/*")) and not match[0].startswith(KEPT_COMMENTS):
            return " "
        return match[0]

    return OUTSIDE.sub(kept, piece)
