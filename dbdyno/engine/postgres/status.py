"""A PostgreSQL's own state during a window, and that of its indexes at a run's end."""

import time
from collections.abc import Sequence

from dbdyno.engine.interface import Executor
from dbdyno.engine.postgres.connection import connect, limited
from dbdyno.engine.status import APPLICATION, STATEMENT_S_MAX, Status
from dbdyno.engine.wait_sampler import said
from dbdyno.model import Address
from dbdyno.model.error import ServerError
from dbdyno.model.server_status import IndexState, IndexStatistics

QUESTIONS = {
    "wal": "SELECT count(*) AS files, coalesce(sum(size), 0)::bigint AS bytes FROM pg_ls_waldir()",
    "activity": "SELECT pid, backend_type, state, wait_event_type, wait_event, xact_start, "
    "query_start, left(query, 200) AS query FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() ORDER BY backend_type, pid",
}
INDEXES_S_MAX = 4 * 3600.0
"""For reading all pages of all indexes."""
INDEXES = """
    SELECT index.indexrelid::regclass::text, {columns}
    FROM pg_index AS index JOIN pg_class AS class ON class.oid = index.indexrelid
    JOIN pg_am AS method ON method.oid = class.relam, LATERAL pgstatindex(class.oid::regclass)
    WHERE index.indrelid IN (SELECT to_regclass(name) FROM unnest(ARRAY[{tables}]) AS name)
      AND method.amname = 'btree' AND class.relkind = 'i' AND index.indisvalid
    ORDER BY index.indrelid, index.indexrelid
"""
THERE = "SELECT 1 FROM pg_available_extensions WHERE name = 'pgstattuple'"


def connected(address: Address) -> Status:
    """The questions, connected. Raises ServerError."""
    import psycopg

    try:
        connection = connect(address, APPLICATION, limited(STATEMENT_S_MAX))
    except psycopg.Error as error:
        raise ServerError(f"database `{address.database}`: {said(error)}") from error
    return Status(connection, QUESTIONS, connection.info.backend_pid, (psycopg.Error,))


def indexes(execute: Executor, tables: Sequence[str]) -> IndexStatistics:
    """pgstatindex of each B-tree of these tables and their partitions. Raises ServerError."""
    begun_s = time.monotonic()
    if not execute(THERE):
        return IndexStatistics(
            unavailable="this server comes without the extension pgstattuple, which has "
            "pgstatindex: take another build (`dyno server build --help`), or drop "
            "`observe.indexes`"
        )
    names = ", ".join(f"'{table}'" for table in tables)
    sql = INDEXES.format(columns=", ".join(IndexState.__struct_fields__), tables=names)
    rows = execute("CREATE EXTENSION IF NOT EXISTS pgstattuple", sql, limit_s=INDEXES_S_MAX)
    by_name = {
        str(name): IndexState(**dict(zip(IndexState.__struct_fields__, figures, strict=True)))
        for name, *figures in rows
    }
    return IndexStatistics(indexes=by_name, took_s=time.monotonic() - begun_s)
