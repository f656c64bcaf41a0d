"""Dyno's own sessions on a PostgreSQL: no variable, and no setting of a server, a database or a
role, changes which server they reach or how they read.

The settings are made in place, once connected: a pooler such as PgBouncer takes no `options` at
the start. Behind one a session is the server's for a transaction only, and what is set there stays
for the next client; so each statement has a transaction of its own, and settings that end with it.
"""

import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Self, TypeVar

import psycopg
from psycopg import pq, sql
from psycopg.rows import tuple_row

Row = TypeVar("Row")
NO_FILE = "/nonexistent"
"""Keeps libpq from a file in the user's home."""
REACHED: Mapping[str, Any] = {
    "passfile": NO_FILE,
    "target_session_attrs": "any",
    "load_balance_hosts": "disable",
    "client_encoding": "UTF8",
}
"""Parameters that psycopg itself would take from the environment, and the place of passwords."""
VARIABLES = ("PGSERVICEFILE", "PGSYSCONFDIR", "PGDATESTYLE", "PGTZ", "PGGEQO")
"""Variables of libpq that belong to none of its parameters."""
SETTINGS = {
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "3",
    "standard_conforming_strings": "on",
    "quote_all_identifiers": "off",
    "transform_null_equals": "off",
    "row_security": "on",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "transaction_timeout": "0",
    "idle_session_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "log_min_messages": "log",
}
"""What dyno's own sessions read by; those that a version lacks are passed over. Their errors are no
errors of the server that its log counts, where their user may keep them out of it."""
PIN = """
SELECT pg_catalog.set_config(held.name, CASE
    WHEN held.name OPERATOR(pg_catalog.<>) 'search_path' THEN pinned.value
    -- The catalog first, then what the user has: there lie the tables that are measured.
    WHEN 'pg_catalog' OPERATOR(pg_catalog.=) ANY (pg_catalog.current_schemas(false))
    THEN pg_catalog.array_to_string(ARRAY(
        SELECT pg_catalog.quote_ident(place::text)
        FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) AS place
        WHERE place OPERATOR(pg_catalog.<>) 'pg_catalog'), ', ')
    ELSE held.setting END, pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.<>) {pid}),
    pg_catalog.pg_backend_pid()
FROM (VALUES {pins}, ('search_path', '')) AS pinned (name, value)
JOIN pg_catalog.pg_settings AS held ON held.name OPERATOR(pg_catalog.=) pinned.name
WHERE held.context OPERATOR(pg_catalog.<>) 'superuser'
   OR pg_catalog.current_setting('is_superuser') OPERATOR(pg_catalog.=) 'on'
"""
"""Sets all, until the transaction's end where the server's process is another than was told at the
start: a pooler's own number."""
STAYING = re.compile(r"\s*(?:SET|RESET|SELECT set_config)\b")
"""Statements of dyno's own that hold for those after them."""


def hide_environment() -> None:
    """Hides from libpq the variables that it reads; Python's mapping of them, for others, stays."""
    known = [option.envvar.decode() for option in pq.Conninfo.get_defaults() if option.envvar]
    for name in (*known, *VARIABLES):
        if name in os.environ:
            os.unsetenv(name)


class PooledCursor(psycopg.Cursor[Row]):
    """Runs each statement in a transaction of its own, under settings that end with it."""

    def __init__(self, connection: psycopg.Connection[Any], settings: list[Any], **more: Any):
        super().__init__(connection, **more)
        self._settings = settings  # statements; the first is the pins'

    def execute(self, query: Any, params: Any = None, **more: Any) -> Self:
        """As psycopg's; never prepared, as the next transaction may meet another process."""
        more["prepare"] = False
        text = query.decode() if isinstance(query, bytes) else str(query)
        try:
            with self.connection.transaction():
                for setting in self._settings:
                    super().execute(setting, prepare=False)
                super().execute(query, params, **more)
                if STAYING.match(text):
                    self._settings.append(query)
                if len(self._settings) > 1:
                    self.connection.pgconn.exec_(b"RESET ALL")
        except psycopg.errors.ActiveSqlTransaction:  # such as VACUUM
            super().execute(query, params, **more)
        return self


def pin(connection: psycopg.Connection[Any], more: Mapping[str, str]) -> None:
    """Pins an open connection; `more`: settings beside SETTINGS. Raises psycopg.Error."""
    pid = connection.info.backend_pid
    pins = sql.SQL(", ").join(
        sql.SQL("({}, {})").format(name, value) for name, value in {**SETTINGS, **more}.items()
    )
    query = sql.SQL(PIN).format(pid=pid, pins=pins)
    rows = psycopg.Cursor(connection, row_factory=tuple_row).execute(query).fetchall()
    if rows[0][1] != pid:
        connection.cursor_factory = partial(PooledCursor, settings=[query])  # type: ignore[assignment]


def is_pooled(connection: psycopg.Connection[Any]) -> bool:
    """Whether a pooler stands before the server."""
    return isinstance(connection.cursor_factory, partial)
