"""Warms InnoDB's buffer pool of a server that was just started with data, by scans of all indexes.

A table is its primary key's index, so there is no scan of tables beside those of indexes. What was
read longest ago leaves the pool first: where all does not fit, the indexes that come last stay.
"""

from __future__ import annotations

import time

from dbdyno.engine.interface import WARM_S_MAX, Execute
from dbdyno.model import Json

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


def warm(execute: Execute) -> Json:
    """Reads every index of every table of the database; returns `warm` of done.json.

    `bytes` are InnoDB's own estimate. Raises ServerError.
    """
    begun_s = time.monotonic()
    left_out = []
    heaps = [str(table) for (table,) in execute(WITHOUT_INDEX, limit_s=WARM_S_MAX)]
    indexes = execute(INDEXES, limit_s=WARM_S_MAX)
    for table in heaps:
        execute(f"SELECT COUNT(*) FROM {quoted(table)}", limit_s=WARM_S_MAX)
    for table, index, kind in indexes:
        if kind != READABLE:
            left_out.append(f"{table}.{index}")
            continue
        execute(scan(str(table), str(index)), limit_s=WARM_S_MAX)
    ((size,),) = execute(SIZES, limit_s=WARM_S_MAX)
    return {
        "how": "scan",
        "seconds": time.monotonic() - begun_s,
        "relations": len(heaps) + len(indexes) - len(left_out),
        "bytes": int(size),
        "left_out": left_out,
    }


def scan(table: str, index: str) -> str:
    """The statement that reads one index from end to end.

    A bare COUNT(*) would be answered by several threads at once from the primary key in MySQL 8.
    """
    return (
        f"SELECT COUNT(*) FROM (SELECT 1 FROM {quoted(table)} FORCE INDEX ({quoted(index)}) "
        "LIMIT 18446744073709551615) AS ordered"
    )


def quoted(name: str) -> str:
    """A name as an identifier."""
    return "`" + name.replace("`", "``") + "`"
