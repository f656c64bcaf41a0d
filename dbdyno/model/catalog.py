"""What a server is asked of the relations and functions that a query names."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """A column of a relation."""

    name: str
    floating: bool = False  # sums of it depend on the order of addition
    text: bool = False
    loose: bool = False  # values that are equal may look different: 'a' and 'A', 1.0 and 1.00
    default: bool = False  # it has one, which an INSERT may take


@dataclass(frozen=True, kw_only=True)
class RelationFacts:
    """A table or a view."""

    columns: tuple[ColumnFacts, ...] = ()
    keys: tuple[frozenset[str], ...] = ()  # unique, without NULL, and without conditions
    view: str = ""  # its query
    moving: str = ""  # why its rows change by themselves: "a table of the server itself"
    inherited: bool = False  # others inherit from it, whose rows its keys do not bind
    triggers: bool = False  # it has some that may change the rows that are written


@dataclass(frozen=True, kw_only=True)
class FunctionFacts:
    """A function, or all of one name."""

    moving: bool = False  # the result can differ for the same arguments
    floating: bool = False  # it gives floating-point numbers
    aggregate: bool = False
    builtin: bool = False  # the server has it by itself
    rows: bool = False  # it gives any number of rows


class Catalog(Protocol):
    """A session of the server in which names mean what they mean to a query."""

    @property
    def backticks(self) -> bool:
        """Whether it reads MySQL's SQL."""

    def relation(self, schema: str, name: str) -> RelationFacts | None:
        """The relation of that name; None: there is none. Raises ServerError."""

    def function(self, name: str) -> FunctionFacts:
        """The functions of that name. Raises ServerError."""
