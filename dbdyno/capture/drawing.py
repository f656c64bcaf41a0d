"""Makes tuples of values for a query of which a source has counts and no values.

The values come from the data that a race has, never from the source: rows of what the query reads
(`ValueQueries`), and by their types where a parameter meets no column. Pure: whoever asks the
server does so elsewhere.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

import msgspec

Use = Literal[
    "equal",  # column = $1
    "listed",  # column IN ($1, $2)
    "array",  # column = ANY ($1)
    "from",  # column > $1
    "to",  # column < $1
    "like",
    "limit",
    "offset",
    "field",  # extract($1 FROM column)
    "inserted",
    "assigned",  # SET column = $1
    "other",
]
Value = str | None
Row = tuple[Value, ...]
SHARE = "share_of_table"
"""What stands in a draft for the per cent of a table that is read."""
NUMBERS = frozenset({"smallint", "integer", "bigint", "numeric", "real", "double precision", "oid"})
WHOLE = frozenset({"smallint", "integer", "bigint", "oid"})
TEXTS = frozenset({"text", "character varying", "character", "name", "citext", "unknown", ""})
CONSTANTS: Mapping[str, tuple[str, ...]] = {
    "boolean": ("true",),
    "interval": ("1 hour", "1 day", "7 days", "30 days", "365 days"),
    "json": ("{}",),
    "jsonb": ("{}",),
    "uuid": ("00000000-0000-4000-8000-000000000000",),
    "bytea": ("\\x",),
    "timestamp with time zone": ("2026-01-01 00:00:00+00",),
    "timestamp without time zone": ("2026-01-01 00:00:00",),
    "date": ("2026-01-01",),
    "time without time zone": ("12:00:00",),
    **dict.fromkeys(NUMBERS, ("1", "0", "10")),
    **dict.fromkeys(TEXTS - {""}, ("a",)),
}
"""Values of types where no column and no statistics of the tables have any."""
FIELDS = ("day", "month", "year", "hour")
LIMITS = (1, 10, 20, 25, 50, 100, 1000)
OFFSETS = (0, 0, 0, 20, 100)
LENGTHS = (1, 3, 10, 100)
"""Of arrays, whose lengths no view has."""
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
DECADES = 3.0
"""Widths of ranges and ends of one-sided ones go over so many powers of ten of the rows."""
ROUND = 8
"""Of so many tuples three are drawn by value in place of by row, and one is of an absent value."""


@dataclass(frozen=True)
class ParameterPlace:
    """Where a parameter stands."""

    number: int
    use: Use
    column: int | None = None  # of its draft; None: it meets no column
    draft: int = 0

    def within(self, draft: int) -> ParameterPlace:
        """The same as a place of that draft."""
        return replace(self, draft=draft)


@dataclass(frozen=True, kw_only=True)
class ValueQueries:
    """Queries whose columns are what the parameters of one statement are compared with."""

    whole: str  # of all that the statement reads; empty: that cannot be asked without values
    sampled: str  # the same of SHARE per cent of its first table
    tables: tuple[str, ...]
    plain: tuple[str, ...]  # the columns without the names of tables
    names: tuple[str, ...]  # of the columns; "": an expression


@dataclass(frozen=True)
class ParameterPlaces:
    """The places of a query's parameters by their numbers."""

    places: Mapping[int, ParameterPlace] = field(default_factory=dict)
    drafts: tuple[ValueQueries, ...] = ()
    typed: str = ""  # the text as servers take it apart that do not prepare it as it stands


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The rows of a draft, and which of its columns hold a value once."""

    rows: Sequence[Row]
    fresh: frozenset[int] = frozenset()  # columns of which an inserted row has a new value


@dataclass(frozen=True, kw_only=True)
class Material:
    """All that tuples of a query are made from."""

    places: ParameterPlaces
    pools: Sequence[Pool]  # of each draft
    types: Mapping[int, str]  # of the parameters
    by_type: Mapping[str, Sequence[str]] = field(default_factory=dict)  # values of the tables
    rows: float | None = None  # of a call at the source


class NoValueError(Exception):
    """No value is known for a parameter; the words name no value."""


def tuples(material: Material, count: int, seed: str) -> list[Row]:
    """So many tuples, each different. Raises NoValueError where a parameter has no value at all."""
    drawing = _TupleDrawer(material, random.Random(seed))
    return list(dict.fromkeys(drawing.row(turn) for turn in range(count)))


def as_json(value: Value, type_: str) -> str:
    """A value as a values file has it: a number stands bare, a text in quotes."""
    if value is None:
        return "null"
    if type_ == "boolean" and value in ("true", "false"):
        return value
    if type_ in NUMBERS and NUMBER.fullmatch(value):
        return value
    return msgspec.json.encode(value).decode()


class _TupleDrawer:
    """Draws tuples of one query."""

    def __init__(self, material: Material, draw: random.Random) -> None:
        self.material = material
        self.draw = draw
        self.turn = 0
        self.pools = [_usable(material, number) for number in range(len(material.pools))]

    def row(self, turn: int) -> Row:
        """A tuple."""
        self.turn = turn
        rows = [self._chosen(number) for number in range(len(self.pools))]
        absent = self._absent() if turn % ROUND == ROUND - 1 else 0
        values: dict[int, Value] = {}
        places = self.material.places.places
        for number in sorted(self.material.types):
            place = places.get(number, ParameterPlace(number, "other"))
            if number not in values:
                values |= self._values(place, rows, absent=number == absent)
        return tuple(values[number] for number in sorted(self.material.types))

    def _chosen(self, number: int) -> Row:
        """A row of a draft: mostly by rows, so that frequent values come often; else by values."""
        rows = self.pools[number]
        if not rows:
            return ()
        if self.turn % ROUND < ROUND - 4:
            return self.draw.choice(rows)
        column = self.draw.randrange(len(rows[0]))
        value = self.draw.choice(sorted({row[column] or "" for row in rows}))
        return self.draw.choice([row for row in rows if (row[column] or "") == value])

    def _absent(self) -> int:
        """The parameter that is to find nothing; 0: none can."""
        equal = [
            place.number
            for place in self.material.places.places.values()
            if place.use == "equal" and place.column is not None
        ]
        return self.draw.choice(equal) if equal else 0

    def _values(
        self, place: ParameterPlace, rows: Sequence[Row], *, absent: bool
    ) -> dict[int, Value]:
        """The value of a parameter; of a range both."""
        number, type_ = place.number, self.material.types[place.number]
        if place.use == "limit":
            wanted = self.material.rows
            usual = max(1, round(wanted)) if wanted else LIMITS[2]
            return {number: str(self.draw.choice((usual, self.draw.choice(LIMITS))))}
        if place.use == "offset":
            return {number: str(self.draw.choice(OFFSETS))}
        if place.use == "field":
            return {number: self.draw.choice(FIELDS)}
        if place.column is None or not rows[place.draft]:
            return {number: self._of_type(type_)}
        if place.use in ("from", "to"):
            return self._range(place)
        return {number: self._of_column(place, rows[place.draft], absent=absent)}

    def _of_column(self, place: ParameterPlace, row: Row, *, absent: bool) -> Value:
        assert place.column is not None
        type_ = self.material.types[place.number]
        value = row[place.column]
        match place.use:
            case "listed" | "assigned":
                return self.draw.choice(self.pools[place.draft])[place.column]
            case "array":
                return self._array(place)
            case "like":
                return self._pattern(value or "")
            case "inserted" if place.column in self.material.pools[place.draft].fresh:
                return self._fresh(place, value, type_)
        return self._fresh(place, value, type_) if absent else value

    def _fresh(self, place: ParameterPlace, value: Value, type_: str) -> Value:
        """A value that no row has."""
        if type_ in WHOLE:
            return str(round(max(map(_key, self._column(place)))) + 1 + self.turn)
        if type_ == "uuid":
            digits = f"{self.draw.getrandbits(128):032x}"
            return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        return f"{value}~{self.turn}" if type_ in TEXTS else value

    def _array(self, place: ParameterPlace) -> str:
        assert place.column is not None
        length = self.draw.choice(LENGTHS)
        values = {self.draw.choice(self.pools[place.draft])[place.column] for _ in range(length)}
        quoted = (
            '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values if value
        )
        return "{" + ",".join(sorted(quoted)) + "}"

    def _pattern(self, value: str) -> str:
        """A beginning of a value, or a part of it: which of both a source has is not known."""
        start = self.draw.choice((0, 0, self.draw.randrange(len(value) + 1)))
        part = value[start : start + self.draw.randint(2, 12)]
        plain = re.sub(r"([\\%_])", r"\\\1", part)
        return ("%" if start else "") + plain + "%"

    def _range(self, place: ParameterPlace) -> dict[int, Value]:
        """The ends of a range, of a width between a row in a thousand and all."""
        values = self._column(place)
        others = [
            other
            for other in self.material.places.places.values()
            if (other.draft, other.column) == (place.draft, place.column)
            and {other.use, place.use} == {"from", "to"}
        ]
        share = 10 ** -self.draw.uniform(0, DECADES)
        count = max(1, round(share * len(values)))
        if not others:
            at = len(values) - count if place.use == "from" else count - 1
            return {place.number: values[at]}
        first = self.draw.randrange(len(values))
        low, high = values[first], values[min(first + count, len(values) - 1)]
        if self.turn % 2:
            high = _between(low, high, 10 ** -self.draw.uniform(0, DECADES))
        ends = (low, high) if place.use == "from" else (high, low)
        return {place.number: ends[0], others[0].number: ends[1]}

    def _column(self, place: ParameterPlace) -> list[str]:
        assert place.column is not None
        values = [row[place.column] for row in self.pools[place.draft]]
        there = [value for value in values if value is not None]
        return sorted(there, key=_key if _numeric(there) else str)

    def _of_type(self, type_: str) -> str:
        """A value of the type, from the tables' statistics where they have one."""
        values = self.material.by_type.get(type_) or CONSTANTS.get(type_)
        if not values and type_.endswith("[]"):
            values = ("{}",)
        if not values:
            raise NoValueError(f"no value of type {type_ or 'unknown'} is known")
        return self.draw.choice(values)


def _usable(material: Material, number: int) -> list[Row]:
    """The rows of a draft in which what is compared is not NULL; all where there are none."""
    compared = {
        place.column
        for place in material.places.places.values()
        if place.draft == number and place.use not in ("inserted", "assigned")
    }
    rows = list(material.pools[number].rows)
    whole = [row for row in rows if all(row[at] is not None for at in compared if at is not None)]
    return whole or ([] if compared - {None} else rows)


def _numeric(values: Sequence[str]) -> bool:
    return all(NUMBER.fullmatch(value) for value in values)


def _key(value: str) -> float:
    return float(value) if NUMBER.fullmatch(value) else 0.0


def _between(low: str, high: str, share: float) -> str:
    """A value so far from one to another, of numbers and times; of others the higher one."""
    if _numeric((low, high)):
        first, last = float(low), float(high)
        value = first + share * (last - first)
        return str(round(value)) if "." not in low + high else f"{value:.6f}"
    try:
        begin, end = datetime.fromisoformat(low), datetime.fromisoformat(high)
        return (begin + share * (end - begin)).isoformat(" ")
    except (ValueError, TypeError):
        return high
