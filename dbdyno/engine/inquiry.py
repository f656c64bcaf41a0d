"""What engines are asked about an application's queries: their answers and their plans.

Values go to the server and nowhere else: neither what is given back nor an error has one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from dbdyno.engine.answer_hash import Rows
from dbdyno.model.answer import AnswerColumn, Outcome
from dbdyno.model.catalog import Catalog
from dbdyno.model.plan_tree import PlanNode

CALL_S_MIN, CALL_S_MAX = 10.0, 30.0
"""How long one call of a query may take, at least and at most."""
DRAWN_ROWS_MAX = 1000
"""So many rows of what a query reads are values drawn from."""
READ_ROWS_MAX = 200_000
"""Of a table with more rows a share is read for that."""


@dataclass(frozen=True, kw_only=True)
class QueryCall:
    """A query with one tuple of values, as it is sent to one server."""

    text: str  # with the values in it, or $1 … for `values`
    own_text: str  # without values, whose words alone may name what is kept
    values: tuple[str | None, ...] | None = None  # bound; None: they stand in the text
    types: tuple[str, ...] = ()  # of the bound values; "": the server infers it
    writes: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)  # of its session
    role: str | None = None
    limit_s: float = CALL_S_MAX  # the server ends it then

    def writing(self) -> QueryCall:
        """The same as a call that may write."""
        return replace(self, writes=True)


@dataclass(frozen=True, kw_only=True)
class CallOutcome:
    """How a call ended; without a value."""

    outcome: Outcome = "rows"
    code: str = ""
    reason: str = ""
    rows: int = 0
    cut: bool = False
    columns: tuple[AnswerColumn, ...] = ()
    whole: str = ""


@dataclass(frozen=True, kw_only=True)
class CallPlan:
    """The plan of a call, in its normal form."""

    root: PlanNode | None = None
    unavailable: str = ""
    pages: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MissingRights:
    """The rights that a session lacks for calls as they were captured."""

    user: str  # whose session it is
    roles: tuple[str, ...] = ()  # of the calls, that it may not take
    refused: tuple[str, ...] = ()  # the names of calls that it may not run
    grants: tuple[str, ...] = ()  # what mends that


class CallError(Exception):
    """The server refused what it was asked; the words are the class of its error alone."""


class Drawer(Protocol):
    """Draws values for queries from a server's own data (capture/drawing.py).

    Rows go to the caller, who keeps them where values lie and nowhere else. Methods raise
    ServerError where the connection is lost.
    """

    def parameter_types(self, call: QueryCall) -> Mapping[int, str]:
        """The types of a text's parameters by their numbers, as the server infers them.

        Raises CallError.
        """

    def drawn(self, call: QueryCall) -> Sequence[tuple[str | None, ...]]:
        """Some rows of a query, evenly drawn, as texts. Raises CallError."""

    def share(self, table: str) -> float:
        """The per cent of a table that has READ_ROWS_MAX rows; 100 of smaller ones."""

    def common(self, tables: Collection[str]) -> Mapping[str, Sequence[str]]:
        """By type the common values of these tables' columns, by the server's statistics."""

    def unique(self, relations: Collection[str]) -> Sequence[frozenset[str]]:
        """The columns of each unique index of these relations."""


class Inquirer(Protocol):
    """A session that asks an application's queries; what each call does is undone after it.

    Methods raise ServerError only where the connection is lost.
    """

    @property
    def other_settings(self) -> Sequence[tuple[str, Mapping[str, str]]]:
        """Sets of the planner's settings by which it comes to an answer by another way."""

    @property
    def drawer(self) -> Drawer | None:
        """The same session, as it draws values; None: each source of the engine has values."""

    def answer(self, call: QueryCall, rows: Rows, planner: Mapping[str, str]) -> CallOutcome:
        """Runs a call and takes its rows into `rows`; `planner`: settings beside its own."""

    def explain(self, call: QueryCall, *, run: bool = False, generic: bool = False) -> CallPlan:
        """Its plan; `run`: with the rows of a run; `generic`: for any values."""

    def lacking(self, calls: Mapping[str, QueryCall]) -> MissingRights:
        """The rights that it lacks for these calls, by their names."""

    def catalog(self, call: QueryCall) -> AbstractContextManager[Catalog]:
        """What the server tells of what a call names, in a session of its settings.

        Raises CallError, there and within.
        """

    def anew(self) -> AbstractContextManager[None]:
        """While it is open the planner has statistics of another sample of the rows.

        Where the server cannot undo that, nothing is done.
        """
