"""How PostgreSQL's sessions are counted, and what they ask around a window."""

from dbdyno.engine.counting import Background, CountMethod

FLUSH = "SELECT pg_stat_force_next_flush()"
"""What the session did stands in the shared counters when this statement has ended."""
PAGES = """,
    ('pages_asked', pg_stat_get_db_blocks_fetched(oid)::numeric),
    ('pages_read', (pg_stat_get_db_blocks_fetched(oid) - pg_stat_get_db_blocks_hit(oid))::numeric)
"""
POSITION = "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
POSITION_BEFORE_10 = "pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')"


def counters(version_num: int) -> tuple[str, ...]:
    """What a session asks: the log's position, from 15 on also the pages of its database.

    Before 15 a session's pages stand in the counters only some time later.
    """
    flushes = version_num >= 150000
    position = POSITION if version_num >= 100000 else POSITION_BEFORE_10
    query = (
        f"SELECT counter.* FROM pg_database, LATERAL (VALUES ('log_bytes', {position})"
        f"{PAGES if flushes else ''}) AS counter (name, value) WHERE datname = current_database()"
    )
    return (FLUSH, query) if flushes else (query,)


BACKGROUND = Background(
    function="ProcessConfigFile",
    kinds={
        "CheckpointerMain": "checkpointer",
        "BackgroundWriterMain": "background writer",
        "WalWriterMain": "WAL writer",
        "AutoVacLauncherMain": "autovacuum launcher",
        "AutoVacWorkerMain": "autovacuum worker",
        "IoWorkerMain": "I/O worker",
        "PgArchiverMain": "archiver",
        "WalSummarizerMain": "WAL summarizer",
        "PgstatCollectorMain": "statistics collector",
    },
)
"""As far as a build names them: a package has no name of functions that no other file calls."""

LEFT_OUT = ("secure_read", "pgstat_report_stat", "get_tabstat_entry", "AdvanceXLInsertBuffer")
"""What depends on time. Before 15 a report of statistics, at most one each 500 ms, empties a table
that the next statement fills again (get_tabstat_entry): 8,000 instructions, and the more reports
in a window the slower the host."""
COUNTING = CountMethod(
    mark="SELECT pg_backend_pid()",
    function="pg_backend_pid",
    left_out=LEFT_OUT,
    settings={"autovacuum": "off"},
    refused={"io_method": "io_uring", "huge_pages": "on"},
    unlimited=(
        "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN ('statement_timeout', "
        "'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')",
    ),
    timeouts={
        "statement_timeout": 1e-3,
        "lock_timeout": 1e-3,
        "transaction_timeout": 1e-3,
        "idle_in_transaction_session_timeout": 1e-3,
        "authentication_timeout": 1.0,
    },
    start_s=7.0,
    threads=False,
    counters=counters,
    log_bytes="log_bytes",
    pages_asked="pages_asked",
    pages_read="pages_read",
    dirties=("MarkBufferDirty", "MarkBufferDirtyHint"),
    worker="ParallelWorkerMain",
    background=BACKGROUND,
)
