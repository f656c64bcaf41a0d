"""Hashes of an answer's rows, under a key: equal where answers are, and telling nothing else.

A hash of rows in whichever order is the sum of the hashes of each (Bellare and Micciancio, "A New
Paradigm for Collision-free Hashing", 1997, of which this is AdHash, keyed).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from dbdyno.model.answer import AnswerColumn

BYTES = 16
MODULUS = 1 << (8 * BYTES)
NULL, VALUE = b"\x00", b"\x01"
"""What the text of a hash begins with."""
MET_MAX = 50_000
"""So many values are remembered at once."""
DIGITS = 9
"""Behind the point of a number in scientific notation: a relative 1e-9."""


@dataclass(frozen=True, kw_only=True)
class ResultColumn:
    """A column as the server describes it."""

    name: str
    type: str
    number: bool = False
    inexact: bool = False  # a floating-point type


@dataclass(frozen=True)
class _ValueHash:
    """A value, hashed as it is and, if it is a number, to ten digits."""

    exact: bytes
    exact_number: int
    rounded: bytes
    rounded_number: int


@dataclass
class _Sums:
    """The hashes of one column so far."""

    order: blake2b
    rounded_order: blake2b
    values: int = 0
    rounded: int = 0


@dataclass
class Rows:
    """The rows of an answer as they come; `key` is the lab's, and kept nowhere."""

    key: bytes
    count: int = 0
    _numbers: tuple[bool, ...] = ()
    _columns: list[_Sums] = field(default_factory=list)
    _whole: int = 0
    # Values that were met, as most come again; numbers and others apart.
    _met: tuple[dict[bytes | None, _ValueHash], ...] = field(default_factory=lambda: ({}, {}))

    def begin(self, numbers: Sequence[bool]) -> None:
        """Rows follow with so many columns; for each, whether it has numbers."""
        self._numbers = tuple(numbers)
        self._columns = [_Sums(self._hasher(), self._hasher()) for _ in numbers]
        self._whole = self.count = 0

    def add(self, row: Sequence[bytes | None]) -> None:
        """Takes a row: the text of each value, None where it is NULL."""
        self.count += 1
        whole = []
        for value, number, sums in zip(row, self._numbers, self._columns, strict=True):
            hashed = self._met[number].get(value) or self._meet(value, number=number)
            sums.values += hashed.exact_number
            sums.order.update(hashed.exact)
            if number:
                sums.rounded += hashed.rounded_number
                sums.rounded_order.update(hashed.rounded)
            whole.append(hashed.rounded)
        self._whole += int.from_bytes(self._hash(b"".join(whole)), "big")

    def _meet(self, value: bytes | None, *, number: bool) -> _ValueHash:
        exact = self._hash(NULL if value is None else VALUE + value)
        near = exact if value is None or not number else self._hash(VALUE + rounded(value))
        hashed = _ValueHash(exact, int.from_bytes(exact, "big"), near, int.from_bytes(near, "big"))
        met = self._met[number]
        if len(met) >= MET_MAX:
            met.clear()
        met[value] = hashed
        return hashed

    @property
    def whole(self) -> str:
        """The hash of all rows, in whichever order; numbers to ten digits."""
        return _text(self._whole)

    def columns(self, described: Sequence[ResultColumn]) -> tuple[AnswerColumn, ...]:
        """The columns with their hashes; an answer without rows has some, too."""
        sums = self._columns or [_Sums(self._hasher(), self._hasher()) for _ in described]
        return tuple(
            AnswerColumn(
                name=column.name,
                type=column.type,
                values=_text(of.values),
                order=of.order.hexdigest(),
                rounded=_text(of.rounded) if column.number else None,
                rounded_order=of.rounded_order.hexdigest() if column.number else None,
                inexact=column.inexact,
            )
            for column, of in zip(described, sums, strict=True)
        )

    def _hasher(self) -> blake2b:
        return blake2b(key=self.key, digest_size=BYTES)

    def _hash(self, text: bytes) -> bytes:
        return blake2b(text, key=self.key, digest_size=BYTES).digest()


def rounded(value: bytes) -> bytes:
    """A number to ten digits; what is none, such as an interval, as it is."""
    try:
        return f"{float(value) + 0.0:.{DIGITS}e}".encode()
    except (ValueError, OverflowError):
        return value


def _text(value: int) -> str:
    return (value % MODULUS).to_bytes(BYTES, "big").hex()
