"""The rows that a table, a subquery or a join gives, and what of them is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp

from dbdyno.model.catalog import Catalog
from dbdyno.workload.determined.dependency import Dependency, closure
from dbdyno.workload.determined.sql_tree import UnclearError

PARTS_MAX = 500
"""So many tables and subqueries are followed, those within views and CTEs for each mention."""


@dataclass(frozen=True, kw_only=True)
class RowValue:
    """What an expression gives for a row; numbers are those of dependencies."""

    look: int  # how it looks
    equal: int  # what it is equal to
    needs: frozenset[int] = frozenset()  # the columns that it is made of
    open: str = ""  # why it is not determined
    apart: str = ""  # why it is not, unless its group fixes it
    floating: bool = False
    text: bool = False
    loose: bool = False


@dataclass(frozen=True)
class Field:
    """A column of rows."""

    name: str
    value: RowValue


@dataclass(frozen=True, kw_only=True)
class RowSet:
    """Rows: their columns, and what fixes what in them."""

    fields: tuple[Field, ...]
    row: frozenset[int]  # what fixes a row
    dependencies: tuple[Dependency, ...] = ()
    open: str = ""  # why it is not determined which rows come
    outer: frozenset[int] = frozenset()  # columns of outer rows that they depend on
    complete: bool = True  # all columns are known
    sequence: tuple[str, ...] = ()  # by column, why its order is not determined
    system: bool = False  # a table, which has columns of the server's own beside

    def renamed(self, names: Sequence[str]) -> RowSet:
        """The same with other names for its first columns."""
        kept = [Field(name, old.value) for name, old in zip(names, self.fields, strict=False)]
        return replace(self, fields=(*kept, *self.fields[len(kept) :]))

    def spoilt(self, reason: str) -> RowSet:
        """The same, where it is not determined which rows come."""
        return replace(self, open=self.open or reason)


@dataclass(frozen=True)
class CommonTable:
    """A query of a WITH, and what it may name."""

    tree: exp.Expr
    names: tuple[str, ...]
    level: Level
    recursive: bool = False
    rows: RowSet | None = None  # of a recursive query, while it is read: those known so far


@dataclass
class QueryReading:
    """What reading one query takes: the server, numbers, and how many parts were read."""

    catalog: Catalog
    query: Callable[[exp.Expr, Level], RowSet]
    numbers: count[int] = field(default_factory=lambda: count(1))
    parts: int = 0

    def number(self) -> int:
        """A number that nothing has yet."""
        return next(self.numbers)

    def part(self) -> None:
        """Counts a table or subquery. Raises UnclearError beyond the most that are followed."""
        self.parts += 1
        if self.parts > PARTS_MAX:
            raise UnclearError(f"it has more than {PARTS_MAX} tables and subqueries")


@dataclass
class Level:
    """One statement with the rows that its FROM gives, while it is read."""

    reading: QueryReading
    title: str = ""  # " in subquery `x`"
    outer: Level | None = None
    sources: dict[str, RowSet] = field(default_factory=dict)
    merged: dict[str, Field] = field(default_factory=dict)  # columns of USING
    outputs: dict[str, RowValue] = field(default_factory=dict)  # by their aliases
    tables: dict[str, CommonTable] = field(default_factory=dict)
    windows: dict[str, exp.Window] = field(default_factory=dict)
    dependencies: list[Dependency] = field(default_factory=list)
    row: frozenset[int] = frozenset()
    open: str = ""
    used: set[int] = field(default_factory=set)  # columns of outer rows
    group: frozenset[int] | None = None  # what the group fixes; None: there are no groups
    group_row: int = 0
    memo: dict[object, int] = field(default_factory=dict)
    first: int = 0

    def __post_init__(self) -> None:
        """Numbers from here on are of this level and those within."""
        self.first = self.first or self.reading.number()

    def within(self, title: str) -> Level:
        """A level of a statement inside this one, which is called so."""
        self.reading.part()
        return Level(self.reading, title=title, outer=self)

    def beside(self, title: str) -> Level:
        """A level of a statement in FROM, which knows the tables of WITH and no other source."""
        self.reading.part()
        hidden = Level(self.reading, outer=self.outer, tables=self.tables)
        return Level(self.reading, title=title, outer=hidden)

    def common(self, name: str) -> CommonTable | None:
        """The query of a WITH by its name."""
        at: Level | None = self
        while at is not None:
            if name in at.tables:
                return at.tables[name]
            at = at.outer
        return None

    def number(self, key: object) -> int:
        """The number of what has this key, the same for each mention."""
        if key not in self.memo:
            self.memo[key] = self.reading.number()
        return self.memo[key]

    def fix(self, given: frozenset[int], *fixed: int, nulls: bool = False) -> None:
        """Takes note of a dependency."""
        self.dependencies.append(Dependency(given, frozenset(fixed), nulls))

    def closure(self, known: Sequence[int] | frozenset[int]) -> frozenset[int]:
        """All that is fixed where these are."""
        return closure(known, self.dependencies, self.first)

    def fresh(self, reason: str = "") -> RowValue:
        """A value that nothing else fixes."""
        number = self.reading.number()
        return RowValue(look=number, equal=number, needs=frozenset({number}), open=reason)

    def fixes(self, known: frozenset[int], value: RowValue) -> bool:
        """Whether these numbers fix how a value looks; constants and outer columns are fixed."""
        return value.look in known or all(n < self.first or n in known for n in value.needs)
