"""MySQL's counts by digest (performance_schema), read only: a connection and a SELECT of each kind.

MariaDB counts, too, but keeps no text that could be run: there a log is needed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dbdyno.capture.gather import APPLICATION
from dbdyno.capture.mysql_mode import SQL_MODE, USUAL, reading_of
from dbdyno.capture.senders import SCHEMAS
from dbdyno.capture.view import ServerView, StatementCost, ViewedServer, difference
from dbdyno.engine.mysql.connection import connect, said, told
from dbdyno.engine.mysql.flavour import of, since
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import pymysql

MARK = "dyno capture"
"""Stands in a comment of capture's statements."""
LIMIT_S = 10
PICOSECONDS = 1e12
DIGITS = re.compile(r"\d+\.\d+(?:\.\d+)?")
TABLE = "performance_schema.events_statements_summary_by_digest"
FACTS = f"""/* {MARK} */ SELECT version(), database(), @@global.performance_schema,
    @@global.character_set_server, @@global.collation_server,
    @@global.sql_mode, @@global.time_zone"""
SLOW_LOG = "name its slow log, with long_query_time = 0 for the time of the capture"
DIGESTS = f"""/* {MARK} */ SELECT schema_name, query_sample_text, digest, count_star,
    sum_timer_wait, sum_rows_sent, sum_rows_affected,
    timestampdiff(MICROSECOND, first_seen, utc_timestamp(6)) / 1e6
FROM {TABLE}"""
SETTINGS = (
    *("innodb_buffer_pool_size", "optimizer_switch", "sql_mode", "join_buffer_size"),
    *("sort_buffer_size", "tmp_table_size", "max_heap_table_size", "read_rnd_buffer_size"),
    *("optimizer_search_depth", "optimizer_prune_level", "eq_range_index_dive_limit"),
    *("group_concat_max_len", "collation_server", "internal_tmp_mem_storage_engine"),
)
"""Settings that decide plans and answers, and sizes of memory."""
CUT = "..."
"""How a text ends that `performance_schema_max_sql_text_length` cut."""
DENIED = (1044, 1142, 1143, 1227)


def read(place: ViewedServer, seconds: float | None, wait: Callable[[float], None]) -> ServerView:
    """What the server has counted; with `seconds` what it counts in them, while `wait` waits.

    Raises ServerError in a line that says what to do.
    """
    import pymysql

    try:
        with connect(place.address, APPLICATION, read_timeout=LIMIT_S) as connection:
            before = counted(connection, place)
            if seconds is None:
                return before
            wait(seconds)
            return difference(before, counted(connection, place), seconds)
    except pymysql.MySQLError as error:
        raise ServerError(f"{place.name}: {remedy(error, place) or said(error)}") from error


def remedy(error: pymysql.MySQLError, place: ViewedServer) -> str:
    """What mends an error; empty: it is another than is known."""
    number = error.args[0] if error.args else 0
    if number in DENIED:
        user = place.address.user
        return (
            f"`{user}` may not read the statements that the server counts: "
            f"GRANT SELECT ON performance_schema.* TO `{user}`"
        )
    return ""


def counted(connection: pymysql.Connection[Any], place: ViewedServer) -> ServerView:
    """One reading. Raises ServerError: nothing is counted; pymysql.MySQLError."""
    with connection.cursor() as cursor:
        cursor.execute(FACTS)
        version, database, is_on, encoding, collation, mode, zone = fetched(cursor)[0]
        uncounted = why_uncounted(version, is_on=bool(is_on))
        rows = []
        if not uncounted:
            cursor.execute(DIGESTS)
            rows = fetched(cursor)
        settings = settings_of(cursor, version)
    digits = DIGITS.match(version)
    statements = [counted_of(row) for row in rows]
    seen = [float(row[7]) for row in rows if row[7] is not None]
    return ServerView(
        rows=statements,
        seconds=max(seen, default=None),
        version=digits[0] if digits else version,
        encoding=encoding,
        locale=collation,
        settings={name.lower(): value for name, value in settings.items() if value},
        of_sessions={("", ""): meaning(mode, zone)},
        database=database or busiest(statements),
        notes=notes_of(rows) if rows else (),
        uncounted=uncounted,
    )


def why_uncounted(version: str, *, is_on: bool) -> str:
    """Why a server has no counts that queries can be made of, and what does; empty: it has."""
    known = told(version)
    if known is None or not since(of(known[0]).samples_from, known[1]):
        return (
            f"{version} counts its statements without a text that could be run "
            f"(MySQL keeps one from 8.0 on): {SLOW_LOG}"
        )
    if not is_on:
        return (
            "performance_schema is off, so that no statement is counted: "
            f"set performance_schema = ON in my.cnf and restart it, or {SLOW_LOG}"
        )
    return ""


def settings_of(cursor: Any, version: str) -> dict[str, str]:
    """The settings that are not the default; none of a version that cannot tell these."""
    known = told(version)
    if known is None or not since(of(known[0]).tells_changed_from, known[1]):
        return {}
    names = ", ".join(["%s"] * len(SETTINGS))
    cursor.execute(f"/* {MARK} */ {of(known[0]).globals_of} ({names})", SETTINGS)
    return dict(fetched(cursor))


def meaning(mode: str, zone: str) -> dict[str, str]:
    """What a server's sessions begin with that decides what their texts mean.

    The rest of `sql_mode` goes to the arms with the other settings of the source.
    """
    kept = {} if reading_of(mode) == USUAL else {SQL_MODE: mode}
    return kept if zone == "SYSTEM" else {**kept, "time_zone": zone}


def busiest(statements: Sequence[StatementCost]) -> str:
    """The database that most of the time went to, where the DSN names none."""
    times: dict[str, float] = defaultdict(float)
    for row in statements:
        times[row.database] += row.time_s
    return max(
        (name for name in times if name and name not in SCHEMAS), key=times.__getitem__, default=""
    )


def fetched(cursor: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement, texts of bytes as texts."""
    return [
        tuple(cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in row)
        for row in cursor.fetchall()
    ]


def counted_of(row: tuple[Any, ...]) -> StatementCost:
    """A row of the view."""
    database, text, digest, calls, wait, sent, affected, _ = row
    return StatementCost(
        text=text or "",
        cut=(text or "").endswith(CUT),
        sample=True,
        query_id=0 if digest is None else int(digest[:15], 16),
        database=database or "",
        user="",
        calls=calls,
        time_s=float(wait) / PICOSECONDS,
        rows=sent or affected,
    )


def notes_of(rows: list[tuple[Any, ...]]) -> list[str]:
    """Sentences on what the view cannot tell."""
    notes = ["Values are those of one call of each query: a slow log has those of all calls"]
    if any(row[2] is None for row in rows):
        notes.append(
            "Statements did not fit into the server's table of digests "
            "(`performance_schema_digests_size`): their time is left out"
        )
    cut = sum((row[1] or "").endswith(CUT) for row in rows)
    if cut:
        notes.append(
            f"The texts of {cut} statements are cut "
            "(`performance_schema_max_sql_text_length`, 1024 by default)"
        )
    return notes
