"""Reads PostgreSQL's cumulative statistics, whichever views the version keeps them in."""

from collections.abc import Sequence

from dbdyno.engine.postgres.probe import debt
from dbdyno.engine.postgres.probe.reader import PostgresProbe
from dbdyno.engine.snapshot import Row, UnavailableError
from dbdyno.model import Json

IDENTITY = ("relid", "indexrelid", "schemaname", "relname", "indexrelname", "datid", "datname")
"""Columns that say what a row is about; the result has it under its name already."""

WAL_COLUMNS = {
    "records": "wal_records",
    "full_page_images": "wal_fpi",
    "bytes": "wal_bytes",
    "buffers_full": "wal_buffers_full",
}
IO_BYTES = {"read_bytes": "reads", "write_bytes": "writes", "extend_bytes": "extends"}
"""Columns of pg_stat_io from 18 on; in 16 and 17 they are a count times `op_bytes`."""

BUFFERS_LISTED_MAX = 1 << 20
"""8 GiB in pages of 8 KiB: to list them takes 0.3 s, and 64 MiB of the server's memory."""
BUFFERS_SUMMARY = """
SELECT buffers_used AS used, buffers_unused AS unused, buffers_dirty AS dirty,
       buffers_pinned AS pinned, usagecount_avg AS usage_average
FROM pg_buffercache_summary()
"""
BUFFERS_LIST = """
SELECT count(relfilenode) AS used, count(*) - count(relfilenode) AS unused,
       count(*) FILTER (WHERE isdirty) AS dirty,
       count(*) FILTER (WHERE pinning_backends > 0) AS pinned,
       avg(usagecount)::float8 AS usage_average
FROM pg_buffercache
"""


def counters(reader: PostgresProbe) -> Json:
    """The server's counters, by part; a part that it does not have is None."""
    return {
        "wal": reader.part("wal", wal),
        "checkpoints": reader.part("checkpoints", checkpoints),
        "background_writer": reader.part("background_writer", background_writer),
        "database": reader.part("database", database),
        "io": reader.part("io", io),
        "autovacuum_runs": reader.part("autovacuum_runs", autovacuum_runs),
    }


def position_bytes(reader: PostgresProbe) -> int:
    """Bytes of write-ahead log ever generated: where the next record goes.

    The insert position, not the written one: that is behind by what is still in the buffers.
    """
    if reader.version_num >= 100000:
        sql = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bytes"
    else:
        sql = "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0') AS bytes"
    return int(reader.row(sql)["bytes"])


def wal(reader: PostgresProbe) -> Json:
    """The write-ahead log: its position, since the last checkpoint, from 14 on its contents."""
    position = reader.part("wal.position_bytes", position_bytes)
    last = reader.part("wal.since_checkpoint_bytes", debt.last_checkpoint) or {}
    redo = last.get("redo_bytes")
    found: Json = {
        "position_bytes": position,
        "since_checkpoint_bytes": None if position is None or redo is None else position - redo,
        "since_checkpoint_s": last.get("seconds"),
    }
    if reader.version_num < 140000:
        return found | reader.lack("wal", tuple(WAL_COLUMNS), "has no pg_stat_wal")
    row = reader.row("SELECT * FROM pg_stat_wal")
    return found | {key: row[column] for key, column in WAL_COLUMNS.items()}


def checkpoints(reader: PostgresProbe) -> Json:
    """Checkpoints and what they wrote."""
    if reader.version_num >= 170000:
        row = reader.row("SELECT * FROM pg_stat_checkpointer")
        names = ("num_timed", "num_requested", "buffers_written")
    else:
        row = reader.row("SELECT *, checkpoint_write_time AS write_time, "
                         "checkpoint_sync_time AS sync_time FROM pg_stat_bgwriter")  # fmt: skip
        names = ("checkpoints_timed", "checkpoints_req", "buffers_checkpoint")
    timed, requested, buffers = names
    found = {
        "timed": row[timed],
        "requested": row[requested],
        "write_ms": row["write_time"],
        "sync_ms": row["sync_time"],
        "buffers": row[buffers],
    }
    if reader.version_num < 180000:
        return found | reader.lack("checkpoints", ("done",), "counts skipped checkpoints, too")
    return found | {"done": row["num_done"]}


def background_writer(reader: PostgresProbe) -> Json:
    """The background writer, and to 16 what backends had to write themselves."""
    row = reader.row("SELECT * FROM pg_stat_bgwriter")
    keys = ("buffers_clean", "maxwritten_clean", "buffers_alloc")
    backends = ("buffers_backend", "buffers_backend_fsync")
    found = {key: row[key] for key in keys}
    if reader.version_num >= 170000:
        return found | reader.lack("background_writer", backends, "has this in pg_stat_io")
    return found | {key: row[key] for key in backends}


def database(reader: PostgresProbe) -> Json:
    """The row of pg_stat_database of the database we are in."""
    return without_identity(
        reader.row("SELECT * FROM pg_stat_database WHERE datname = current_database()")
    )


def io(reader: PostgresProbe) -> list[Json]:
    """The rows of pg_stat_io in which anything happened; bytes of all versions alike."""
    reader.need(160000, "pg_stat_io")
    rows = reader.rows("SELECT * FROM pg_stat_io")
    return [io_row(row) for row in rows if happened(row)]


def io_row(row: Row) -> Json:
    """One row, with bytes where the version has only counts and the size of an operation."""
    size = row.pop("op_bytes", None)
    if size is not None:
        for key, count in IO_BYTES.items():
            row[key] = None if row[count] is None else row[count] * size
    return row


def happened(row: Row) -> bool:
    """Whether a row of pg_stat_io has any number but 0 besides the size of an operation."""
    return any(
        value for key, value in row.items() if key != "op_bytes" and isinstance(value, int | float)
    )


def tables(reader: PostgresProbe, names: Sequence[str]) -> Json:
    """Statistics, sizes and the planner's view of each table by its name.

    `pages`, `tuples` and `all_visible_pages` are as of the last VACUUM or ANALYZE.
    """
    rows = reader.rows(
        """
        SELECT wanted.name AS wanted, input.*, counted.*,
               class.relpages AS pages, class.reltuples AS tuples,
               class.relallvisible AS all_visible_pages, age(class.relfrozenxid) AS frozen_age,
               pg_relation_size(class.oid) AS heap_bytes, pg_indexes_size(class.oid) AS index_bytes,
               pg_total_relation_size(class.oid) AS total_bytes
        FROM unnest(%s::text[]) WITH ORDINALITY AS wanted (name, place)
        JOIN pg_class AS class ON class.oid = to_regclass(wanted.name)
        JOIN pg_stat_all_tables AS counted ON counted.relid = class.oid
        JOIN pg_statio_all_tables AS input ON input.relid = class.oid
        ORDER BY wanted.place
        """,
        [list(names)],
    )
    return {row.pop("wanted"): without_identity(row) for row in rows}


def indexes(reader: PostgresProbe, names: Sequence[str]) -> Json:
    """Statistics and size of each index of these tables, by the index's name."""
    rows = reader.rows(
        """
        SELECT input.*, counted.*, pg_relation_size(counted.indexrelid) AS bytes
        FROM pg_stat_all_indexes AS counted
        JOIN pg_statio_all_indexes AS input ON input.indexrelid = counted.indexrelid
        WHERE counted.relid IN (SELECT to_regclass(name) FROM unnest(%s::text[]) AS name)
        ORDER BY counted.indexrelid
        """,
        [list(names)],
    )
    return {row["indexrelname"]: {"table": row["relname"], **without_identity(row)} for row in rows}


def autovacuum_runs(reader: PostgresProbe) -> int:
    """How often autovacuum has vacuumed a table of this database that is not the system's."""
    sql = "SELECT coalesce(sum(autovacuum_count), 0) AS runs FROM pg_stat_user_tables"
    return int(reader.row(sql)["runs"])


def buffers(reader: PostgresProbe) -> Json:
    """The content of the buffer pool, by pg_buffercache.

    From 16 on its summary, which takes no locks. Before there is only a list of all buffers: it is
    asked for up to BUFFERS_LISTED_MAX of them.
    """
    row = reader.row(
        "SELECT setting::bigint AS buffers, current_setting('block_size')::bigint AS size_bytes "
        "FROM pg_settings WHERE name = 'shared_buffers'"
    )
    if reader.version_num < 160000 and row["buffers"] > BUFFERS_LISTED_MAX:
        raise UnavailableError(
            f"{reader.product} has no pg_buffercache_summary, and a list of "
            f"{row['buffers']:,} buffers is too long: more than {BUFFERS_LISTED_MAX:,}"
        )
    reader.extend("pg_buffercache")
    found = reader.row(BUFFERS_SUMMARY if reader.version_num >= 160000 else BUFFERS_LIST)
    return found | {"dirty_bytes": found["dirty"] * row["size_bytes"]}


def flush(reader: PostgresProbe) -> None:
    """Makes what this connection has done so far count now, and not within the next difference."""
    reader.need(150000, "pg_stat_force_next_flush")
    reader.rows("SELECT pg_stat_force_next_flush()")


def without_identity(row: Row) -> Json:
    """The row without the columns that say what it is about."""
    return {key: value for key, value in row.items() if key not in IDENTITY}
