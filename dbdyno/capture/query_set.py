"""What sources have of one database, and what of it is no query of the application."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dbdyno.capture.cut import CUT
from dbdyno.capture.gather import Query
from dbdyno.capture.senders import OWN, is_catalog
from dbdyno.model.own_query import Exclusion

ELSEWHERE = "another database"
FOREIGN = "tables of other servers"
CATALOGS = "catalogs alone, with values that are not known (drivers, tools, dumps)"


@dataclass(frozen=True)
class QuerySet:
    """Queries of one database, and what of it is left out."""

    queries: list[Query]
    left_out: list[Exclusion]
    seconds: float | None
    notes: list[str]
    arrivals: Mapping[int, int] = field(default_factory=dict)  # calls by second of the log


def of_one_application(taken: QuerySet) -> QuerySet:
    """The same, with what is no part of it as sentences: shares are of the application's time."""
    owners = {ELSEWHERE: "other databases'", OWN: "dyno's own"}
    notes = [
        f"{each.calls} calls of {each.time_s:.3f} s are {owners[each.reason]} and no part of this"
        for each in taken.left_out
        if each.reason in owners and each.calls
    ]
    left_out = [each for each in taken.left_out if each.reason not in owners]
    return replace(taken, left_out=left_out, notes=[*taken.notes, *notes])


def without_foreign(taken: QuerySet, foreign: frozenset[str]) -> QuerySet:
    """The same without queries on tables of other servers, which no race may reach."""
    return without(
        taken,
        FOREIGN,
        lambda query: any(table.rpartition(".")[2] in foreign for table in query.form.tables),
    )


def without_catalogs(taken: QuerySet) -> QuerySet:
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


def without_cut(taken: QuerySet) -> QuerySet:
    """The same without writes whose texts may be cut."""
    return without(taken, CUT, lambda query: query.cut and query.form.writes)


def without(taken: QuerySet, reason: str, leaves_out: Callable[[Query], bool]) -> QuerySet:
    """The same without some queries, whose calls are counted by the reason."""
    left = Exclusion(reason)
    kept = []
    for query in taken.queries:
        if leaves_out(query):
            left.calls += query.calls
            left.time_s += query.time_s
        else:
            kept.append(query)
    return replace(taken, queries=kept, left_out=[*taken.left_out, left])


def scaled(taken: QuerySet, share: float) -> QuerySet:
    """The same as if all calls had been logged, of which a log has a share."""
    return replace(
        taken,
        queries=[
            replace(query, calls=round(query.calls / share), time_s=query.time_s / share)
            for query in taken.queries
        ],
        left_out=[
            Exclusion(each.reason, round(each.calls / share), each.time_s / share)
            for each in taken.left_out
        ],
        arrivals={second: round(calls / share) for second, calls in taken.arrivals.items()},
    )
