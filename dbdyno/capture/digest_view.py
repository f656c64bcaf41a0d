"""MySQL's counts by digest (performance_schema), read only: a connection and a SELECT of each kind.

MariaDB counts, too, but keeps no text that could be run: there a log is needed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dbdyno.capture.gather import APPLICATION
from dbdyno.capture.taken import SCHEMAS
from dbdyno.capture.view import Counted, Place, View, difference
from dbdyno.engine.mysql.connection import connect, said, told
from dbdyno.engine.mysql.flavour import of, since
from dbdyno.model.error import ServerError

if TYPE_CHECKING:
    import pymysql

MARK = "dyno capture"
"""Stands in a comment of capture's statements, which are left out."""
LIMIT_S = 10
PICOSECONDS = 1e12
DIGITS = re.compile(r"\d+\.\d+(?:\.\d+)?")
TABLE = "performance_schema.events_statements_summary_by_digest"
FACTS = f"""/* {MARK} */ SELECT version(), database(), @@global.performance_schema,
    @@global.character_set_server, @@global.collation_server"""
SLOW_LOG = "name its slow log, with long_query_time = 0 for the time of the capture"
DIGESTS = f"""/* {MARK} */ SELECT schema_name, query_sample_text, digest, count_star,
    sum_timer_wait, sum_rows_sent, sum_rows_affected,
    timestampdiff(MICROSECOND, first_seen, utc_timestamp(6)) / 1e6
FROM {TABLE}"""
VARIABLES = f"""/* {MARK} */ SELECT variable_name, variable_value
FROM performance_schema.global_variables JOIN performance_schema.variables_info
USING (variable_name) WHERE variable_source <> 'COMPILED' AND variable_name IN (%s)"""
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


def read(place: Place, seconds: float | None, wait: Callable[[float], None]) -> View:
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


def remedy(error: pymysql.MySQLError, place: Place) -> str:
    """What mends an error; empty: it is another than is known."""
    number = error.args[0] if error.args else 0
    if number in DENIED:
        user = place.address.user
        return (
            f"`{user}` may not read the statements that the server counts: "
            f"GRANT SELECT ON performance_schema.* TO `{user}`"
        )
    return ""


def counted(connection: pymysql.Connection[Any], place: Place) -> View:
    """One reading. Raises ServerError: nothing is counted; pymysql.MySQLError."""
    with connection.cursor() as cursor:
        cursor.execute(FACTS)
        version, database, is_on, encoding, collation = fetched(cursor)[0]
        told_version = told(version)
        if told_version is None or not since(of(told_version[0]).samples_from, told_version[1]):
            raise ServerError(
                f"{place.name}: {version} counts its statements without a text that could be run "
                f"(MySQL keeps one from 8.0 on): {SLOW_LOG}"
            )
        if not is_on:
            raise ServerError(
                f"{place.name}: performance_schema is off, so that no statement is counted: "
                f"set performance_schema = ON in my.cnf and restart it, or {SLOW_LOG}"
            )
        cursor.execute(DIGESTS)
        rows = fetched(cursor)
        cursor.execute(VARIABLES % ", ".join(["%s"] * len(SETTINGS)), SETTINGS)
        settings = dict(fetched(cursor))
    digits = DIGITS.match(version)
    statements = [counted_of(row) for row in rows if MARK not in (row[1] or "")]
    seen = [float(row[7]) for row in rows if row[7] is not None]
    return View(
        rows=statements,
        seconds=max(seen, default=None),
        version=digits[0] if digits else version,
        encoding=encoding,
        locale=collation,
        settings={name.lower(): value for name, value in settings.items() if value},
        database=database or busiest(statements),
        notes=notes_of(rows),
    )


def busiest(statements: Sequence[Counted]) -> str:
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


def counted_of(row: tuple[Any, ...]) -> Counted:
    """A row of the view."""
    database, text, digest, calls, wait, sent, affected, _ = row
    return Counted(
        text="" if text is None or text.endswith(CUT) else text,
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
