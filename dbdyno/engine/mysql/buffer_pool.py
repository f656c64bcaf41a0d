"""InnoDB's buffer pool: warmed after a start, and its dirty pages written.

Scans of all indexes warm a server that was just started with data. A table is its primary key's
index, so there is no scan of tables beside those of indexes. Pages that were read longest ago leave
the pool first: where all does not fit, the indexes that come last stay.
"""

import time

from dbdyno.engine.interface import WARM_S_MAX, Executor
from dbdyno.engine.mysql.quoting import named
from dbdyno.model.error import ServerError
from dbdyno.model.step_files import CacheWarming

INDEXES = """
SELECT s.TABLE_NAME, s.INDEX_NAME, MAX(s.INDEX_TYPE)
FROM information_schema.STATISTICS s
JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME)
WHERE s.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE'
GROUP BY s.TABLE_NAME, s.INDEX_NAME
ORDER BY s.INDEX_NAME <> 'PRIMARY', s.TABLE_NAME, s.INDEX_NAME"""
WITHOUT_INDEX = """
SELECT t.TABLE_NAME FROM information_schema.TABLES t
LEFT JOIN information_schema.STATISTICS s USING (TABLE_SCHEMA, TABLE_NAME)
WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE' AND s.INDEX_NAME IS NULL
ORDER BY t.TABLE_NAME"""
SIZES = """
SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'"""
READABLE = "BTREE"
"""Full-text and spatial indexes cannot be read from end to end."""
ALLOWED = r"SHOW GLOBAL VARIABLES LIKE 'innodb\_max\_dirty\_pages\_pct%'"
"""The shares of dirty pages that InnoDB allows itself, the upper mark first; 5.5 has no other."""
DIRTY = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'"
DIRTY_PAGES_MAX = 64
"""So many may stay: InnoDB's own background work dirties a few all the time."""
LOOK_EVERY_S = 0.1
STATEMENT_S_MAX = 60.0


def warm(execute: Executor) -> CacheWarming:
    """Reads every index of every table of the database.

    `bytes` are InnoDB's own estimate. Raises ServerError.
    """
    begun_s = time.monotonic()
    left_out = []
    heaps = [str(table) for (table,) in execute(WITHOUT_INDEX, limit_s=WARM_S_MAX)]
    indexes = execute(INDEXES, limit_s=WARM_S_MAX)
    for table in heaps:
        execute(f"SELECT COUNT(*) FROM {named(table)}", limit_s=WARM_S_MAX)
    for table, index, kind in indexes:
        if kind != READABLE:
            left_out.append(f"{table}.{index}")
            continue
        execute(scan(str(table), str(index)), limit_s=WARM_S_MAX)
    ((size,),) = execute(SIZES, limit_s=WARM_S_MAX)
    return CacheWarming(
        how="scan",
        seconds=time.monotonic() - begun_s,
        relations=len(heaps) + len(indexes) - len(left_out),
        bytes=int(size),
        left_out=left_out,
    )


def scan(table: str, index: str) -> str:
    """The statement that reads one index from end to end.

    A bare COUNT(*) would be answered by several threads at once from the primary key in MySQL 8.
    """
    return (
        f"SELECT COUNT(*) FROM (SELECT 1 FROM {named(table)} FORCE INDEX ({named(index)}) "
        "LIMIT 18446744073709551615) AS ordered"
    )


# --- Its dirty pages -------------------------------------------------------------------------


def write_all(execute: Executor, limit_s: float) -> None:
    """Waits until all but a few pages are written, as PostgreSQL's CHECKPOINT does.

    There is no statement for it: the share of dirty pages that InnoDB allows itself is set to
    nothing for as long as it takes, and then back to what it was. The checkpoint in the redo log
    follows. Raises ServerError after `limit_s` seconds.
    """
    before = {str(name): str(share) for name, share in execute(ALLOWED, limit_s=STATEMENT_S_MAX)}
    end_s = time.monotonic() + limit_s
    # The lower mark first: it may not lie above the other.
    allow(execute, dict.fromkeys(sorted(before, reverse=True), "0"))
    try:
        while (dirty := dirty_pages(execute)) > DIRTY_PAGES_MAX:
            if time.monotonic() > end_s:
                raise ServerError(f"{dirty} pages are still dirty after {limit_s:.0f} s")
            time.sleep(LOOK_EVERY_S)
    finally:
        allow(execute, dict(sorted(before.items())))


def allow(execute: Executor, shares: dict[str, str]) -> None:
    """Sets the shares of dirty pages, in percent."""
    statements = [f"SET GLOBAL {name} = {share}" for name, share in shares.items()]
    execute(*statements, limit_s=STATEMENT_S_MAX)


def dirty_pages(execute: Executor) -> int:
    """The pages of the buffer pool that are not written yet."""
    ((_, pages),) = execute(DIRTY, limit_s=STATEMENT_S_MAX)
    return int(pages)
