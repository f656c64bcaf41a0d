"""Captures an application: from its sources to its folder."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from dbdyno.capture import coverage, engines, folder, join, mix
from dbdyno.capture.coverage import Coverage
from dbdyno.capture.cut import marked
from dbdyno.capture.dialect import Dialect
from dbdyno.capture.folder import Capture, CapturedQuery, CapturedServer
from dbdyno.capture.gather import Query, QueryCalls, queries_of
from dbdyno.capture.log import read
from dbdyno.capture.log.line_prefix import LogFormat
from dbdyno.capture.log.tally import Tally
from dbdyno.capture.mix import TransactionMix
from dbdyno.capture.naming import named
from dbdyno.capture.query_set import (
    ELSEWHERE,
    QuerySet,
    of_one_application,
    scaled,
    without_catalogs,
    without_cut,
    without_foreign,
)
from dbdyno.capture.view import ServerView, ViewedServer
from dbdyno.model.error import DynoError
from dbdyno.model.own_query import Exclusion

THRESHOLD_S = 0.005
"""A slow log whose shortest call took so long leaves out others."""
UNNAMED = ""
"""The database of calls in a log that names none."""
BEYOND = "cheaper than the first {top} (--top)"
OF_LOG = "Calls and times are of the log: the server counts no statement with a text"
ANY = ("", "")
"""What all sessions of a server begin with: of any database, of any role."""
WITHOUT_ENDS = frozenset({"stderr", "general"})
"""Logs whose records do not show where a text ends."""
LIST = "/*, ... */"
"""What the view of 18 has in place of a list's other members."""


@dataclass(frozen=True, kw_only=True)
class CaptureRequest:
    """What is to be captured, from where, and into which folder."""

    logs: Sequence[Path]
    server: ViewedServer | None
    engine: str  # of the server; empty: the log tells
    version: str = ""  # of the server, where the log tells it
    out: Path
    keeps_values: bool = True
    top: int = 300
    prefix: str = ""
    database: str = ""
    seconds: float | None = None  # between two readings of the view
    sampled: float | None = None  # the share of calls that the log has
    seed: int = 1
    real_clock: bool = False  # whether now() and its like stay as they are
    accepts_loss: bool = False  # whether much of a log may be not understood
    with_monitoring: bool = False  # whether what others than the application sent is kept
    beside: Callable[[Path], None] | None = None  # adds to the folder before it takes its place


def capture(wish: CaptureRequest, say: Callable[[str], None]) -> Coverage:
    """Captures the application and writes its folder. Raises DynoError in one line."""
    folder.refuse(wish.out)
    tally = Tally()
    files = read.ordered(wish.logs, tally) if wish.logs else []
    family = engines.family(wish.engine, files[0][1] if files else None)
    dialect = family.dialect()
    view = None
    if wish.server is not None:
        view = family.view(wish.server, wish.seconds, time.sleep)
        if view.uncounted and not wish.logs:
            raise DynoError(f"{wish.server.name}: {view.uncounted}")
        made = view.of_sessions
        of_database = made.get((wish.database or view.database, ""), {})
        dialect = dialect.within({**made.get(ANY, {}), **of_database})
        if not wish.keeps_values:
            view = replace(view, rows=[replace(row, sample=False) for row in view.rows])
    gathered = QueryCalls(
        dialect,
        seed=wish.seed,
        keeps_values=wish.keeps_values,
        with_monitoring=wish.with_monitoring,
    )
    if files:
        reading = LogFormat(
            prefix=wish.prefix,
            server_prefix=view.line_prefix if view else "",
            accepts_loss=wish.accepts_loss,
        )
        gathered.add_all(read.calls(files, dialect, reading, tally))
        engine = wish.engine or tally.engine or family.engine
        wish = replace(wish, engine=engine, version=tally.version)
        for prefix in tally.prefixes:
            say(f"the log's lines begin as `{prefix}` writes it")
    database = wish.database or (view.database if view else busiest(gathered))
    taken = of_log(gathered, database, tally) if wish.logs else None
    if taken is not None and wish.sampled is not None:
        taken = scaled(taken, wish.sampled)
    if view is not None and view.uncounted and taken is not None:
        taken = replace(taken, notes=[*taken.notes, OF_LOG])
    elif view is not None:
        sums = join.summed(view, database, dialect, with_monitoring=wish.with_monitoring)
        taken = without_foreign(with_view(taken, view, sums, database), view.foreign)
    assert taken is not None, "there is a source"
    taken = of_one_application(without_cut(without_catalogs(taken)))
    if not taken.queries:
        raise DynoError(empty(wish, database, gathered))
    taken = replace_queries(taken, in_sessions(taken.queries, view, database))
    if wish.server is not None and family.typed is not None:
        top = family.typed(wish.server, taken.queries[: wish.top], dialect)
        taken = replace(taken, queries=[*top, *taken.queries[wish.top :]])
    if view is None and family.unknown:
        taken = replace(taken, notes=[*taken.notes, family.unknown])
    return write(wish, taken, source_of(wish, taken, view, database, gathered), gathered, dialect)


def busiest(gathered: QueryCalls) -> str:
    """The database of the log that most of the time went to; the most calls break a tie."""
    weights: dict[str, tuple[float, int]] = {}
    for (database, *_), group in gathered.groups.items():
        time_s, calls = weights.get(database, (0.0, 0))
        weights[database] = (time_s + group.time_s, calls + group.calls)
    return max(weights, key=lambda name: weights[name], default="")


def of_log(gathered: QueryCalls, database: str, tally: Tally) -> QuerySet:
    """What a log has of a database."""
    notes = notes_of(tally)
    if database and not any(name for name, *_ in gathered.groups):
        notes.append(f"The log does not name databases: all calls are taken for `{database}`'s")
        database = ""
    other = Exclusion(ELSEWHERE)
    for (name, _), each in gathered.left_out.items():
        if name != database:
            other.calls += each.calls
            other.time_s += each.time_s
    for (name, *_), group in gathered.groups.items():
        if name != database:
            other.calls += group.calls
            other.time_s += group.time_s
    has_ends = tally.format not in WITHOUT_ENDS
    queries = marked(queries_of(gathered, database), gathered.length_max, has_ends=has_ends)
    left_out = [each for (name, _), each in gathered.left_out.items() if name == database]
    first, last = gathered.first_s, gathered.last_s
    seconds = last - first if first is not None and last is not None and last > first else None
    arrivals: Mapping[int, int] = gathered.arrivals.get(database, {})
    return QuerySet(queries, [*left_out, other], seconds, notes, arrivals)


def notes_of(tally: Tally) -> list[str]:
    """Sentences on what of a log could not be read."""
    notes = []
    for count, what in (
        (tally.torn, "records without an end"),
        (tally.strange, f"lines that are not understood, the first is {tally.first_strange}"),
        (tally.translated, "messages in another language"),
        (tally.texts_without_time, "statements without a time"),
        (tally.cut_values, "calls whose values are cut (`log_parameter_max_length`)"),
    ):
        if count:
            notes.append(f"The log has {count} {what}")
    if tally.nested:
        notes.append(
            f"{tally.nested} plans are of statements within functions, counted by what calls them"
        )
    if tally.wrapped:
        notes.append(
            f"The log came within {', in '.join(tally.wrapped)}, which was tried on made files "
            "alone: look whether its queries are all here"
        )
    if tally.beside:
        notes.append(tally.beside)
    if tally.tabs_lost:
        notes.append("The log's tabs have become blanks: values over lines may have others")
    if tally.time_share:
        share = coverage.percent(tally.time_share, 1.0)
        notes.append(f"Calls with {share} of the time were not understood, or not wholly")
    if tally.without_session:
        notes.append("The log does not tell sessions apart: what they set is not known")
    if tally.untimed:
        notes.append("A general log has no times: queries are weighed by their calls alone")
    if tally.rate_limit > 1:
        notes.append(f"The log has one of {tally.rate_limit} calls (`log_slow_rate_limit`)")
    if tally.shortest_s is not None and tally.shortest_s >= THRESHOLD_S:
        notes.append(
            f"The log has no call shorter than {tally.shortest_s:.3g} s: shares are of what was "
            "logged; `long_query_time = 0` logs every call"
        )
    return notes


def with_view(
    taken: QuerySet | None, view: ServerView, sums: join.ViewSums, database: str
) -> QuerySet:
    """What a view has of a database, with the values of a log where there is one."""
    queries = (
        join.unlogged(sums.sums, sums, database)
        if taken is None
        else join.joined(taken.queries, sums, database)
    )
    notes = [*view.notes, *(taken.notes if taken else [])]
    if taken is not None and view.sampled:
        notes.append(f"Values are of what was logged: {view.sampled}")
    lists = sum(LIST in row.text for row in view.rows if row.database == database)
    if lists and taken is None:
        notes.append(
            f"The lengths of the lists of {lists} statements are not known: a log has them"
        )
    arrivals: Mapping[int, int] = taken.arrivals if taken is not None else {}
    return QuerySet(queries, list(sums.left_out), view.seconds, notes, arrivals)


def in_sessions(queries: Sequence[Query], view: ServerView | None, database: str) -> list[Query]:
    """The queries with what the database and the role set for their sessions."""
    if view is None:
        return list(queries)
    made = view.of_sessions
    return [
        replace(
            query,
            settings={
                **made.get(ANY, {}),
                **made.get((database, ""), {}),
                **made.get(("", query.role), {}),
                **made.get((database, query.role), {}),
                **query.settings,
            },
        )
        for query in queries
    ]


def replace_queries(taken: QuerySet, queries: list[Query]) -> QuerySet:
    """The same with other queries, the costliest first."""
    queries.sort(
        key=lambda query: (
            -round(query.time_s, 6),
            -query.calls,
            query.form.key,
            sorted(query.settings.items()),
            query.role,
            query.literals or (),
        )
    )
    return replace(taken, queries=queries)


def empty(wish: CaptureRequest, database: str, gathered: QueryCalls) -> str:
    """The line on a source without a query."""
    where = f"database `{database}`" if database else "the log"
    there = ", ".join(sorted({f"`{name}`" for name, *_ in gathered.groups if name}))
    remedy = f"name another with --database, of {there}" if there else "name a fuller source"
    if wish.seconds is not None:
        remedy = "capture while the application runs, or for longer (--for)"
    return f"{where}: nothing was captured, as no query ran there: {remedy}"


def source_of(
    wish: CaptureRequest,
    taken: QuerySet,
    view: ServerView | None,
    database: str,
    gathered: QueryCalls,
) -> CapturedServer:
    """What is said of the source."""
    time_s = sum(query.time_s for query in taken.queries)
    calls = sum(query.calls for query in taken.queries)
    first, last = stamp(gathered.first_s), stamp(gathered.last_s)
    when = f", captured from {first} to {last}" if last else ""
    host = f" at {wish.server.address.host}" if wish.server else ""
    return CapturedServer(
        description=f"{database or 'application'}{host}{when}",
        engine=wish.engine,
        version=view.version if view else wish.version,
        encoding=view.encoding if view else "",
        locale=view.locale if view else "",
        seconds=taken.seconds,
        time_s=time_s + sum(each.time_s for each in taken.left_out),
        calls=calls + sum(each.calls for each in taken.left_out),
        settings=view.settings if view else {},
        first=first,
        last=last,
    )


def stamp(second: float | None) -> str:
    """A second of the clock in UTC, in ISO 8601; empty where it is not known."""
    if second is None:
        return ""
    return datetime.fromtimestamp(second, UTC).isoformat(sep=" ", timespec="seconds")


def write(
    wish: CaptureRequest,
    taken: QuerySet,
    source: CapturedServer,
    gathered: QueryCalls,
    dialect: Dialect,
) -> Coverage:
    """Writes the folder; returns what it covers."""
    top, rest = taken.queries[: wish.top], taken.queries[wish.top :]
    left_out = list(taken.left_out)
    if rest:
        beyond = Exclusion(BEYOND.format(top=wish.top))
        beyond.calls = sum(query.calls for query in rest)
        beyond.time_s = sum(query.time_s for query in rest)
        left_out.append(beyond)
    left_out = [each for each in left_out if each.calls or each.time_s]
    left_out.sort(key=lambda each: (-each.time_s, -each.calls, each.reason))
    source = replace(source, left_out=left_out)
    queries = named(top, dialect, None if wish.real_clock else gathered.last_s or time.time())
    notes = list(taken.notes)
    if wish.sampled is not None:
        notes.append(f"The log has a sample of {wish.sampled:g} of all calls; counts are scaled")
    said = Coverage(
        calls=source.calls,
        time_s=source.time_s,
        queries=len(queries),
        covered_calls=sum(query.calls for query in queries),
        covered_time_s=sum(query.time_s for query in queries),
        left_out=left_out,
        without_values=sum(lacks_values(query) for query in queries),
        refused=[
            query.name
            for query, own in zip(queries, top, strict=True)
            if own.form.refused and not query.cut
        ],
        cut=[query.name for query in queries if query.cut],
        errors=gathered.errors,
        notes=notes,
    )
    made = mixed(gathered, top, queries)
    captured = Capture(
        source=source,
        queries=queries,
        mix=made if made is None else replace(made, per_s=made.per_s / (wish.sampled or 1.0)),
        arrivals=taken.arrivals,
        coverage=coverage.page(said),
    )
    folder.write(wish.out, captured, wish.beside)
    return said


def mixed(
    gathered: QueryCalls, top: Sequence[Query], captured: Sequence[CapturedQuery]
) -> TransactionMix | None:
    """The transactions of queries that can run; None without a log that tells them."""
    names: dict[str, str] = {}
    for query, own in zip(top, captured, strict=True):
        if not lacks_values(own):
            names.setdefault(query.form.key, own.name)
    of_any = gathered.transactions.get(UNNAMED)
    seen = gathered.transactions.get(top[0].database, of_any)
    return None if seen is None else mix.of(seen, names)


def lacks_values(query: CapturedQuery) -> bool:
    """Whether a query has parameters and no values for them."""
    return not query.samples and "$1" in query.text and 1 not in query.clock
