"""Puts a view's counts beside a log's queries: shares come from the view, values from the log.

A row and a query belong together by the text's form, else by the parser's fingerprint, in which
lists of any length are the same, else by `query_id` where the log has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from dbdyno.capture.cut import CUT, marked
from dbdyno.capture.dialect import NESTED, Dialect, NormalForm
from dbdyno.capture.folder import CallSample
from dbdyno.capture.gather import Query, size_of
from dbdyno.capture.query_set import ELSEWHERE
from dbdyno.capture.senders import OWN, by_name, by_text
from dbdyno.capture.view import ServerView, StatementCost
from dbdyno.model.own_query import Exclusion

HIDDEN = "other users' statements, whose texts may not be seen"
LOST = "texts that the server no longer has"
Name = Literal["form", "fingerprint", "id"]
NAMES: tuple[Name, ...] = ("form", "fingerprint", "id")
"""By what rows and queries are told to be the same, the surest first. A log has no `query_id` for
some calls of a statement (to 15 at least those of the simple protocol), so it comes last."""


@dataclass(eq=False)
class Sum:
    """Rows of one statement together."""

    form: NormalForm
    text: str
    calls: int = 0
    time_s: float = 0.0
    rows: int = 0
    query_ids: set[int] = field(default_factory=set)
    users: dict[str, int] = field(default_factory=dict)
    samples: tuple[CallSample, ...] = ()  # of rows whose text has values


@dataclass(frozen=True)
class ViewSums:
    """The rows of a view by form, and what of them can be no query."""

    sums: Sequence[Sum]
    left_out: Sequence[Exclusion]
    length_max: int  # of all texts, in bytes


def summed(
    view: ServerView, database: str, dialect: Dialect, *, with_monitoring: bool = False
) -> ViewSums:
    """The view's rows of one database, summed by form."""
    sums: dict[str, Sum] = {}
    left: dict[str, Exclusion] = {}
    for row in view.rows:
        reason = ""
        form: NormalForm | None = None
        values: tuple[str, ...] = ()
        if row.nested:
            reason = NESTED
        elif row.database != database:
            reason = ELSEWHERE
        elif row.hidden:
            reason = HIDDEN
        elif row.cut:
            reason = CUT
        elif not row.text:
            reason = LOST
        else:
            form, values = read(row, dialect)
            sender = by_text(row.text) or by_name("", row.user)
            reason = form.left_out
            if sender is not None and sender.sent(form):
                kept = with_monitoring and sender.reason != OWN
                reason = reason if kept else sender.reason
        if reason or form is None:
            left_out = left.setdefault(reason, Exclusion(reason))
            if reason != NESTED:  # the time of these is in what calls them
                left_out.calls += row.calls
                left_out.time_s += row.time_s
            continue
        total = sums.setdefault(form.key, Sum(form, row.text))
        if row.sample and values:
            total.samples = (*total.samples, CallSample(values, max(row.calls, 1)))
        total.calls += row.calls
        total.time_s += row.time_s
        total.rows += row.rows
        total.query_ids.add(row.query_id)
        total.users[row.user] = total.users.get(row.user, 0) + row.calls
    length_max = max((size_of(row.text) for row in view.rows), default=0)
    return ViewSums(list(sums.values()), list(left.values()), length_max)


def read(row: StatementCost, dialect: Dialect) -> tuple[NormalForm, tuple[str, ...]]:
    """The form of a row's text and its literals; of a cursor's or COPY's the query inside."""
    statement = dialect.read(row.text)
    inside = dialect.inside(row.text) if statement.form.left_out else None
    statement = statement if inside is None else dialect.read(inside.text)
    return statement.form, statement.literals


def unlogged(rest: Sequence[Sum], sums: ViewSums, database: str) -> list[Query]:
    """The queries of rows that no log has: texts and counts, of some the values of a call."""
    return marked([of_sum(total, database) for total in rest], sums.length_max)


def of_sum(total: Sum, database: str) -> Query:
    """The query of a view's rows."""
    users = sorted(total.users, key=lambda user: (-total.users[user], user))
    return Query(
        form=total.form,
        way="simple",
        calls=total.calls,
        time_s=total.time_s,
        rows=total.rows,
        samples=total.samples,
        role=users[0] if users else "",
        database=database,
        query_ids=frozenset(total.query_ids),
        length_min=size_of(total.text),
    )


def joined(queries: Sequence[Query], sums: ViewSums, database: str) -> list[Query]:
    """Queries of a log with the counts of a view; rows that no query has follow them."""
    rest, unmatched = list(sums.sums), list(queries)
    matches: list[StatementMatch] = []
    for name in NAMES:
        paired = pairs(rest, unmatched, name)
        matches += paired
        matched = {id(each) for pair in paired for each in (*pair.sums, *pair.queries)}
        rest = [total for total in rest if id(total) not in matched]
        unmatched = [query for query in unmatched if id(query) not in matched]
    # A server has one row for `a = $1` and `a = $1::int`: a text without a row shares it.
    rows = {total.form.fingerprint: pair for pair in matches for total in pair.sums}
    for query in unmatched:
        if query.form.fingerprint in rows:
            rows[query.form.fingerprint].queries.append(query)
    unmatched = [query for query in unmatched if query.form.fingerprint not in rows]
    done = [query for pair in matches for query in shared(pair)]
    return [*done, *unmatched, *unlogged(rest, sums, database)]


@dataclass(eq=False)
class StatementMatch:
    """Rows and queries that are the same statement."""

    sums: list[Sum] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)


def pairs(sums: Sequence[Sum], queries: Sequence[Query], name: Name) -> list[StatementMatch]:
    """Rows and queries that have a name of one sort in common, each in one pair."""
    by_name: dict[object, StatementMatch] = {}
    for query in queries:
        names = names_of(query, name)
        pair = next((by_name[each] for each in names if each in by_name), StatementMatch())
        pair.queries.append(query)
        by_name.update(dict.fromkeys(names, pair))
    matched: dict[int, StatementMatch] = {}
    for total in sums:
        for each in names_of(total, name):
            if each in by_name:
                by_name[each].sums.append(total)
                matched[id(by_name[each])] = by_name[each]
                break
    return list(matched.values())


def names_of(item: Sum | Query, name: Name) -> tuple[object, ...]:
    """By what rows and queries are told to be the same."""
    if name == "id":
        return tuple(sorted(item.query_ids))
    return (item.form.key if name == "form" else item.form.fingerprint,)


def shared(pair: StatementMatch) -> list[Query]:
    """The rows' counts, divided among queries by what the log has of each."""
    calls = sum(total.calls for total in pair.sums)
    time_s = sum(total.time_s for total in pair.sums)
    rows = sum(total.rows for total in pair.sums)
    logged = sum(query.calls for query in pair.queries) or 1
    logged_s = sum(query.time_s for query in pair.queries)
    parts = []
    for query in pair.queries:
        share = query.calls / logged
        of_time = query.time_s / logged_s if logged_s else share
        parts.append(
            replace(
                query, calls=round(calls * share), time_s=time_s * of_time, rows=round(rows * share)
            )
        )
    return parts
