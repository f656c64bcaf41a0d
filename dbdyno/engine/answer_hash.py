"""Hashes of an answer's rows, under a key: equal where answers are, and telling nothing else.

A hash of rows in whichever order is the sum of the hashes of each (Bellare and Micciancio, "A New
Paradigm for Collision-free Hashing", 1997, of which this is AdHash, keyed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from dbdyno.model.answer import AnswerColumn

BYTES = 16
MODULUS = 1 << (8 * BYTES)
NULL = b"\x00null"
DIGITS = 9
"""Behind the point of a number in scientific notation: a relative 1e-9."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column as the server describes it."""

    name: str
    type: str
    number: bool = False
    inexact: bool = False  # a floating-point type


@dataclass
class _Sums:
    """The hashes of one column, or of whole rows, so far."""

    values: int = 0
    order: bytes = b""
    rounded: int = 0
    rounded_order: bytes = b""


@dataclass
class Rows:
    """The rows of an answer as they come; `key` is the lab's, and kept nowhere."""

    key: bytes
    count: int = 0
    _numbers: tuple[bool, ...] = ()
    _columns: list[_Sums] = field(default_factory=list)
    _whole: int = 0

    def begin(self, numbers: Sequence[bool]) -> None:
        """Rows follow with so many columns; for each, whether it has numbers."""
        self._numbers = tuple(numbers)
        self._columns = [_Sums() for _ in numbers]
        self._whole = self.count = 0

    def add(self, row: Sequence[bytes | None]) -> None:
        """Takes a row: the text of each value, None where it is NULL."""
        self.count += 1
        whole = []
        for value, number, sums in zip(row, self._numbers, self._columns, strict=True):
            text = NULL if value is None else b"\x01" + value
            hashed = self._hash(text)
            sums.values = (sums.values + int.from_bytes(hashed, "big")) % MODULUS
            sums.order = self._hash(sums.order + hashed)
            if number:
                hashed = self._hash(NULL if value is None else rounded(value))
                sums.rounded = (sums.rounded + int.from_bytes(hashed, "big")) % MODULUS
                sums.rounded_order = self._hash(sums.rounded_order + hashed)
            whole.append(hashed)
        row_hash = int.from_bytes(self._hash(b"".join(whole)), "big")
        self._whole = (self._whole + row_hash) % MODULUS

    @property
    def whole(self) -> str:
        """The hash of all rows, in whichever order; numbers to ten digits."""
        return _text(self._whole)

    def columns(self, described: Sequence[Column]) -> tuple[AnswerColumn, ...]:
        """The columns with their hashes; an answer without rows has some, too."""
        sums = self._columns or [_Sums() for _ in described]
        return tuple(
            AnswerColumn(
                name=column.name,
                type=column.type,
                values=_text(of.values),
                order=of.order.hex(),
                rounded=_text(of.rounded) if column.number else None,
                rounded_order=of.rounded_order.hex() if column.number else None,
                inexact=column.inexact,
            )
            for column, of in zip(described, sums, strict=True)
        )

    def _hash(self, text: bytes) -> bytes:
        return blake2b(text, key=self.key, digest_size=BYTES).digest()


def rounded(value: bytes) -> bytes:
    """A number to ten digits; what is none, such as an interval, as it is."""
    try:
        return f"{float(value) + 0.0:.{DIGITS}e}".encode()
    except (ValueError, OverflowError):
        return value


def _text(value: int) -> str:
    return value.to_bytes(BYTES, "big").hex()
