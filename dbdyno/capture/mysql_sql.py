"""MySQL's and MariaDB's SQL, taken apart.

A text is first read by one regular expression: with its literals taken out it is a *skeleton*.
Texts of one skeleton parse alike but for literals that are part of the form, such as `ORDER BY 2`.
So each skeleton is parsed once, and a log of a million calls of a hundred queries is read at the
speed of the expression. `mysql_statement.py` asks the parser.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

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
from dbdyno.capture.mysql_mode import SQL_MODE, USUAL, ModeReading, reading_of
from dbdyno.capture.mysql_prepared import bound_json, bound_values, pieces_of
from dbdyno.capture.mysql_session import settings_of
from dbdyno.capture.mysql_statement import (
    FIRST_MARKER,
    STRING_MARKER,
    MysqlTraits,
    parsed,
    unparsed,
    utility,
)
from dbdyno.capture.mysql_token import (
    OUTSIDE,
    MysqlToken,
    is_bytes,
    is_value,
    json_of,
    taken_out,
    tokens_of,
    without_comments,
)
from dbdyno.capture.skeleton import SKELETONS_MAX, Skeleton, TextShape
from dbdyno.engine.mysql import quoting

TOKENS_MAX = 2_000
"""Literals of a text that is parsed; longer ones are lists of rows, whose verb tells enough."""
SKELETON_LENGTH_MAX = 100_000
"""Characters of a skeleton that is kept."""
CLOCK = re.compile(
    r"(?<![\w$.`@])(?:(?:now|sysdate|curdate|curtime|unix_timestamp)\s*\(\s*\d?\s*\)"
    r"|(?:current_timestamp|current_date|current_time|localtimestamp|localtime|utc_timestamp"
    r"|utc_date|utc_time)(?:\s*\(\s*\d?\s*\)|(?![\w$.]))(?!\s*\())",
    re.IGNORECASE,
)
"""A call that asks for the time, or a word that does."""
SIGNED = re.compile(
    r"(?:[(,=<>!+*/%|&^~]|\b(?:SELECT|BETWEEN|AND|OR|XOR|NOT|THEN|ELSE|WHEN|LIKE|BY|WHERE|HAVING"
    r"|INTERVAL|DIV|MOD|ON|RETURN|CASE|DISTINCT|ALL))\s*(-)\s*\Z",
    re.IGNORECASE,
)
"""A `-` that belongs to the number after it."""
NO_VALUE = re.compile(r"\b(?:IS|IS\s+NOT|DEFAULT)\s*\Z", re.IGNORECASE)
"""After these NULL, TRUE and FALSE are words of the query."""
LOOKED_BACK = 20
"""Characters before a literal that tell what it is."""
WORD = re.compile(r"[\s(]*([A-Za-z]*)")
LIST = re.compile(r"(\$\d+)(?:\s*,\s*\$\d+)+")
ROWS = re.compile(r"(\((?:[^()]|\([^()]*\))*+\))(?:\s*,\s*\1)+")
FINGERPRINT_DIGITS = 16
END = re.compile(r"\s*(?:COMMIT|ROLLBACK(?!\s+(?:WORK\s+)?TO))\b", re.IGNORECASE)


@dataclass
class MysqlSql:
    """The reader of MySQL's SQL, which keeps the skeletons that it has seen."""

    reading: ModeReading = USUAL
    skeletons: dict[str, Skeleton] = field(default_factory=dict)
    others: dict[ModeReading, MysqlSql] = field(default_factory=dict)

    @property
    def moment(self) -> str:
        """The type of `now()`."""
        return "timestamp"

    def within(self, settings: Mapping[str, str]) -> MysqlSql:
        """The reader of texts of a session with these settings."""
        if SQL_MODE not in settings:
            return self
        reading = reading_of(settings[SQL_MODE], self.reading)
        if reading == self.reading:
            return self
        return self.others.setdefault(reading, MysqlSql(reading=reading))

    def split(self, text: str) -> Sequence[str]:
        """The statements of a message."""
        if ";" not in text:
            return (text,)
        parts = map(self.reading.own, divided(self.reading.usual(text)))
        return [part.strip() for part in parts if part.strip()]

    def read(self, text: str) -> ParsedText:
        """The text, taken apart; a form of its own where the parser does not take it."""
        if self.reading == USUAL:
            return self.usual(text)
        statement = self.usual(self.reading.usual(text))
        pieces = tuple(map(self.reading.own, statement.form.pieces))
        return replace(statement, form=replace(statement.form, pieces=pieces))

    def usual(self, text: str) -> ParsedText:
        """A text of the usual mode, taken apart."""
        skeleton, tokens = taken_out(text)
        known = self.skeletons.get(skeleton)
        if known is not None and (shape := known.shape(tokens)) is not None:
            return ParsedText(shape.form, values(shape, tokens))
        if len(self.skeletons) >= SKELETONS_MAX:
            self.skeletons.clear()
        places = tokens_of(text)
        shape = shape_of(text, places)
        if is_open(skeleton, refused=shape.form.refused) and not is_utility(shape):
            shape = replace(shape, form=replace(shape.form, open=True))
        taken = {number for number, _ in shape.literals}
        fixed = tuple(
            number
            for number, token in enumerate(places)
            if number not in taken and not token.is_bound and not is_utility(shape)
        )
        if len(skeleton) <= SKELETON_LENGTH_MAX:
            known = self.skeletons.setdefault(skeleton, Skeleton(fixed))
        if known is not None and known.fixed == fixed:
            known.shapes[tuple([tokens[number] for number in fixed])] = shape
        return ParsedText(shape.form, values(shape, tokens))

    def settings(self, text: str) -> Sequence[Setting]:
        """What the statement sets in its session, as far as queries depend on it."""
        return settings_of(text)

    def ends_transaction(self, text: str) -> bool:
        """Whether the statement ends a transaction."""
        return END.match(text) is not None

    def inside(self, text: str) -> InnerQuery | None:
        """The query inside another statement; None: MySQL has no such statement."""
        return None

    def fetched(self, text: str) -> str:
        """The cursor from which the statement fetches; empty: sessions have none."""
        return ""

    def executed(self, text: str, prepared: str) -> InnerQuery | None:
        """What EXECUTE ran, where `prepared` is a text with `?`; None: another text."""
        bound = bound_values(text, pieces_of(prepared))
        return None if bound is None else InnerQuery(prepared, values=bound)

    def bound(self, value: str | None) -> str:
        """A bound value as JSON."""
        return "null" if value is None else bound_json(self.reading.usual(value))

    def quoted(self, value: str) -> str:
        """A value, as JSON, as a literal."""
        if not value.startswith('"'):
            return "NULL" if value == "null" else value
        said = msgspec.json.decode(value, type=str)
        return self.reading.own(quoting.literal(said))


def is_utility(shape: TextShape) -> bool:
    """Whether a shape keeps nothing of its text."""
    return len(shape.form.pieces) == 1 and bool(shape.form.left_out)


def divided(text: str) -> Iterator[str]:
    """The text between semicolons that are neither in quotes nor in comments."""
    first = 0
    for match in OUTSIDE.finditer(text):
        if match[1]:
            yield text[first : match.start()]
            first = match.end()
    yield text[first:]


def values(shape: TextShape, tokens: Sequence[str]) -> tuple[str, ...]:
    """The values of a text of that shape, as JSON."""
    said = []
    for place, negative in shape.literals:
        literal = tokens[place]
        if literal.isdecimal() and (literal[0] != "0" or len(literal) == 1):
            said.append(f"-{literal}" if negative else literal)
        else:
            said.append(json_of(literal, negative=negative))
    return tuple(said)


# --- By the parser, once for each skeleton ----------------------------------------------------


def shape_of(text: str, tokens: Sequence[MysqlToken]) -> TextShape:
    """The shape of a text; of a statement that is no query only its tag."""
    bare = without_comments(text)
    match = WORD.match(bare)
    word = match[1].lower() if match else ""
    traits = utility(word, bare)
    if traits is not None:
        return TextShape(form_of((traits.verb,), (), traits), ())
    long = len(tokens) > TOKENS_MAX
    known = None if long else parsed(marked(text, tokens), word)
    if known is None:
        taken = {place for place, token in enumerate(tokens) if not token.is_bound}
        traits = unparsed(marked(text, tokens), word)
        return with_slots(text, tokens, traits, taken, refused=not long)
    return with_slots(text, tokens, known.traits, set(known.values) | words(text, tokens))


def marked(text: str, tokens: Sequence[MysqlToken]) -> str:
    """The text with a marker in the place of each literal, and without comments."""
    pieces, at = [], 0
    for count, token in enumerate(tokens):
        pieces.append(text[at : token.first])
        at = token.end
        if token.is_bound:
            pieces.append("?")
        elif token.is_number:
            pieces.append(str(FIRST_MARKER + count))
        elif token.is_word:
            pieces.append(token.text)
        else:
            pieces.append(f"'{STRING_MARKER}{count}'")
    pieces.append(text[at:])
    return without_comments("".join(pieces))


def words(text: str, tokens: Sequence[MysqlToken]) -> set[int]:
    """The tokens NULL, TRUE and FALSE that are values."""
    return {
        place
        for place, token in enumerate(tokens)
        if token.is_word and not NO_VALUE.search(text, max(0, token.first - 12), token.first)
    }


def with_slots(
    text: str,
    tokens: Sequence[MysqlToken],
    traits: MysqlTraits,
    taken: set[int],
    *,
    refused: bool = False,
) -> TextShape:
    """The shape of a text of which these tokens are values."""
    numbers = [int(token.text[1:] or 0) for token in tokens if token.is_bound]
    bound = max(len(numbers) if 0 in numbers else max(numbers, default=0), 0)
    clocks = [] if refused else clock_places(text, tokens)
    cuts: list[tuple[int, int, ValueSlot, str]] = []
    literals: list[tuple[int, bool]] = []
    count = 0
    for place, token in enumerate(tokens):
        if token.is_bound:
            count += 1
            slot = ValueSlot("bound", int(token.text[1:] or count))
            cuts.append((token.first, token.end, slot, ""))
            continue
        if place not in taken or not is_value(token.text) or within(token, clocks):
            continue
        sign = None
        if token.is_number:
            sign = SIGNED.search(text, max(0, token.first - LOOKED_BACK), token.first)
        literals.append((place, sign is not None))
        first = sign.start(1) if sign is not None else token.first
        before, after = ("unhex(", ")") if is_bytes(token.text) else ("", "")
        slot = ValueSlot("literal", bound + len(literals), before)
        cuts.append((first, token.end, slot, after))
    for clock, (first, end) in enumerate(clocks, bound + len(literals) + 1):
        cuts.append((first, end, ValueSlot("clock", clock, source=text[first:end]), ""))
    cuts.sort(key=lambda cut: cut[0])
    slots = tuple(slot for _, _, slot, _ in cuts)
    form = form_of(pieces_between(text, cuts), slots, traits, refused=refused)
    return TextShape(form, tuple(literals))


def form_of(
    pieces: tuple[str, ...],
    slots: tuple[ValueSlot, ...],
    traits: MysqlTraits,
    *,
    refused: bool = False,
) -> NormalForm:
    """The form of these pieces and slots."""
    key = key_of(pieces, slots)
    shared = ROWS.sub(r"\1", LIST.sub("$1", re.sub(r"\$\d+", "$1", key)))
    return NormalForm(
        key=key,
        pieces=pieces,
        slots=slots,
        bound=max((slot.number for slot in slots if slot.part == "bound"), default=0),
        literals=sum(slot.part == "literal" for slot in slots),
        fingerprint=digest(shared.lower())[:FINGERPRINT_DIGITS],
        verb=traits.verb,
        tables=traits.tables,
        writes=traits.writes,
        left_out=traits.left_out,
        refused=refused,
    )


def clock_places(text: str, tokens: Sequence[MysqlToken]) -> list[tuple[int, int]]:
    """Where a text asks for the time, outside of its literals and comments."""
    bare = OUTSIDE.sub(lambda match: match[0] if match[1] else " " * len(match[0]), text)
    return [match.span() for match in CLOCK.finditer(bare)]


def within(token: MysqlToken, places: Sequence[tuple[int, int]]) -> bool:
    """Whether a token stands in one of these places, which are in order."""
    number = bisect_right(places, (token.first, len(token.text)))
    return number > 0 and token.first < places[number - 1][1]


def pieces_between(text: str, cuts: Sequence[tuple[int, int, ValueSlot, str]]) -> tuple[str, ...]:
    """The text around the slots, without comments and without a semicolon at its end."""
    ends = [(0, ""), *((end, after) for _, end, _, after in cuts)]
    firsts = [*(first for first, *_ in cuts), len(text)]
    pieces = [
        after + without_comments(text[end:first])
        for (end, after), first in zip(ends, firsts, strict=True)
    ]
    # `_utf8mb4'a'` has no space, and `_utf8mb4$1` is a name.
    pieces[:-1] = [piece + " " if re.search(r"[\w$]\Z", piece) else piece for piece in pieces[:-1]]
    pieces[0], pieces[-1] = pieces[0].lstrip(), pieces[-1].rstrip().rstrip(";").rstrip()
    return tuple(pieces)
