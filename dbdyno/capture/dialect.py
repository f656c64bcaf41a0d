"""What capture asks of a parser of SQL; each dialect answers in one file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Literal, Protocol

ROLE, ALL = "role", "all"
"""Settings of a session that are more than a value: who runs statements, and what resets all."""
NESTED = "within functions, run by what calls them"
"""Why a statement is no call of the application's."""
Part = Literal["bound", "literal", "clock"]
"""What a parameter of a form stood for: a bound value, a literal, or the clock."""


@dataclass(frozen=True)
class ValueSlot:
    """A place in a form's text where a value goes."""

    part: Part
    number: int  # of the parameter, from 1
    before: str = ""  # what stands before it there: "bit " before a bit string
    source: str = ""  # of a clock, what the text had: now()


@dataclass(frozen=True, kw_only=True)
class NormalForm:
    """What all texts share that differ in nothing but their values.

    The parameters are the bound ones in their own numbers, then the literals in their order, then
    those for the clock.
    """

    key: str  # the text with all values as parameters in their order; the same from view and log
    pieces: tuple[str, ...]  # the text around the slots, without comments
    slots: tuple[ValueSlot, ...]
    bound: int  # how many parameters are bound
    literals: int  # how many are literals
    fingerprint: str  # of the parser, hexadecimal; lists of any length have the same
    verb: str  # select, insert …; of a utility statement its tag
    tables: tuple[str, ...] = ()
    writes: bool = False
    left_out: str = ""  # why it cannot be a query of its own
    refused: bool = False  # the parser does not take it: it is run as it stands
    open: bool = False  # it ends where no statement can

    @cached_property
    def layout(self) -> str:
        """Which places are bound, and to what; empty where none is.

        Texts of one key may differ in it: `a = $1 AND b = 5`, `a = 5 AND b = $1`.
        """
        if not self.bound:
            return ""
        return ",".join(f"{slot.part}{slot.number}" for slot in self.slots)


def key_of(pieces: Sequence[str], slots: Sequence[ValueSlot]) -> str:
    """The text with all values as parameters, numbered as they come, spaces made one."""
    numbers: dict[int, int] = {}
    written = [pieces[0]]
    for slot, piece in zip(slots, pieces[1:], strict=True):
        if slot.part == "clock":
            written += [slot.source, piece]
            continue
        count = numbers.setdefault(slot.number, len(numbers) + 1)
        written += [f"{slot.before}${count}", piece]
    return " ".join("".join(written).split())


def digest(text: str) -> str:
    """A hash of a text, in hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


@dataclass(frozen=True)
class ParsedText:
    """A text, taken apart: its form and the values of its literals, as JSON."""

    form: NormalForm
    literals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """What a statement does to its session's settings."""

    name: str
    value: str | None  # None: back to the default
    local: bool = False  # holds until the transaction ends


@dataclass(frozen=True)
class InnerQuery:
    """A query inside a statement: of DECLARE, COPY (…) TO, EXECUTE."""

    text: str
    cursor: str = ""  # by which FETCH calls it
    values: tuple[str | None, ...] | None = None
    types: tuple[str, ...] = ()


class Dialect(Protocol):
    """A parser of one dialect of SQL."""

    @property
    def moment(self) -> str:
        """The type of `now()`, by which a moment is written as a literal."""
        ...

    def within(self, settings: Mapping[str, str]) -> Dialect:
        """The reader of a session's texts, whose settings may have them read otherwise."""
        ...

    def split(self, text: str) -> Sequence[str]:
        """The statements of a message; the text itself where it cannot be parsed."""
        ...

    def read(self, text: str) -> ParsedText:
        """The text, taken apart; a form of its own where it cannot be parsed."""
        ...

    def settings(self, text: str) -> Sequence[Setting]:
        """What the statement sets in its session, as far as queries depend on it."""
        ...

    def ends_transaction(self, text: str) -> bool:
        """Whether the statement ends a transaction."""
        ...

    def inside(self, text: str) -> InnerQuery | None:
        """The query inside a statement that runs another; None: it runs none."""
        ...

    def fetched(self, text: str) -> str:
        """The cursor from which the statement fetches; empty: it is no FETCH."""
        ...

    def executed(self, text: str, prepared: str) -> InnerQuery | None:
        """What EXECUTE ran, where `prepared` is the statement's PREPARE; None: unknown."""
        ...

    def bound(self, value: str | None) -> str:
        """A bound value as JSON."""
        ...

    def quoted(self, value: str) -> str:
        """A value, as JSON, as a literal of the dialect."""
        ...
