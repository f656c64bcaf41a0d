"""The literals of PostgreSQL's SQL: found by one regular expression, and read as JSON."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

BEGIN = r"""['"$./\-\d"""
"""The characters at which a literal, a name in quotes or a comment can begin: the expression jumps
from one to the next."""
TOKEN = r"""]
      (?: (?<=') (?: (?<=[eE]')(?<![\w$][eE]') (?:[^'\\]|\\.|'')*+'
                   | (?:[^']|'')*+' (?: \s*\n\s* '(?:[^']|'')*+' )*+ )
        | (?<=\d) (?<!\w\d)(?<!\$\d) (?: (?<=0)(?: [xX][\da-fA-F_]+ | [oO][0-7_]+ | [bB][01_]+ )
                | [\d_]*+ (?:\.[\d_]*+)? (?:[eE][+-]?\d+)? )
        | (?<=\.) (?<![\w$]\.) \d[\d_]*+ (?:[eE][+-]?\d+)?
        | (?<=\$) (?<![\w$]\$) (?: (?P<bound>\d+) | (?P<tag>[^\W\d]\w*+|)\$ .*? \$(?P=tag)\$ )
        | (?P<name> (?<=") (?:[^"]|"")*+" )
        | (?P<comment> (?<=-) -[^\n]*+ | (?<=/) \* (?: [^*/] | \*(?!/) | /(?!\*) )*+ \*/ )
"""
WORD = r"""
        | (?P<word> (?<=[tTfFnN]) (?<![\w$."].)
                    (?: [rR][uU][eE] | [aA][lL][sS][eE] | [uU][lL][lL] ) (?![\w$"]) )
"""
WORDS = ("true", "false", "null")
TOKENS = re.compile(f"{BEGIN}{TOKEN})", re.VERBOSE | re.DOTALL)
TOKENS_AND_WORDS = re.compile(f"{BEGIN}tTfFnN{TOKEN}{WORD})", re.VERBOSE | re.DOTALL)
"""Where none of the words is, their first letters need not be tried: a third of the time."""
TAKEN, BITS = "\0", "\1"
"""Stand in a skeleton for a literal and for a string of bits; no text of SQL has them."""
HINT = "/*+"
"""How a comment begins that changes plans, by pg_hint_plan."""


@dataclass(frozen=True)
class PostgresToken:
    """A literal or a bound parameter in a text; places count characters."""

    first: int
    end: int
    text: str

    @property
    def is_bound(self) -> bool:
        """Whether it is `$1` rather than a literal."""
        return self.text[0] == "$" and self.text[1:].isdecimal()


def taken_out(text: str) -> tuple[str, list[str]]:
    """The text's skeleton, and the literals and bound parameters that were taken out of it."""
    pieces, tokens, at = [], [], 0
    for match in matches(text):
        group = match.lastgroup
        if group == "name":
            continue
        first, end = match.span()
        if group == "comment":
            pieces.append(text[at:first])
            pieces.append(match.group() if match.group().startswith(HINT) else " ")
        elif group == "bound":
            pieces.append(text[at:end])
            tokens.append(match.group())
        else:
            if text[first] == "'" and text[first - 1] in PREFIXES:
                first = beginning(text, first)
            pieces += (text[at:first], TAKEN if text[first] not in "bBxX" else BITS)
            tokens.append(text[first:end])
        at = end
    pieces.append(text[at:])
    return "".join(pieces), tokens


def matches(text: str) -> Iterator[re.Match[str]]:
    """The literals, bound parameters, names in quotes and comments of a text."""
    lower = text.lower()
    with_words = any(word in lower for word in WORDS)
    return (TOKENS_AND_WORDS if with_words else TOKENS).finditer(text)


def beginning(text: str, quote: int) -> int:
    """Where a text in quotes begins: with the letter before them that says how it is written."""
    before = text[max(quote - 3, 0) : quote].lower()
    if before[-1:] in ("e", "b", "x") and not is_word(before[-2:-1]):
        return quote - 1
    if before[-2:] == "u&" and not is_word(before[-3:-2]):
        return quote - 2
    return quote


PREFIXES = frozenset("eEbBxX&")
"""What can stand directly before a text in quotes and be part of it."""


def is_word(character: str) -> bool:
    """Whether a name can go on with this character."""
    return character.isalnum() or character in ("_", "$")


def tokens_of(text: str) -> list[PostgresToken]:
    """The literals and bound parameters of a text with their places, as `taken_out` has them."""
    tokens = []
    for match in matches(text):
        if match.lastgroup not in ("name", "comment"):
            first, end = match.span()
            first = beginning(text, first) if text[first] == "'" else first
            tokens.append(PostgresToken(first, end, text[first:end]))
    return tokens


def json_of(literal: str, *, negative: bool = False) -> str:
    """A literal as JSON: numbers keep their digits, a bit string is a text (`bit 'b101'`)."""
    first = literal[0]
    if first == "'":
        return as_text(plain(literal))
    if first in "0123456789.":
        return ("-" if negative else "") + number_of(literal)
    if first in "tTfFnN":
        return literal.lower()
    if first == "$":
        tag = literal.index("$", 1) + 1
        return as_text(literal[tag:-tag])
    if first in "bBxX":
        return as_text(first.lower() + literal[2:-1])
    return as_text(unescaped(literal))


def as_bound(value: str) -> str | None:
    """A literal's value, as JSON, as the text that is bound for it."""
    if value == "null":
        return None
    return msgspec.json.decode(value, type=str) if value[0] == '"' else value


def as_text(value: str) -> str:
    """A text as JSON; bytes that are no UTF-8 are lost, as capture leaves out such statements."""
    return msgspec.json.encode(value.encode("utf-8", "replace").decode()).decode()


def plain(literal: str) -> str:
    """What a text in quotes says; one that goes on in another line is one text."""
    parts = QUOTED.findall(literal) if "\n" in literal else [literal]
    return "".join(part[1:-1].replace("''", "'") for part in parts)


QUOTED = re.compile(r"'(?:[^']|'')*'")
ESCAPES: Mapping[str, str] = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
ESCAPE = re.compile(
    r"\\u([dD][89abAB][\da-fA-F]{2})\\u([\da-fA-F]{4})|\\(?:x([\da-fA-F]{1,2})|([0-7]{1,3})"
    r"|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))|('')",
    re.DOTALL,
)
UNICODE_ESCAPE = re.compile(
    r"\\([dD][89abAB][\da-fA-F]{2})\\([\da-fA-F]{4})"
    r"|\\(?:\+([\da-fA-F]{6})|([\da-fA-F]{4})|(\\))|('')"
)
PLAIN_OR_REST = re.compile(
    r"""(?<![\w$&])(?P<plain>'(?:[^'\\]|\\.|'')*+')|(?<![\w$])[eE]'(?:[^'\\]|\\.|'')*+'
    |"(?:[^"]|"")*+"|--[^\n]*|/\*.*?\*/|(?<![\w$])\$(?P<tag>[^\W\d]\w*+|)\$.*?\$(?P=tag)\$""",
    re.DOTALL | re.VERBOSE,
)
"""A text in quotes without a letter before it, and what a quote in it begins nothing in."""


def with_escapes(text: str) -> str:
    """A statement of a session without `standard_conforming_strings`, as one with it has it."""

    def escaped(match: re.Match[str]) -> str:
        return f" E{match[0]}" if match.group("plain") and "\\" in match[0] else match[0]

    return PLAIN_OR_REST.sub(escaped, text) if "\\" in text else text


def unescaped(literal: str) -> str:
    """What `E'…'` and `U&'…'` say."""
    if literal[0] in "uU":

        def of_unicode(match: re.Match[str]) -> str:
            if match[1]:
                return paired(match[1], match[2])
            return "'" if match[6] else match[5] or character_of(match[3] or match[4])

        return UNICODE_ESCAPE.sub(of_unicode, literal[3:-1])

    def character(match: re.Match[str]) -> str:
        if match[1]:
            return paired(match[1], match[2])
        if match[8]:
            return "'"
        if match[7]:
            return ESCAPES.get(match[7], match[7])
        if match[3] or match[4]:  # a byte, of which others may make a character
            byte = int(match[3], 16) if match[3] else int(match[4], 8) % 256
            return bytes([byte]).decode("utf-8", "surrogateescape")
        return character_of(match[5] or match[6])

    said = ESCAPE.sub(character, literal[2:-1])
    return (
        said
        if said.isascii()
        else said.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    )


def character_of(digits: str) -> str:
    """The character of a number in hexadecimal digits; of none that is one, a replacement."""
    number = int(digits, 16)
    return chr(number) if number < 0xD800 or 0xE000 <= number < 0x110000 else "\ufffd"


def paired(high: str, low: str) -> str:
    """The character of two halves in UTF-16."""
    return bytes.fromhex(high + low).decode("utf-16-be", "replace")


def number_of(literal: str) -> str:
    """A number as JSON has it, with its digits."""
    literal = literal.replace("_", "")
    if literal[:2].lower() in ("0x", "0o", "0b"):
        return str(int(literal, 0))
    whole, point, rest = literal.partition(".")
    if not point:
        return str(int(whole)) if whole.isdecimal() else whole
    if not rest or not rest[0].isdecimal():
        rest = "0" + rest
    return f"{int(whole or 0)}.{rest}"


def without_comments(piece: str) -> str:
    """The piece without comments, which may hold values; hints stay."""
    if "--" not in piece and "/*" not in piece:
        return piece

    def kept(match: re.Match[str]) -> str:
        is_comment = match.lastgroup == "comment" and not match.group().startswith(HINT)
        return " " if is_comment else match.group()

    return TOKENS.sub(kept, piece)
