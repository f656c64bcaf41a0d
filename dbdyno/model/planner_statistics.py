"""statistics.json of a captured application: what a planner knows of the server's data.

By it a lab plans queries as the server does, without a row of data (docs/query-plans.md).
"""

from collections.abc import Collection, Mapping
from typing import Literal

from msgspec import Struct

from dbdyno.model.plan_tree import PlanTree

FORMAT = 1
FILE = "statistics.json"
WITH_VALUES = "holds values of your tables: keep it as you keep the tables themselves"
WITHOUT_TEXTS = "holds numbers and dates of your tables, and no text"


class StatisticsSlot(Struct, frozen=True, array_like=True):
    """One of the five parts of a column's statistics."""

    code: int  # of what the slot holds
    operator: str | None
    collation: str | None
    numbers: str | None
    values: str | None
    type: str | None  # of the values


class ColumnStatistics(Struct, frozen=True, array_like=True):
    """A row of pg_statistic, whose numbers of things are names."""

    relation: str
    column: int | str  # its name; earlier files have its number
    inherited: bool
    null_share: str
    width: int
    distinct: str
    slots: tuple[StatisticsSlot, ...]


class RelationSize(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the planner reads of a table or an index beside its statistics."""

    name: str  # with its schema
    relkind: str  # as pg_class has it: "r", "i", "m", "p", "I", "f"
    pages: int  # as VACUUM or ANALYZE last counted them
    rows: float
    visible: int  # of these pages, to all transactions
    blocks: int = 0  # of its file now
    pending: int = 0  # of a GIN index: pages of its list of what is not yet in the tree
    costs: tuple[str, ...] = ()  # of its tablespace, as settings: "random_page_cost=1.1"
    height: int | None = None  # of a btree: levels above its leaves
    reckoned: bool = False  # the height: by size and width, as EXPLAIN did not show it
    valid: bool = True  # of an index: whether the planner takes it


class DatabaseLocale(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who orders the texts of a database, where the system does not."""

    provider: str  # as pg_database has it: "i" for ICU, "b" for PostgreSQL itself
    locale: str
    rules: str | None = None


class ColumnEnds(Struct, frozen=True, kw_only=True):
    """The least and the greatest value of a column that leads a whole btree, as texts."""

    relation: str
    column: str
    least: str
    greatest: str


class ExtendedStatistics(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row of pg_statistic_ext_data: each part as its bytes in hexadecimal digits."""

    name: str  # with its schema
    inherited: bool = False
    ndistinct: str | None = None
    dependencies: str | None = None
    common: str | None = None


UnknownKind = Literal[
    "table", "expression", "range", "extended", "foreign", "index", "storage", "new", "refused"
]
HIDDEN_WORDS: Mapping[UnknownKind, str] = {
    "table": "statistics of tables",
    "expression": "statistics of index expressions",
    "range": "statistics of ranges",
    "extended": "extended statistics",
}
BEYOND_WORDS: Mapping[UnknownKind, str] = {
    "foreign": "it reads a foreign table",
    "index": "an extension's index may serve it",
    "storage": "it reads a table that an extension stores",
    "new": "statistics.json has no size of a table that it reads, or of an index of that",
    "refused": "the lab does not take the statistics of a table that it reads",
}


class UnknownPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of a relation the lab does not know: hidden from the role, or beyond any lab."""

    relation: str
    subject: UnknownKind
    columns: tuple[str, ...] = ()  # that it is of; none: the whole table

    @property
    def bare_relation(self) -> str:
        """The relation's name without its schema."""
        return self.relation.rpartition(".")[2].strip('"')

    def concerns(self, relations: Collection[str], words: Collection[str]) -> bool:
        """Whether a query may depend on it that reads these relations and has these words.

        A relation that it does not name comes by a view, whose columns nobody here knows.
        """
        if self.bare_relation not in relations:
            return False
        named = sum(column in words for column in self.columns)
        least = 2 if self.subject == "extended" else 1
        return not self.columns or self.bare_relation not in words or named >= least


class HiddenStatistics(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that the role did not see, and what shows it."""

    parts: tuple[UnknownPart, ...] = ()
    grant: str = ""


class ServerStatistics(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """statistics.json."""

    note: str  # stands first, so that whoever opens the file reads it
    format: int
    version_num: int
    user: str = ""
    values: Literal["all", "none"] = "all"
    locale: DatabaseLocale | None = None  # None: that of the system
    relations: tuple[RelationSize, ...] = ()  # in the order of their making
    columns: tuple[ColumnStatistics, ...] = ()
    extended: tuple[ExtendedStatistics, ...] = ()
    ends: tuple[ColumnEnds, ...] = ()
    hidden: HiddenStatistics = HiddenStatistics()
    beyond: tuple[UnknownPart, ...] = ()  # no lab knows, whoever asks
    reading: tuple[str, ...] = ()  # functions that read tables while a query is planned
    left_out: tuple[str, ...] = ()  # sentences
    plans: tuple[PlanTree, ...] = ()  # of each captured query, as the server itself plans it
