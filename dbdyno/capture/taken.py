"""What sources have of one database, and what of it is no query of the application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dbdyno.capture.gather import Query
from dbdyno.model.own_query import LeftOut

ELSEWHERE = "another database"
FOREIGN = "tables of other servers"
CATALOGS = "catalogs alone, with values that are not known (drivers, tools, dumps)"
SCHEMAS = frozenset({"pg_catalog", "information_schema", "mysql", "performance_schema", "sys"})
"""Of catalogs, in any engine."""


@dataclass(frozen=True)
class Taken:
    """Queries of one database, and what of it is left out."""

    queries: list[Query]
    left_out: list[LeftOut]
    seconds: float | None
    notes: list[str]
    arrivals: Mapping[int, int] = field(default_factory=dict)  # calls by second of the log


def of_one_database(taken: Taken) -> Taken:
    """The same, with the calls of other databases as a sentence: shares are of this one's time."""
    others = [each for each in taken.left_out if each.reason == ELSEWHERE and each.calls]
    notes = [
        f"{each.calls} calls of {each.time_s:.3f} s are other databases' and no part of this"
        for each in others
    ]
    left_out = [each for each in taken.left_out if each.reason != ELSEWHERE]
    return replace(taken, left_out=left_out, notes=[*taken.notes, *notes])


def without_foreign(taken: Taken, foreign: frozenset[str]) -> Taken:
    """The same without queries on tables of other servers, which no race may reach."""
    return without(
        taken,
        FOREIGN,
        lambda query: any(table.rpartition(".")[2] in foreign for table in query.form.tables),
    )


def without_catalogs(taken: Taken) -> Taken:
    """The same without queries on catalogs alone whose values no source has."""
    return without(
        taken,
        CATALOGS,
        lambda query: (
            bool(query.form.tables)
            and not query.samples
            and bool(query.form.bound or query.form.literals)
            and all(map(is_catalog, query.form.tables))
        ),
    )


def is_catalog(table: str) -> bool:
    """Whether a table, as a statement names it, is the server's own."""
    schema, _, name = table.rpartition(".")
    return schema in SCHEMAS or (not schema and name.startswith("pg_"))


def without(taken: Taken, reason: str, leaves_out: Callable[[Query], bool]) -> Taken:
    """The same without some queries, whose calls are counted by the reason."""
    left = LeftOut(reason)
    kept = []
    for query in taken.queries:
        if leaves_out(query):
            left.calls += query.calls
            left.time_s += query.time_s
        else:
            kept.append(query)
    return replace(taken, queries=kept, left_out=[*taken.left_out, left])


def scaled(taken: Taken, share: float) -> Taken:
    """The same as if all calls had been logged, of which a log has a share."""
    return replace(
        taken,
        queries=[
            replace(query, calls=round(query.calls / share), time_s=query.time_s / share)
            for query in taken.queries
        ],
        left_out=[
            LeftOut(each.reason, round(each.calls / share), each.time_s / share)
            for each in taken.left_out
        ],
        arrivals={second: round(calls / share) for second, calls in taken.arrivals.items()},
    )
