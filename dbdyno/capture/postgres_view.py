"""pg_stat_statements of 9.6 to 19, read only: the columns that the view has, in one SELECT."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dbdyno.capture.dialect import Dialect
from dbdyno.capture.gather import APPLICATION, Query
from dbdyno.capture.naming import text_of
from dbdyno.capture.postgres_session import KEPT
from dbdyno.capture.view import ServerView, StatementCost, ViewedServer, difference
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import psycopg

LIMIT_MS = 10_000
MARK = "dyno capture"
"""Stands in a comment of capture's statements, behind the first word: 18 drops what is before."""
PRIVATE = "<insufficient privilege>"
SIZES = (
    *("shared_buffers", "work_mem", "maintenance_work_mem", "effective_cache_size"),
    *("temp_buffers", "hash_mem_multiplier", "max_worker_processes", "max_parallel_workers"),
)
PLANNER = "Query Tuning"
"""How the categories of the planner's settings begin."""
FACTS = f"""SELECT /* {MARK} */
    current_setting('server_version'), pg_encoding_to_char(encoding), datcollate,
    current_database(), current_setting('log_line_prefix'),
    current_setting('log_min_duration_statement'),
    current_setting('log_statement_sample_rate', true),
    current_setting('log_transaction_sample_rate', true)
FROM pg_database WHERE datname = current_database()"""
EXTENSION = f"""SELECT /* {MARK} */
    quote_ident(n.nspname), array(SELECT attname::text FROM pg_attribute
    WHERE attrelid = (quote_ident(n.nspname) || '.pg_stat_statements')::regclass AND attnum > 0)
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'pg_stat_statements'"""
SETTINGS = f"""SELECT /* {MARK} */
    name, current_setting(name) FROM pg_settings
WHERE (category LIKE '{PLANNER}%%' OR name = ANY (%s)) AND setting IS DISTINCT FROM boot_val"""
READ_BY = (
    *("DateStyle", "IntervalStyle", "TimeZone", "default_text_search_config"),
    "standard_conforming_strings",
)
"""Settings by which sessions read values and names; the server's own may differ from an arm's."""
DEFAULTS = f"""SELECT /* {MARK} */
    lower(name), reset_val FROM pg_settings
WHERE name = ANY (%s) AND reset_val IS DISTINCT FROM boot_val"""
SESSIONS = f"""SELECT /* {MARK} */
    coalesce(d.datname, ''), coalesce(r.rolname, ''), s.setconfig FROM pg_db_role_setting s
LEFT JOIN pg_database d ON d.oid = s.setdatabase LEFT JOIN pg_roles r ON r.oid = s.setrole"""
FOREIGN = f"SELECT /* {MARK} */ relname::text FROM pg_class WHERE relkind = 'f'"
BODIES = f"""SELECT /* {MARK} */
    prosrc FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE lanname IN ('sql', 'plpgsql') AND nspname NOT IN ('pg_catalog', 'information_schema')"""
INTO = re.compile(r"\bINTO\s+(?:STRICT\s+)?[\w.]+(?:\s*,\s*[\w.]+)*\s+(?=FROM\b)", re.IGNORECASE)
STATEMENT = r"(?i:^|[;(]|\b(?:BEGIN|THEN|ELSE|LOOP|IN|QUERY|FOR)\b)\s*{}\s*(?i:$|[;)]|LOOP\b)"
EXPRESSION = r"(?i::=|\b(?:RETURN|PERFORM|(?:ELS)?IF|WHILE))\s*{}\s*(?i:$|;|THEN\b|LOOP\b)"
"""Where a function's body has a statement, or an expression that the server runs as one."""
ENABLE = (
    "shared_preload_libraries = 'pg_stat_statements' in postgresql.conf, a restart, "
    "then CREATE EXTENSION pg_stat_statements"
)


def read(place: ViewedServer, seconds: float | None, wait: Callable[[float], None]) -> ServerView:
    """What the server has counted; with `seconds` what it counts in them, while `wait` waits.

    Raises ServerError in a line that says what to do.
    """
    import psycopg

    from dbdyno.engine.postgres.connection import connect

    settings = {"statement_timeout": str(LIMIT_MS), "default_transaction_read_only": "on"}
    try:
        with connect(place.address, APPLICATION, settings, prepare_threshold=None) as connection:
            before = counted(connection, place)
            if seconds is None:
                return before
            wait(seconds)
            return difference(before, counted(connection, place), seconds)
    except psycopg.Error as error:
        raise ServerError(f"{place.name}: {' '.join(str(error).split())}") from error


def typed(place: ViewedServer, queries: Sequence[Query], dialect: Dialect) -> list[Query]:
    """The queries with the types of bound values that the server infers, where none are known.

    Parse and Describe, in a transaction that is undone; nothing runs. Raises ServerError.
    """
    from dbdyno.engine.inquiry import CallError, QueryCall
    from dbdyno.engine.postgres.inquiry import connected

    if not any(query.form.bound and query.way != "simple" for query in queries):
        return list(queries)
    known = []
    with connected(place.address) as inquirer:
        for query in queries:
            inferred: Mapping[int, str] = {}
            if query.form.bound and query.way != "simple" and not all(query.types or [""]):
                text = text_of(query, dialect).text
                with suppress(CallError):  # of a temporary table, or without a right
                    inferred = inquirer.parameter_types(
                        QueryCall(text=text, own_text=text, settings=query.settings)
                    )
            said = [*query.types, *[""] * (query.form.bound - len(query.types))]
            types = tuple(own or inferred.get(n, "") for n, own in enumerate(said, start=1))
            known.append(replace(query, types=types))
    return known


def counted(connection: psycopg.Connection[Any], place: ViewedServer) -> ServerView:
    """One reading. Raises ServerError: there is no view; psycopg.Error."""
    extension = connection.execute(EXTENSION).fetchone()
    if extension is None:
        raise ServerError(
            f"{place.name}: database `{place.address.database}` has no pg_stat_statements: {ENABLE}"
        )
    schema, columns = extension[0], frozenset(extension[1])
    rows, notes = statements(connection, schema, columns, place)
    facts = connection.execute(FACTS).fetchone()
    assert facts is not None, "a session is in a database"
    version, encoding, locale, database, prefix, threshold, *rates = facts
    settings = connection.execute(SETTINGS, (list(SIZES),)).fetchall()
    return ServerView(
        rows=rows,
        seconds=since_reset(connection, schema, columns),
        version=version.split()[0],
        encoding=encoding,
        locale=locale,
        settings=dict(settings),
        of_sessions=of_sessions(
            connection.execute(DEFAULTS, (list(READ_BY),)).fetchall(),
            connection.execute(SESSIONS).fetchall(),
        ),
        line_prefix=prefix,
        foreign=frozenset(name for (name,) in connection.execute(FOREIGN)),
        sampled=sampling(threshold, [rate for rate in rates if rate is not None]),
        notes=[*notes, *evicted(connection, schema, columns)],
        database=database,
    )


def statements(
    connection: psycopg.Connection[Any], schema: str, columns: frozenset[str], place: ViewedServer
) -> tuple[list[StatementCost], list[str]]:
    """The rows of the view, and sentences on what they cannot tell. Raises psycopg.Error."""
    total = "total_exec_time" if "total_exec_time" in columns else "total_time"
    nested = "NOT s.toplevel" if "toplevel" in columns else "false"
    query = f"""SELECT /* {MARK} */
    s.query, s.queryid, d.datname, r.rolname, s.calls, s.{total} / 1000, s.rows, {nested}
FROM {schema}.pg_stat_statements s LEFT JOIN pg_database d ON d.oid = s.dbid
LEFT JOIN pg_roles r ON r.oid = s.userid"""
    try:
        read = connection.execute(query).fetchall()
    except Exception as error:
        if "shared_preload_libraries" in str(error):
            raise ServerError(
                f"{place.name}: pg_stat_statements is not loaded: {ENABLE}"
            ) from error
        raise
    rows = [
        StatementCost(
            text="" if text is None or text == PRIVATE else text,
            query_id=query_id or 0,
            database=database or "",
            user=user or "",
            calls=calls,
            time_s=time_s,
            rows=count,
            hidden=text == PRIVATE,
            nested=within,
        )
        for text, query_id, database, user, calls, time_s, count, within in read
    ]
    notes = []
    hidden = sum(row.hidden for row in rows)
    if hidden:
        user = place.address.user
        notes.append(
            f"{hidden} statements are other users', whose texts `{user}` may not see: "
            f"`GRANT pg_read_all_stats TO {user}` shows them"
        )
    if "toplevel" not in columns and track(connection) == "all":
        bodies = [spaced(body) for (body,) in connection.execute(BODIES)]
        rows = [replace(row, nested=stands_in(bodies, row.text)) for row in rows]
        notes.append(
            "`pg_stat_statements.track` is `all`, and this version does not tell statements of "
            f"functions from others: {sum(row.nested for row in rows)} are left out whose texts "
            "stand in a function's body"
        )
    return rows, notes


def spaced(body: str) -> str:
    """A function's body as its statements come to the server, spaces made one."""
    bare = re.sub(r"--[^\n]*|/\*.*?\*/", " ", body, flags=re.DOTALL)
    return " ".join(INTO.sub("", bare).split())


def stands_in(bodies: Sequence[str], text: str) -> bool:
    """Whether a statement of the view, or the expression that it computes, is a function's."""
    pieces = re.split(r"\$\d+", " ".join(text.rstrip("; \n").split()))
    said = ".+?".join(map(re.escape, pieces))
    patterns = [STATEMENT.format(said)]
    if pieces[0].startswith("SELECT "):
        patterns.append(EXPRESSION.format(said.removeprefix(re.escape("SELECT "))))
    return bool(text) and any(re.search(each, body) for each in patterns for body in bodies)


def track(connection: psycopg.Connection[Any]) -> str:
    """Which statements are counted; empty where the setting is not shown."""
    row = connection.execute("SELECT current_setting('pg_stat_statements.track', true)").fetchone()
    return (row[0] if row else "") or ""


def evicted(connection: psycopg.Connection[Any], schema: str, columns: frozenset[str]) -> list[str]:
    """A sentence where rare statements were dropped from the view."""
    if "toplevel" not in columns:  # the view of what was dropped came with it
        return []
    row = connection.execute(
        f"SELECT /* {MARK} */ dealloc FROM {schema}.pg_stat_statements_info"
    ).fetchone()
    if row is None or not row[0]:
        return []
    return [
        f"The server dropped rare statements {row[0]} times (`pg_stat_statements.max`): the "
        "source's time is at least what stands here"
    ]


def since_reset(
    connection: psycopg.Connection[Any], schema: str, columns: frozenset[str]
) -> float | None:
    """Seconds since the counting began; None before 14, which does not tell."""
    if "toplevel" not in columns:
        return None
    row = connection.execute(
        f"SELECT /* {MARK} */ extract(epoch FROM now() - stats_reset)::float "
        f"FROM {schema}.pg_stat_statements_info"
    ).fetchone()
    return None if row is None or row[0] is None else float(row[0])


def sampling(threshold: str, rates: list[str]) -> str:
    """What the server's log leaves out, in words."""
    if threshold == "-1":
        return "`log_min_duration_statement` is off: set it to 0 for the time of the capture"
    if threshold not in ("0", "0ms"):
        return f"shorter calls are missing: `log_min_duration_statement` is {threshold}"
    if any(rate not in ("0", "1") for rate in rates):
        return f"the log has a sample of calls: the sample rates are {' and '.join(rates)}"
    return ""


def of_sessions(
    defaults: list[tuple[str, str]], rows: list[tuple[str, str, list[str]]]
) -> Mapping[tuple[str, str], dict[str, str]]:
    """Settings of the server, databases and roles for their sessions that queries depend on."""
    settings: dict[tuple[str, str], dict[str, str]] = {("", ""): dict(defaults)}
    for database, role, pairs in rows:
        for pair in pairs or []:
            name, _, value = pair.partition("=")
            if KEPT.fullmatch(name.lower()):
                settings.setdefault((database, role), {})[name.lower()] = value
    return settings
