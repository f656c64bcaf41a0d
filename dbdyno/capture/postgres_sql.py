"""PostgreSQL's SQL, taken apart: what is asked of postgast stands here.

A text is first read by one regular expression: with its literals taken out it is a *skeleton*.
Texts of one skeleton parse alike but for literals that are part of the form, such as `ORDER BY 2`
and `numeric(10, 2)`. So each skeleton is parsed once, and a log of a million calls of a hundred
queries is read at the speed of the expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec
import postgast
from google.protobuf.message import Message
from postgast import PgQueryError, pg_query_pb2

from dbdyno.capture.cut import is_open
from dbdyno.capture.dialect import (
    InnerQuery,
    NormalForm,
    ParsedText,
    Setting,
    ValueSlot,
    digest,
    key_of,
)
from dbdyno.capture.postgres_literals import (
    PostgresToken,
    as_bound,
    as_text,
    json_of,
    number_of,
    taken_out,
    tokens_of,
    with_escapes,
    without_comments,
)
from dbdyno.capture.postgres_session import setting_of
from dbdyno.capture.postgres_statement import PostgresTraits, children, traits_of
from dbdyno.capture.skeleton import SKELETONS_MAX, Skeleton, TextShape
from dbdyno.model.literal import literal

END = re.compile(r"\s*(?:COMMIT|END|ROLLBACK(?!\s+TO)|ABORT|PREPARE\s+TRANSACTION)\b", re.I)
DECLARE = re.compile(
    r"""\s*DECLARE\s+([\w$]+|"[^"]+")\s+(?:\w+\s+)*?CURSOR\s+(?:WITH(?:OUT)?\s+HOLD\s+)?FOR\s+(.*)""",
    re.I | re.S,
)
COPY = re.compile(r"\s*COPY\s*\((.*)\)\s*TO\b[^()]*(?:\([^()]*\))?\s*;?\s*\Z", re.I | re.S)
FETCH = re.compile(r"""\s*(?:FETCH|MOVE)\b.*?([\w$]+|"[^"]+")\s*;?\s*""", re.I | re.S)
PREPARE = re.compile(
    r"""\s*PREPARE\s+(?:[\w$]+|"[^"]+")\s*(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\))?\s*AS\s+(.*)""",
    re.I | re.S,
)
COMMA = re.compile(r",(?![^()]*\))")
"""Between types: not within numeric(10, 2)."""
FOREIGN_KEY = re.compile(
    r'\s*SELECT \S+ FROM (?:ONLY )?"[^;]* OPERATOR\(pg_catalog\.[^;]*FOR KEY SHARE OF x\s*\Z'
)
"""How the server itself asks, for a constraint; those of a commit are rows of the view."""
CLOCK = re.compile(
    r"(?:pg_catalog\s*\.\s*)?\w+\s*\(\s*\)|(?:CURRENT_\w+|LOCALTIME\w*)(?:\s*\(\s*\d+\s*\))?",
    re.IGNORECASE,
)
"""A call that asks for the time, or a word that does."""
SCANNED = frozenset(
    pg_query_pb2.Token.Value(name)
    for name in (
        *("SCONST", "USCONST", "BCONST", "XCONST", "ICONST", "FCONST", "PARAM"),
        *("TRUE_P", "FALSE_P", "NULL_P"),
    )
)
"""Tokens of the parser that the expression takes for literals or bound parameters."""
FINGERPRINT_DIGITS = 16
CONFORMING = "standard_conforming_strings"
OFF = frozenset({"off", "false", "no", "0"})


@dataclass
class PostgresSql:
    """The parser of PostgreSQL's SQL, which keeps the skeletons that it has seen."""

    escapes: bool = False  # a backslash escapes in any text (standard_conforming_strings = off)
    skeletons: dict[str, Skeleton] = field(default_factory=dict)
    others: dict[bool, PostgresSql] = field(default_factory=dict)

    @property
    def moment(self) -> str:
        """The type of `now()`."""
        return "timestamptz"

    def within(self, settings: Mapping[str, str]) -> PostgresSql:
        """The reader of texts of a session with these settings."""
        setting = settings.get(CONFORMING, "")
        escapes = setting.lower() in OFF if setting else self.escapes
        if escapes == self.escapes:
            return self
        return self.others.setdefault(escapes, PostgresSql(escapes=escapes))

    def split(self, text: str) -> Sequence[str]:
        """The statements of a message; the text itself where it cannot be parsed."""
        if ";" not in text:
            return (text,)
        text = with_escapes(text) if self.escapes else text
        try:
            parts = [part.strip() for part in postgast.split(text)]
        except (PgQueryError, UnicodeError):
            return (text,)
        return [part for part in parts if part]

    def read(self, text: str) -> ParsedText:
        """The text, taken apart; a form of its own where it cannot be parsed."""
        text = with_escapes(text) if self.escapes else text
        skeleton, tokens = taken_out(text)
        known = self.skeletons.get(skeleton)
        if known is not None and (shape := known.shape(tokens)) is not None:
            return ParsedText(shape.form, tuple(values(shape, tokens)))
        if len(self.skeletons) >= SKELETONS_MAX:
            self.skeletons.clear()
        places = tokens_of(text)
        shape = shape_of(text, places)
        taken = {number for number, _ in shape.literals}
        fixed_places = tuple(
            number
            for number, token in enumerate(places)
            if number not in taken and not token.is_bound
        )
        known = self.skeletons.setdefault(skeleton, Skeleton(fixed_places))
        if known.fixed == fixed_places:
            known.shapes[tuple(tokens[number] for number in fixed_places)] = shape
        return ParsedText(shape.form, tuple(values(shape, tokens)))

    def settings(self, text: str) -> Sequence[Setting]:
        """What the statement sets in its session, as far as queries depend on it."""
        setting = setting_of(text)
        return () if setting is None else (setting,)

    def ends_transaction(self, text: str) -> bool:
        """Whether the statement ends a transaction."""
        return END.match(text) is not None

    def inside(self, text: str) -> InnerQuery | None:
        """The query inside DECLARE or COPY (…) TO; None: it runs none."""
        if match := DECLARE.match(text):
            return InnerQuery(match[2], match[1].strip('"'))
        if match := COPY.match(text):
            return InnerQuery(match[1])
        return None

    def fetched(self, text: str) -> str:
        """The cursor from which the statement fetches; empty: it is no FETCH."""
        match = FETCH.fullmatch(text)
        return match[1].strip('"') if match else ""

    def executed(self, text: str, prepared: str) -> InnerQuery | None:
        """What EXECUTE ran, where `prepared` is the statement's PREPARE; None: unknown."""
        match = PREPARE.match(prepared)
        if match is None:
            return None
        written = COMMA.split(match[1]) if match[1] else []
        types = tuple(part.strip() for part in written)
        arguments = self.read(text).literals
        if len(arguments) != self.read(match[2]).form.bound:
            return InnerQuery(match[2], types=types)
        return InnerQuery(match[2], values=tuple(map(as_bound, arguments)), types=types)

    def bound(self, value: str | None) -> str:
        """A bound value as JSON."""
        return "null" if value is None else as_text(value)

    def quoted(self, value: str) -> str:
        """A value, as JSON, as a literal."""
        if not value.startswith('"'):
            return "NULL" if value == "null" else value
        return literal(msgspec.json.decode(value, type=str), backslash_escapes=self.escapes)


def values(shape: TextShape, tokens: Sequence[str]) -> Iterator[str]:
    """The values of a text of that shape, as JSON."""
    for place, negative in shape.literals:
        literal = tokens[place]
        if literal[0] == "'":
            said = literal[1:-1]
            plain = said.isprintable() and not ("'" in said or '"' in said or "\\" in said)
            yield f'"{said}"' if plain else json_of(literal)
        elif literal.isdecimal() and (literal[0] != "0" or len(literal) == 1):
            yield "-" + literal if negative else literal
        else:
            yield json_of(literal, negative=negative)


# --- By the parser, once for each skeleton ----------------------------------------------------


def shape_of(text: str, tokens: Sequence[PostgresToken]) -> TextShape:
    """The shape of a text; one of a form that stands as it is where the parser refuses it."""
    try:
        tree = postgast.parse(text)
        if len(tree.stmts) != 1 or not agree(text, tokens):
            return as_it_stands(text, tokens)
        fingerprint = postgast.fingerprint(text).hex
    except (PgQueryError, UnicodeError) as error:
        shape = as_it_stands(text, tokens)
        # `5 !` was whole to 13.
        early = "end of input" in str(error) and not text.rstrip("; \n").endswith("!")
        is_cut = early or is_open(taken_out(text)[0], refused=True)
        return replace(shape, form=replace(shape.form, open=is_cut))
    statement = tree.stmts[0].stmt
    traits = traits_of(statement)
    if FOREIGN_KEY.match(text):
        traits = replace(traits, left_out="checks of foreign keys, within what they check")
    places = CharacterPlaces(text)
    constants = {places.character(place) for place in constant_places(statement)}
    return with_slots(text, tokens, PostgresParse(traits, fingerprint, constants, places))


@dataclass(frozen=True)
class PostgresParse:
    """What the parser says of a text."""

    traits: PostgresTraits
    fingerprint: str
    constants: set[int]
    places: CharacterPlaces


class CharacterPlaces:
    """Characters of a text by the bytes that the parser counts."""

    def __init__(self, text: str) -> None:
        self.raw = None if text.isascii() else text.encode()

    def character(self, place: int) -> int:
        """The character that begins at this byte."""
        return place if self.raw is None else len(self.raw[:place].decode(errors="replace"))


def as_it_stands(text: str, tokens: Sequence[PostgresToken]) -> TextShape:
    """The shape of a text that the parser does not take.

    Its literals are values all the same, so that it is grouped and keeps none: put back by their
    text they give the statement as it stood. What would not come back stays in it.
    """
    exact = "UESCAPE" not in text.upper()
    taken = [exact and (token.is_bound or comes_back(token.text)) for token in tokens]
    bound = max((int(token.text[1:]) for token in tokens if token.is_bound), default=0)
    cuts, literals = [], []
    for place, token in enumerate(tokens):
        if taken[place] and token.is_bound:
            cuts.append((token.first, token.end, ValueSlot("bound", int(token.text[1:]))))
        elif taken[place]:
            literals.append((place, False))
            cuts.append((token.first, token.end, ValueSlot("literal", bound + len(literals))))
    pieces = pieces_between(text, cuts)
    slots = tuple(slot for _, _, slot in cuts)
    verb = re.match(r"\s*(\w*)", text)
    form = NormalForm(
        key=key_of(pieces, slots),
        pieces=pieces,
        slots=slots,
        bound=bound,
        literals=len(literals),
        fingerprint=digest(key_of(pieces, slots))[:FINGERPRINT_DIGITS],
        verb=(verb[1].lower() if verb else "") or "text",
        writes=(verb is None or verb[1].lower() not in ("select", "with")),
        refused=True,
    )
    return TextShape(form, tuple(literals))


def comes_back(literal: str) -> bool:
    """Whether a literal's value, written plainly, is the same literal for any server."""
    if literal[0] in "0123456789.":
        return number_of(literal) == literal
    return literal[0] not in "bBxXuU"


def pieces_between(text: str, cuts: Sequence[tuple[int, int, ValueSlot]]) -> tuple[str, ...]:
    """The text around the slots, without comments and without a semicolon at its end."""
    ends = [0, *(end for _, end, _ in cuts)]
    firsts = [*(first for first, _, _ in cuts), len(text)]
    pieces = [without_comments(text[end:first]) for end, first in zip(ends, firsts, strict=True)]
    pieces[0], pieces[-1] = pieces[0].lstrip(), pieces[-1].rstrip().rstrip(";").rstrip()
    return tuple(pieces)


def agree(text: str, tokens: Sequence[PostgresToken]) -> bool:
    """Whether the expression takes the same tokens for literals as the parser does."""
    if "UESCAPE" in text.upper():
        return False
    places = CharacterPlaces(text)
    scanned = [
        (places.character(token.start), places.character(token.end))
        for token in postgast.scan(text).tokens
        if token.token in SCANNED
    ]
    return scanned == [(token.first, token.end) for token in tokens]


def constant_places(node: Message) -> Iterator[int]:
    """Where constants stand that are values: bytes, of a negative number its sign."""
    for name, child in children(node):
        what = type(child).__name__
        if what == "TypeName":
            continue  # numeric(10, 2)
        if what == "A_Const":
            if name not in ("sort_clause", "group_clause", "distinct_clause"):
                yield child.location
        elif what == "SortBy":
            inner = child.node
            if inner.WhichOneof("node") != "a_const":
                yield from constant_places(child)
        else:
            yield from constant_places(child)


def with_slots(text: str, tokens: Sequence[PostgresToken], parsed: PostgresParse) -> TextShape:
    """The shape of a text that the parser takes."""
    bound = max((int(token.text[1:]) for token in tokens if token.is_bound), default=0)
    clocks = [
        match.span()
        for place in parsed.traits.clocks
        if (match := CLOCK.match(text, parsed.places.character(place))) is not None
    ]
    cuts: list[tuple[int, int, ValueSlot]] = []
    literals: list[tuple[int, bool]] = []
    for place, token in enumerate(tokens):
        if token.is_bound:
            cuts.append((token.first, token.end, ValueSlot("bound", int(token.text[1:]))))
            continue
        sign = sign_of(text, token) if token.text[0] in "0123456789." else None
        negative = sign is not None and sign in parsed.constants
        if not (negative or token.first in parsed.constants):
            continue
        literals.append((place, negative))
        before = "bit " if token.text[0] in "bBxX" else ""
        first = sign if negative and sign is not None else token.first
        cuts.append((first, token.end, ValueSlot("literal", bound + len(literals), before)))
    for count, (first, end) in enumerate(clocks, bound + len(literals) + 1):
        cuts.append((first, end, ValueSlot("clock", count, source=text[first:end])))
    cuts.sort(key=lambda cut: cut[0])
    pieces = pieces_between(text, cuts)
    slots = tuple(slot for _, _, slot in cuts)
    traits = parsed.traits
    form = NormalForm(
        key=key_of(pieces, slots),
        pieces=pieces,
        slots=slots,
        bound=bound,
        literals=len(literals),
        fingerprint=parsed.fingerprint,
        verb=traits.verb,
        tables=traits.tables,
        writes=traits.writes,
        left_out=traits.left_out,
    )
    return TextShape(form, tuple(literals))


def sign_of(text: str, token: PostgresToken) -> int | None:
    """Where a `-` stands directly before a number; None: nothing like it does."""
    place = token.first - 1
    while place >= 0 and text[place].isspace():
        place -= 1
    return place if place >= 0 and text[place] == "-" else None
