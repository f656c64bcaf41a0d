"""The queries of an application, as `dyno capture` writes them and the lab runs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from dbdyno.model.job.statements import Protocol


@dataclass(frozen=True, kw_only=True)
class OwnQuery:
    """A query of an application: its text, its values, and how often it was called."""

    name: str  # also of its step: "select-orders-3f9c02ab"
    text: str  # with $1 … for its parameters
    calls: float  # in the time captured; a weight beside the others
    time_s: float  # of all these calls; 0: not known
    rows: float | None = None  # of all these calls; None: not known
    protocol: Protocol = "simple"
    types: tuple[str, ...] = ()  # of $1 …; "": not known
    values: Path | None = None  # the file of its tuples; None: it has no parameters
    writes: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)  # of its sessions
    role: str | None = None  # that its sessions take by SET ROLE
    drawn: str = ""  # of values that the lab has drawn how they fit, or why it has none
    cut: bool = False  # the source may have cut its text


class Exclusion(Struct):
    """Calls of the source that no query stands for, by reason; capture counts them up."""

    reason: str
    calls: int = 0
    time_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class QuerySource:
    """The server from which queries were captured, as far as it is known."""

    engine: str | None = None
    version: str | None = None
    encoding: str | None = None
    locale: str | None = None
    seconds: float | None = None  # how long was captured; None: there are no rates
    time_s: float | None = None  # of all calls, with those that are left out
    calls: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    first: str | None = None  # when the first call began, in ISO 8601; None: not known
    last: str | None = None
    left_out: tuple[Exclusion, ...] = ()  # by capture


@dataclass(frozen=True, kw_only=True)
class Application:
    """What an application asks of its database: the queries that run, and where they are from."""

    source: QuerySource
    queries: tuple[OwnQuery, ...]  # the costliest first
    without_values: tuple[OwnQuery, ...] = ()  # that do not run for want of them

    @property
    def covered(self) -> float | None:
        """The share of the source's time that its queries have; None: no time is known."""
        whole = self.source.time_s or sum(query.time_s for query in self.queries)
        return sum(query.time_s for query in self.queries) / whole if whole else None

    def weight(self, name: str) -> float:
        """How often a query is called, beside the others; 0: it is none of these."""
        return next((query.calls for query in self.queries if query.name == name), 0.0)
