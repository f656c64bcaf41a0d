"""The metrics of the server's own counters: pages of its cache, InnoDB, the binary log."""

from typing import Literal

from dbdyno.evidence import raw_files
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import per, scaled
from dbdyno.model.snapshot import Binlog, Snapshot, number

How = Literal["hit", "read"]
"""Found in the server's own cache, or taken from outside of it."""
US_PER_MS = 1000.0
BY_OPERATION = {
    "pool_read_per_op": ("innodb_buffer_pool_reads",),
    "rows_read_per_op": ("innodb_rows_read", "rows_read"),
    "pages_written_per_op": ("innodb_pages_written",),
    "doublewrite_pages_per_op": ("innodb_dblwr_pages_written",),
    "fsyncs_per_op": ("innodb_data_fsyncs",),
    "log_fsyncs_per_op": ("innodb_os_log_fsyncs",),
}
"""Metrics that are a counter of the status by operations: the first name that the server has."""


PARTS = ("heap_blks", "idx_blks", "toast_blks", "tidx_blks")
"""The columns of pg_statio_all_tables: a table, its indexes, its TOAST, the index of that."""


def metrics(evidence: Evidence) -> dict[str, float | None]:
    """Pages by second and by operation, and all that is InnoDB's."""
    seconds = evidence.load.seconds
    if seconds is not None:
        seconds += evidence.job.stop.warmup_s  # as the counters include it
    of_server = pool_pages if evidence.servers == "InnoDB" else table_pages
    return {
        "blocks_read_ps": per(of_server(evidence, "read"), seconds),
        "blocks_hit_ps": per(of_server(evidence, "hit"), seconds),
        "buffers_hit_per_op": per(table_pages(evidence, "hit"), evidence.operations),
        "buffers_read_per_op": per(table_pages(evidence, "read"), evidence.operations),
        **innodb(evidence),
    }


def innodb(evidence: Evidence) -> dict[str, float | None]:
    """The metrics of InnoDB's own counters; None where the server does not have one."""
    operations = evidence.operations
    before, after = evidence.before or Snapshot(), evidence.after or Snapshot()
    lock_us = scaled(_moved(evidence, "innodb_row_lock_time"), US_PER_MS)
    return {
        **{name: per(_moved(evidence, *keys), operations) for name, keys in BY_OPERATION.items()},
        "pool_hit_per_op": per(pool_pages(evidence, "hit"), operations),
        "row_lock_us_per_op": per(lock_us, operations),
        "binlog_bytes_per_op": per(binlog_bytes(before.binlog, after.binlog), operations),
        "history_after": number(after.purge, "history"),
    }


def pool_pages(evidence: Evidence, how: How) -> float | None:
    """Pages of the whole server that were found in the buffer pool, or not, in the step."""
    reads = _moved(evidence, "innodb_buffer_pool_reads")
    if how == "read" or reads is None:
        return reads
    requests = _moved(evidence, "innodb_buffer_pool_read_requests")
    return None if requests is None else max(requests - reads, 0.0)


def _moved(evidence: Evidence, *names: str) -> float | None:
    """How far a counter of the status moved; None where the server has none of these names."""
    before, after = evidence.before or Snapshot(), evidence.after or Snapshot()
    moved = (
        raw_files.moved(number(before.status, name), number(after.status, name))
        for name in names
        if number(after.status, name) is not None
    )
    return next(moved, None)


def binlog_bytes(first: Binlog | None, last: Binlog | None) -> float | None:
    """Bytes that the binary logs took up between two snapshots; 0 where they are off.

    What was written: the rest of the file that was written to at first, and all of the files that
    came after it. None where one of these was purged, or the log began anew.
    """
    if first is None or last is None or first.enabled != last.enabled:
        return None
    if not last.enabled:
        return 0.0
    begun, ended, files = first.file, last.file, last.files
    began_at, ended_at = first.position_bytes, last.position_bytes
    if begun is None or ended is None or began_at is None or ended_at is None:
        return None
    if begun == ended:
        return None if ended_at < began_at else float(ended_at - began_at)
    if begun not in files or files[begun] < began_at or ended < begun:
        return None
    whole = (size for name, size in files.items() if begun < name < ended)
    return float(files[begun] - began_at + sum(whole) + ended_at)


def table_pages(evidence: Evidence, how: How) -> float | None:
    """Pages of the step's tables and indexes that were asked for, and found so, in the step.

    A table that the step made had no counters before it.
    """
    before, after = evidence.before, evidence.after
    if before is None or after is None or before.tables is None:
        return None
    return raw_files.plus(
        raw_files.moved(
            number(before.tables[name], column) if name in before.tables else 0.0,
            number(now, column),
        )
        for name, now in (after.tables or {}).items()
        for column in (f"{part}_{how}" for part in PARTS)
    )
