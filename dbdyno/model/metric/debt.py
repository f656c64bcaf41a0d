"""Rows of the table of metrics: what is written, what is left to do, and the idle machine."""

from __future__ import annotations

from dbdyno.model.metric import row
from dbdyno.model.metric.row import Metric

DEBT: tuple[Metric, ...] = (
    # --- Writes and debt ---
    row.own(
        "wpq", "1/operation", "lower", 4,
        """device writes per operation | write requests in the window by operations in the window,
        whatever they count""",
    ),
    row.own(
        "wkbpq", "KiB/operation", "lower", 3,
        """bytes written per operation | bytes written in the window by operations in the window;
        wKB/o in sysbench's published tables""",
    ),
    row.own(
        "wal_bytes_per_op", "bytes/operation", "lower", 1,
        """WAL per operation | how far the WAL's position moved from before the step to after it, by
        operations in the window; the position is what every version has. Of MySQL and MariaDB the
        log sequence number of InnoDB's redo log""",
    ),
    row.own(
        "wal_mib_per_min", "MiB/min", "neutral", 1,
        """WAL per minute | the same by the window's length""",
    ),
    row.own(
        "wal_disk_wps", "1/s", "neutral", 1,
        """writes to the log's device | write requests in the window by its length, of the device
        under the log; NA where that is the data's, whose writes are wps""",
    ),
    row.own(
        "wal_disk_wmbps", "MiB/s", "neutral", 2,
        """bytes written to the log's device | as wal_disk_wps, of bytes written""",
    ),
    row.own(
        "rmbps_max", "MiB/s", "neutral", 2,
        """greatest second of reads | the most that the data device read between two readings of the
        host in the window that lie a second apart (0.9 s at least), or over the whole window, where
        that is more; without the log's device where that is another""",
    ),
    row.own(
        "wmbps_max", "MiB/s", "neutral", 2,
        """greatest second of writes | as rmbps_max, of bytes written""",
    ),
    row.own(
        "rwmbps_max", "MiB/s", "neutral", 2,
        """greatest second of reads and writes | as rmbps_max, of bytes read and written in the same
        second""",
    ),
    row.own(
        "read_share_of_device", "%", "neutral", 1,
        """reads by the device's ceiling | rmbps_max by what the device reads at most: the canary's
        file, one after the other in pieces of 1 MiB, past the page cache, on the idle machine; NA
        where no step of the run before has `device_gb`""",
    ),
    row.own(
        "write_share_of_device", "%", "neutral", 1,
        """writes by the device's ceiling | as read_share_of_device, of wmbps_max and what the
        device writes, the sync at the file's end included""",
    ),
    row.postgres(row.own(
        "fpi_per_op", "1/operation", "lower", 4,
        """full-page images per operation | difference of pg_stat_wal's full-page images from before
        the step to after it, by operations; NA before PostgreSQL 14""",
    )),
    row.postgres(row.own(
        "checkpoints", "count", "neutral", 0,
        """checkpoints | timed and requested ones from before the step to after it""",
    )),
    row.postgres(row.own(
        "checkpoints_requested", "count", "neutral", 0,
        """requested checkpoints | those of them that the clock did not begin: a CHECKPOINT did, or
        as much log as max_wal_size allows""",
    )),
    row.postgres(row.own(
        "checkpoint_overlap_s", "s", "neutral", 1,
        """checkpoint time | seconds of the window in which a checkpoint was running, from the
        server's log; NA where the log has none of the checkpoints that were counted""",
    )),
    row.postgres(row.own(
        "autovacuum_runs", "count", "neutral", 0,
        """autovacuum runs | difference from before the step to after it, all tables""",
    )),
    row.postgres(row.own(
        "dead_rows_after", "rows", "lower", 0,
        """dead rows | rows that no vacuum has removed yet after the step, all the workload's
        tables, as the statistics estimate them""",
    )),
    row.own(
        "dirty_mb_open", "MiB", "neutral", 1,
        """unwritten data at the start | Dirty + Writeback of /proc/meminfo as the window opens""",
    ),
    row.own(
        "dirty_mb_close", "MiB", "neutral", 1,
        """unwritten data at the end | Dirty + Writeback of /proc/meminfo as the window closes""",
    ),
    # --- The same of InnoDB ---
    row.innodb(row.own(
        "binlog_bytes_per_op", "bytes/operation", "lower", 1,
        """binary log per operation | how much longer the binary logs became from before the step to
        after it, by operations; 0 where it is off, NA where files of that time were purged""",
    )),
    row.innodb(row.own(
        "pages_written_per_op", "1/operation", "lower", 4,
        """pages written | Innodb_pages_written from before the step to after it, by operations:
        what the page cleaners wrote, also of what earlier steps had changed""",
    )),
    row.innodb(row.own(
        "doublewrite_pages_per_op", "1/operation", "lower", 4,
        """pages written to the doublewrite buffer | Innodb_dblwr_pages_written, likewise; 0 where
        it is off""",
    )),
    row.innodb(row.own(
        "fsyncs_per_op", "1/operation", "lower", 4,
        """syncs of files | Innodb_data_fsyncs, likewise""",
    )),
    row.innodb(row.own(
        "log_fsyncs_per_op", "1/operation", "lower", 4,
        """syncs of the redo log | Innodb_os_log_fsyncs, likewise; NA of MariaDB from 10.8 on, which
        does not count them""",
    )),
    row.innodb(row.own(
        "history_after", "transactions", "lower", 0,
        """transactions to purge | the history list's length after the step: undo logs of committed
        transactions that purge has not come to, and with them rows marked as deleted""",
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
