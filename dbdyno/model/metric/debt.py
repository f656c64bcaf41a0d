"""Rows of the table of metrics: what is written, what is left to do, and the idle machine."""

from dbdyno.model.metric import row
from dbdyno.model.metric.row import Metric

SECOND_S_MIN = 0.9
"""Two readings of the host that lie less apart are no second: the window's first and last ones."""

DEBT: tuple[Metric, ...] = (
    # --- Writes and debt ---
    row.own(
        "wpq", "1/operation", "lower", 4,
        """device writes per operation | write requests in the window, divided by operations in the
        window, whatever they count""",
    ),
    row.own(
        "wkbpq", "KiB/operation", "lower", 3,
        """bytes written per operation | bytes written in the window, divided by operations in the
        window; wKB/o in sysbench's published tables""",
    ),
    row.own(
        "wal_bytes_per_op", "bytes/operation", "lower", 1,
        """WAL per operation | how far the WAL's position, which every version has, moved from
        before the step to after it, divided by operations in the window. On MySQL and MariaDB, the
        log sequence number of InnoDB's redo log""",
    ),
    row.own(
        "wal_mib_per_min", "MiB/min", "neutral", 1,
        """WAL per minute | same, divided by the window's length""",
    ),
    row.own(
        "rmbps_max", "MiB/s", "neutral", 2,
        """greatest second of reads | most that the data device read between two readings of the
        host in the window that lie a second apart (at least 0.9 s), or over the whole window if
        that is more; without a separate log device""", over="largest",
    ),
    row.own(
        "wmbps_max", "MiB/s", "neutral", 2,
        """greatest second of writes | as rmbps_max, of bytes written""", over="largest",
    ),
    row.own(
        "rwmbps_max", "MiB/s", "neutral", 2,
        """greatest second of reads and writes | as rmbps_max, of bytes read and written in the same
        second""", over="largest",
    ),
    row.own(
        "read_share_of_device", "%", "neutral", 1,
        """reads by the device's ceiling | rmbps_max as a share of the most that the device reads:
        the canary's file, sequentially in pieces of 1 MiB, bypassing the page cache, on the idle
        machine; NA if no earlier step of the run has `device_gb`""", over="share",
    ),
    row.own(
        "write_share_of_device", "%", "neutral", 1,
        """writes by the device's ceiling | as read_share_of_device, of wmbps_max and the most that
        the device writes, including the sync at the file's end""", over="share",
    ),
    row.postgres(row.own(
        "fpi_per_op", "1/operation", "lower", 4,
        """full-page images per operation | difference of pg_stat_wal's full-page images from before
        the step to after it, divided by operations; NA before PostgreSQL 14""",
    )),
    row.postgres(row.own(
        "checkpoints", "count", "neutral", 0,
        """checkpoints | timed and requested ones from before the step to after it""", over="sum",
    )),
    row.postgres(row.own(
        "checkpoints_requested", "count", "neutral", 0,
        """requested checkpoints | checkpoints that the clock did not begin, but a CHECKPOINT, or as
        much log as max_wal_size allows""", over="sum",
    )),
    row.postgres(row.own(
        "checkpoint_overlap_s", "s", "neutral", 1,
        """checkpoint time | seconds of the window in which a checkpoint was running, from the
        server's log; NA if the log lacks the checkpoints that were counted, or is not seen""",
        over="sum",
    )),
    row.postgres(row.own(
        "autovacuum_runs", "count", "neutral", 0,
        """autovacuum runs | difference from before the step to after it, all tables""", over="sum",
    )),
    row.postgres(row.own(
        "dead_rows_after", "rows", "lower", 0,
        """dead rows | rows of all the workload's tables that no vacuum has removed yet after the
        step, as the statistics estimate them""", over="sum",
    )),
    row.own(
        "dirty_mb_open", "MiB", "neutral", 1,
        """unwritten data at the start | Dirty + Writeback of /proc/meminfo as the window opens""",
        over="sum",
    ),
    row.own(
        "dirty_mb_close", "MiB", "neutral", 1,
        """unwritten data at the end | Dirty + Writeback of /proc/meminfo as the window closes""",
        over="sum",
    ),
    # --- The same of InnoDB ---
    row.innodb(row.own(
        "binlog_bytes_per_op", "bytes/operation", "lower", 1,
        """binary log per operation | growth of the binary logs from before the step to after it,
        divided by operations; 0 if the binary log is off, NA if files of that time were purged""",
    )),
    row.innodb(row.own(
        "pages_written_per_op", "1/operation", "lower", 4,
        """pages written | Innodb_pages_written from before the step to after it, divided by
        operations: the page cleaners' writes, including changes of earlier steps""",
    )),
    row.innodb(row.own(
        "doublewrite_pages_per_op", "1/operation", "lower", 4,
        """pages written to the doublewrite buffer | Innodb_dblwr_pages_written, likewise; 0 if
        doublewrite is off""",
    )),
    row.innodb(row.own(
        "fsyncs_per_op", "1/operation", "lower", 4,
        """syncs of files | Innodb_data_fsyncs, likewise""",
    )),
    row.innodb(row.own(
        "log_fsyncs_per_op", "1/operation", "lower", 4,
        """syncs of the redo log | Innodb_os_log_fsyncs, likewise; NA on MariaDB from 10.8 on, which
        does not count them""",
    )),
    row.innodb(row.own(
        "history_after", "transactions", "lower", 0,
        """transactions to purge | length of the history list after the step: undo logs of committed
        transactions that purge has not reached, and with them rows marked as deleted""",
        over="sum",
    )),
    # --- The idle machine ---
    row.own(
        "canary_cpu_us", "µs", "neutral", 0,
        """canary: CPU | a fixed loop of arithmetic on the idle machine, mean of before and after
        the step""",
    ),
    row.own(
        "canary_memory_ns", "ns", "neutral", 1,
        """canary: memory | a dependent load in 64 MiB on the idle machine, mean of before and after
        the step""",
    ),
    row.own(
        "canary_fsync_us", "µs", "neutral", 0,
        """canary: fsync | median of 50 synced appends of 8 KiB to the data device on the idle
        machine, mean of before and after the step""",
    ),
)  # fmt: skip
