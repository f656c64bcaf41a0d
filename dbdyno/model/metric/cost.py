"""Rows of the table of metrics: what an operation costs, by owner, and where its time goes."""

from dbdyno.model.metric import row
from dbdyno.model.metric.row import Metric

COST: tuple[Metric, ...] = (
    # --- Costs with owners ---
    row.own(
        "cpu_per_op", "µs/operation", "lower", 2,
        """CPU per operation | CPU time in the window of the sessions of the headline's role and
        their helpers, divided by operations. Helpers are the parallel workers that these sessions
        led, and the I/O workers (PostgreSQL 18; on MySQL the threads that read ahead, read in
        parallel and build indexes), which serve all roles and count in full. Processes that ended
        before a reading identified their owner are left out; over 1 % of the server's CPU, that is
        a doubt, and over 10 % there is no figure""",
    ),
    row.own(
        "server_cpu_per_op", "µs/operation", "lower", 2,
        """CPU of the operation itself | same without helpers: the server processes that serve the
        headline's role (schedstat of exactly those processes; on MySQL and MariaDB of the threads);
        the part of connection_us_per_op on a core""", over="sum",
    ),
    row.own(
        "connections_cpu_per_op", "µs/operation", "lower", 2,
        """CPU of all connections | CPU time in the window of all server connections except dyno's
        own, including ended ones and parallel workers, divided by operations. Primary in place of
        cpu_per_op if a program makes the load and does not say which sessions are its own;
        otherwise NA""",
    ),
    row.own(
        "whole_server_cpu_per_op", "µs/operation", "lower", 2,
        """CPU of the whole server | CPU time in the window of all of the server's owners, divided
        by operations; a doubt if it differs from cpu_per_op by more than the margin""",
        over="sum",
    ),
    row.own(
        "insert_cpu_per_row", "µs/row", "lower", 2,
        """CPU of a row inserted | CPU time in the window of the server processes of all insert
        roles, divided by rows inserted""",
    ),
    row.own(
        "delete_cpu_per_row", "µs/row", "lower", 2,
        """CPU of a row deleted | CPU time in the window of the server processes of all delete
        roles, divided by rows deleted""",
    ),
    row.own(
        "background_cpu_per_op", "µs/operation", "lower", 2,
        """CPU of the server's background | CPU time in the window of the server's own processes
        (checkpointer, writers, autovacuum …; on MySQL and MariaDB the threads that serve no
        connection), including ended ones, without what cpu_per_op counts, divided by operations""",
        over="sum",
    ),
    row.own(
        "idle_cpu_per_op", "µs/operation", "lower", 2,
        """CPU of idle work | CPU time of the server's processes, its standbys' included, from each
        end of the arm's turns in the window until its generator is told to resume, divided by
        operations of the window. No part of the window's costs. With more arms the server waits
        longer for each operation. NA without turns, and in older results""", over="sum",
    ),
    row.own(
        "idle_write_kib_per_op", "KiB/operation", "lower", 3,
        """bytes written by idle work | same for bytes that these processes gave the system to
        write""", over="sum",
    ),
    row.own(
        "idle_cpu_share", "%", "lower", 2,
        """idle work, of a core | same CPU time as a share of the time that the server waited (100
        %: one core all the time), so of the other arms' windows; over 2 % is a doubt""",
        over="share",
    ),
    row.own(
        "generator_cpu_per_op", "µs/operation", "lower", 2,
        """CPU of the load generator | its CPU time in the window, divided by operations""",
        over="sum",
    ),
    row.own(
        "generator_share", "%", "lower", 1,
        """load generator by server | CPU time of the load generator in the window as a share of
        that of all server processes; over 10 % is a doubt""", over="share",
    ),
    row.own(
        "cs_per_op", "1/operation", "lower", 3,
        """context switches of the operation itself | voluntary and involuntary switches in the
        window of the server processes of the headline's role, divided by operations""",
    ),
    row.own(
        "steal_share", "%", "lower", 2,
        """CPU taken by other machines | steal time of all cores in the window as a share of all
        their time; over 2 % is a doubt""", over="share",
    ),
    row.own(
        "lab_cpu_share", "%", "lower", 2,
        """CPU of the lab itself | CPU time in the window of dyno's own process, and of the server
        process that dyno asks for waits, as a share of all cores' time""", over="share",
    ),
    # --- Where the time of an operation goes, all of its connections together ---
    row.own(
        "connection_us_per_op", "µs/operation", "lower", 2,
        """time of a connection | connections of the headline's role times the window, divided by
        operations: the sum of the rows below and server_cpu_per_op""", over="sum",
    ),
    row.own(
        "runnable_us_per_op", "µs/operation", "lower", 2,
        """ready, without a core | run delay (schedstat) in the window of the headline's server
        processes, divided by operations; NA in results of older versions""", over="sum",
    ),
    row.wait("io", "waiting for reads and writes", "for files (class IO)"),
    row.wait("lwlock", "waiting for the server's own locks", "for shared memory (class LWLock)"),
    row.wait("lock", "waiting for locks", "for rows, tables, transactions (class Lock)"),
    row.wait("ipc", "waiting for other server processes", "for another process (class IPC)"),
    row.wait("other", "waiting for anything else", "for anything else (buffer pins, timeouts …)"),
    row.own(
        "client_us_per_op", "µs/operation", "lower", 2,
        """waiting for the client | same for sessions that were idle, idle in a transaction, or
        waited to read from or write to their client: the generator and the way there""",
        over="sum",
    ),
    row.own(
        "unaccounted_us_per_op", "µs/operation", "lower", 2,
        """not accounted for | time asleep (connection_us_per_op less server_cpu_per_op and
        runnable_us_per_op) without an observed wait; without samples all of it. If sessions were
        seen to wait for longer than that, the rows above share it in proportion""", over="sum",
    ),
    # --- Costs of the operation's own processes, and of the background by kind ---
    row.postgres(row.own(
        "buffers_hit_per_op", "1/operation", "lower", 3,
        """pages found in shared buffers | for the step's tables and their indexes
        (pg_statio_all_tables, all sessions), from before the step to after it, divided by
        operations""",
    )),
    row.postgres(row.own(
        "buffers_read_per_op", "1/operation", "lower", 4,
        """pages not found in shared buffers | same for pages requested from the system""",
    )),
    row.own(
        "blocks_read_ps", "1/s", "neutral", 0,
        """pages that the server took from outside of its cache | buffers_read_per_op on PostgreSQL,
        pool_read_per_op on InnoDB (the whole server's), but divided by the seconds of window and
        warm-up instead of operations (pgio's and SLOB's RIOPS)""",
    ),
    row.own(
        "blocks_hit_ps", "1/s", "neutral", 0,
        """pages that the server found in its cache | same for buffers_hit_per_op and
        pool_hit_per_op""",
    ),
    row.own(
        "role_read_kib_per_op", "KiB/operation", "lower", 3,
        """bytes the operation itself read | bytes that the system fetched from storage in the
        window for the server processes of the headline's role, divided by operations""",
    ),
    row.own(
        "role_write_kib_per_op", "KiB/operation", "lower", 3,
        """bytes the operation itself wrote | same for bytes that they gave the system to write""",
    ),
    row.postgres(row.background("checkpointer", "the checkpointer", "the checkpointer")),
    row.postgres(
        row.background("writer", "the writers", "the background writer and the WAL writer")
    ),
    row.postgres(row.background("autovacuum", "autovacuum", "autovacuum's launcher and workers")),
    row.postgres(row.background("io_worker", "the io workers", "io workers (PostgreSQL 18)")),
    row.postgres(row.background("parallel", "parallel workers", "parallel workers of all roles")),
    # --- The same of InnoDB ---
    row.innodb(row.own(
        "pool_hit_per_op", "1/operation", "lower", 3,
        """pages found in the buffer pool | Innodb_buffer_pool_read_requests less
        Innodb_buffer_pool_reads, of the whole server, from before the step to after it, divided by
        operations; pages of 16 KiB, PostgreSQL's have 8""",
    )),
    row.innodb(row.own(
        "pool_read_per_op", "1/operation", "lower", 4,
        """pages not found in the buffer pool | Innodb_buffer_pool_reads, likewise; without pages
        read ahead""",
    )),
    row.innodb(row.own(
        "rows_read_per_op", "rows/operation", "lower", 3,
        """rows that the server read | Innodb_rows_read of MySQL, Rows_read of MariaDB, likewise:
        rows of tables examined, found or not""",
    )),
    row.innodb(row.own(
        "row_lock_us_per_op", "µs/operation", "lower", 2,
        """waiting for row locks | Innodb_row_lock_time, which counts in milliseconds, of all
        sessions, likewise""", over="sum",
    )),
    row.innodb(row.background(
        "page_cleaner", "the page cleaners",
        "the threads that write dirty pages (NA, as the kinds below, where threads have no names: "
        "MariaDB without performance_schema)",
    )),
    row.innodb(
        row.background("log", "the redo log's threads", "those that write, sync and checkpoint it")
    ),
    row.innodb(row.background("purge", "purge", "its coordinator and its workers")),
    row.innodb(row.background("io_thread", "the I/O threads", "those for reads and for writes")),
)  # fmt: skip
