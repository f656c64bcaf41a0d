"""The table of metrics: each is one row, with its unit, its direction and how it is computed.

The first twenty are the columns of the Insert Benchmark's published tables, under their published
names and in their order (the twenty-first is the arm's name). Where how it is computed departs from
the published scripts, the row says so. The other rows are ours. `docs/metrics.md` is generated from
this table by `tools/metric_table.py`; `dbdyno.analysis.derive` computes them.

An *operation* is what a step's headline counts: a row inserted (`ips`), a query (`qps`; of
transactions every statement, BEGIN and COMMIT included) or a row scanned (`scan`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Direction = Literal["higher", "lower", "neutral"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A named quantity."""

    name: str
    unit: str
    direction: Direction  # which way is better; neutral: neither
    title: str
    how: str  # how it is computed, from what, and where that departs from what is published
    published: bool
    digits: int  # after the point, for display


def _own(name: str, unit: str, direction: Direction, digits: int, texts: str) -> Metric:
    """A metric of ours from "title | how"; line breaks within the texts do not count."""
    title, how = " ".join(texts.split()).split(" | ")
    return Metric(
        name=name,
        unit=unit,
        direction=direction,
        title=title,
        how=how,
        published=False,
        digits=digits,
    )


def _published(name: str, unit: str, direction: Direction, digits: int, texts: str) -> Metric:
    """The same for a column of the published tables."""
    return replace(_own(name, unit, direction, digits, texts), published=True)


def _wait(kind: str, title: str, what: str) -> Metric:
    """A metric of the time in which the headline's role was seen to wait."""
    return _own(
        f"wait_{kind}_us_per_op", "µs/operation", "lower", 2,
        f"""{title} | time asleep in which sessions of the headline's role were seen to wait {what}:
        sampled, so NA without `[observe] waits`""",
    )  # fmt: skip


def _background(kind: str, title: str, what: str) -> Metric:
    """A metric of the CPU of a part of the server's background."""
    return _own(
        f"{kind}_cpu_per_op", "µs/operation", "lower", 2,
        f"""CPU of {title} | CPU time in the window of {what}, by operations; of processes
        that ended as far as it was read (all of it is in background_cpu_per_op)""",
    )  # fmt: skip


METRICS: tuple[Metric, ...] = (
    # --- Published, in the published order ---
    _published(
        "ips", "rows/s", "higher", 0,
        """rows inserted | rows that the server confirmed to all clients' inserts in the window, by
        the window's exact length; in l.x the rows that were indexed. Published: the rows asked for,
        by whole seconds from before the first client's start""",
    ),
    _published(
        "qps", "queries/s", "higher", 0,
        """queries | queries of all clients that were completed in the window, by its exact length;
        where the step says that statements are counted, all of the headline's role, BEGIN and
        COMMIT included (tps and statements_ps tell them apart). Published: by the Insert Benchmark
        each client's last per-second line, by whole seconds; by sysbench the reads, writes and
        others (by their result) of all events, the last ones' overshoot included. Here as there
        the statements of attempts that were retried count, the ROLLBACK after an error does not""",
    ),
    _published(
        "rps", "1/s", "neutral", 1,
        """device reads | read requests of the data device, the counter's difference between the
        window's two ends, by the time between the two readings. Published: mean of 5 s samples""",
    ),
    _published(
        "rmbps", "MiB/s", "neutral", 2,
        """bytes read from the device | as rps, of bytes read""",
    ),
    _published(
        "wps", "1/s", "neutral", 1,
        """device writes | as rps, of write requests""",
    ),
    _published(
        "wmbps", "MiB/s", "neutral", 2,
        """bytes written to the device | as rps, of bytes written""",
    ),
    _published(
        "rpq", "1/operation", "lower", 4,
        """device reads per operation | read requests in the window by operations in the window""",
    ),
    _published(
        "rkbpq", "KiB/operation", "lower", 3,
        """bytes read per operation | bytes read in the window by operations in the window""",
    ),
    _published(
        "wpi", "1/row", "lower", 4,
        """device writes per row inserted | write requests in the window by rows inserted in it (in
        l.x: indexed), also where the headline counts queries""",
    ),
    _published(
        "wkbpi", "KiB/row", "lower", 3,
        """bytes written per row inserted | bytes written in the window by rows inserted in it (in
        l.x: indexed), also where the headline counts queries""",
    ),
    _published(
        "csps", "1/s", "neutral", 0,
        """context switches of the host | difference of the ctxt counter of /proc/stat over the
        window, by the time between the two readings. Published: mean of vmstat's cs, with header
        lines counted as zero""",
    ),
    _published(
        "cpups", "%", "neutral", 1,
        """CPU of the host | user, nice, system, irq and softirq time of all cores in the window, as
        a share of all their time (100: every core busy). Published: mean of vmstat's us + sy""",
    ),
    _published(
        "cspq", "1/operation", "lower", 3,
        """context switches per operation | context switches of the whole host in the window by
        operations""",
    ),
    _published(
        "cpupq", "µs/operation", "lower", 2,
        """CPU of the host per operation | busy CPU time of the whole host in the window by
        operations: load generator, background inserts and deletes included, as published (by
        sysbench's scripts as cpu/o in percent of the whole machine: times cores × 10,000 it is
        this). What the operation itself costs is server_cpu_per_op""",
    ),
    _published(
        "dbgb1", "GiB", "lower", 2,
        """size of the database | pg_database_size after the step""",
    ),
    _published(
        "dbgb2", "GiB", "lower", 2,
        """size of the data directory | the sum of its files' sizes after the step, WAL included""",
    ),
    _published(
        "rss", "GiB", "neutral", 2,
        """memory of the server | largest reading in the window of all server processes' resident
        memory, shared memory counted once. Published: one process, the one with the largest VSZ""",
    ),
    _published(
        "maxop", "s", "lower", 3,
        """slowest statement | longest response time in the window of the kind that the headline
        counts (insert or query), all clients, from when it was due; of a transaction of several
        statements (l.x) the whole. Published: from when it was sent""",
    ),
    _published(
        "p50", "1/s", "higher", 0,
        """median second | the per-second rates of what the headline counts, all clients added
        second by second, sorted downwards: the element at round(0.5 × seconds), as published; whole
        seconds only, NA under 10 of them and in scan, which says nothing of a second. Published:
        client 1 alone, so that a figure of n clients
        is to be compared with n times the published one, if clients were served alike (jain)""",
    ),
    _published(
        "p99", "1/s", "higher", 0,
        """slow second | the element at round(0.99 × seconds) of the same list: 99 % of the seconds
        were at least this fast. Published: client 1 alone""",
    ),
    # --- Ours: throughput and response times ---
    _own(
        "tps", "1/s", "higher", 0,
        """transactions | what the headline's role did in the window, each transaction once and with
        all of its statements, by the window's length; a statement by itself is a transaction.
        Published by sysbench as its own tps, events per second""",
    ),
    _own(
        "statements_ps", "1/s", "higher", 0,
        """statements | statements of the headline's role that were completed without error in the
        window, by its length, without those that only begin or end a transaction""",
    ),
    _own(
        "control_ps", "1/s", "neutral", 0,
        """BEGIN and COMMIT | the rest: BEGIN, COMMIT, ROLLBACK and the like, by their SQL; with
        statements_ps it is the published QPS of sysbench""",
    ),
    _own(
        "rows_ps", "rows/s", "higher", 0,
        """rows | rows that the server returned to these statements or says they changed, by the
        window's length, counted as each statement ends""",
    ),
    _own(
        "found_share", "%", "higher", 1,
        """statements that found a row | of the executions of the headline's statements that are to
        find one (nominal rows above 0), the share whose reply had any; under 99 % of any one
        statement is a warning. Misses are fast and count in qps all the same. NA in results of
        older versions""",
    ),
    _own(
        "scan", "rows/s", "higher", 0,
        """rows scanned | rows of a table by the mean response time of a scan, times the connections
        that scan: of all clients, parts of scans included; NA where no scan ended in the window.
        Published: scan_krows_client""",
    ),
    _own(
        "scan_krows_client", "1000 rows/s", "higher", 0,
        """rows scanned by one client | scan by the connections, in thousands: the figure that
        sysbench's published tables have as QPS of scan""",
    ),
    _own(
        "dps", "rows/s", "higher", 0,
        """rows deleted | rows that the server confirmed to all clients' deletes in the window, by
        the window's length""",
    ),
    _own(
        "response_p99_us", "µs", "lower", 0,
        """response time p99 | of the kind that the headline counts, all clients and seconds of the
        window merged, from when a statement was due to its completion""",
    ),
    # --- Ours: how evenly clients and seconds were served, and targets ---
    _own(
        "jain", "of 1", "higher", 4,
        """fairness between clients | Jain's index of the rates of the headline's role by client,
        each until the client's own end: (sum of x)² / (n · sum of x²), 1 where all are equal, 1/n
        where one has all; NA with one client""",
    ),
    _own(
        "finish_diff_s", "s", "lower", 1,
        """spread of finish times | from the first client's end to the last one's, in a step that
        gives each client a share of work (diff in the published tables of fairness); NA with one
        client and in a step bound by time""",
    ),
    _own(
        "finish_pct", "%", "lower", 1,
        """spread of finish times by the first | finish_diff_s as a share of the first client's time
        from the window's start to its end (pct in the published tables of fairness)""",
    ),
    _own(
        "stalled_s", "s", "lower", 0,
        """stalled seconds | whole seconds of the window in which all clients together did less in
        the headline's role than 10 % of what they did in its median second, without the
        first second of a published burst, which has one statement; NA where the median second has
        under 10 operations and no schedule asks for any""",
    ),
    _own(
        "stall_longest_s", "s", "lower", 0,
        """longest stall | the most such seconds that follow each other""",
    ),
    _own(
        "target_missed_s", "s", "lower", 0,
        """seconds under the target | whole seconds of the window in which all clients together
        inserted less than 95 % of the rows that the step asks for, without the first second of a
        published burst, which has one statement; NA without a target. Whether the step held it is a
        question of its mean, as published""",
    ),
    _own(
        "dps_share_of_target", "%", "higher", 1,
        """deletes by their target | rows deleted in the window, by its length, as a share of the
        rate that the step asks of the inserts to which they are tied; under 95 % the table grows.
        Published: taken to be as many as were inserted""",
    ),
    # --- Ours: lateness and trouble ---
    _own(
        "late_ms_max", "ms", "lower", 1,
        """latest statement | the longest time in the window from when any role's statement was due
        to when it was sent""",
    ),
    _own(
        "lag_us_p99", "µs", "lower", 0,
        """the generator's own delay p99 | from when an operation was due and its connection free to
        its first sending, all clients and seconds of the window merged, of the role where it is
        largest among those with at least 1,000 operations; over 1,000 the step's figures are
        lower bounds""",
    ),
    _own(
        "queue_us_p99", "µs", "lower", 0,
        """unread replies p99 | an upper bound of how long a reply lay readable before the generator
        took it, which response times contain; merged as lag_us_p99""",
    ),
    _own(
        "backlog_max", "statements", "lower", 0,
        """longest backlog | the most statements of one role that were due and not yet sent, at the
        end of any second of the window""",
    ),
    _own(
        "retries", "count", "lower", 0,
        """retries | statements of all roles that were sent again in the window""",
    ),
    _own(
        "errors", "count", "lower", 0,
        """errors | operations of all roles that failed in the window and were not tried again""",
    ),
    # --- Ours: costs with owners ---
    _own(
        "server_cpu_per_op", "µs/operation", "lower", 2,
        """CPU of the operation itself | CPU time in the window of the server processes that serve
        the headline's role, by operations (schedstat of exactly those processes)""",
    ),
    _own(
        "insert_cpu_per_row", "µs/row", "lower", 2,
        """CPU of a row inserted | CPU time in the window of the server processes of all insert
        roles, by rows inserted""",
    ),
    _own(
        "delete_cpu_per_row", "µs/row", "lower", 2,
        """CPU of a row deleted | CPU time in the window of the server processes of all delete
        roles, by rows deleted""",
    ),
    _own(
        "background_cpu_per_op", "µs/operation", "lower", 2,
        """CPU of the server's background | CPU time in the window of the server's own processes
        (checkpointer, writers, autovacuum, parallel workers …) and of those that ended, by
        operations""",
    ),
    _own(
        "generator_cpu_per_op", "µs/operation", "lower", 2,
        """CPU of the load generator | its CPU time in the window by operations""",
    ),
    _own(
        "generator_share", "%", "lower", 1,
        """load generator by server | CPU time of the load generator in the window as a share of
        that of all server processes; over 10 % is a warning""",
    ),
    _own(
        "cs_per_op", "1/operation", "lower", 3,
        """context switches of the operation itself | voluntary and involuntary switches in the
        window of the server processes of the headline's role, by operations""",
    ),
    _own(
        "steal_share", "%", "lower", 2,
        """CPU taken by other machines | steal time of all cores in the window, as a share of all
        their time; over 2 % is a warning""",
    ),
    _own(
        "lab_cpu_share", "%", "lower", 2,
        """CPU of the lab itself | CPU time in the window of dyno's own process, and of the server
        process that it asks for waits, as a share of all cores' time""",
    ),
    # --- Ours: where the time of an operation goes, all of its connections together ---
    _own(
        "connection_us_per_op", "µs/operation", "lower", 2,
        """time of a connection | connections of the headline's role times the window by operations:
        what the rows below add up to, with server_cpu_per_op""",
    ),
    _own(
        "runnable_us_per_op", "µs/operation", "lower", 2,
        """ready, without a core | run delay (schedstat) in the window of the headline's server
        processes, by operations; NA in results of older versions""",
    ),
    _wait("io", "waiting for reads and writes", "for files (class IO)"),
    _wait("lwlock", "waiting for the server's own locks", "for shared memory (class LWLock)"),
    _wait("lock", "waiting for locks", "for rows, tables, transactions (class Lock)"),
    _wait("ipc", "waiting for other server processes", "for another process (class IPC)"),
    _wait("other", "waiting for anything else", "for anything else (buffer pins, timeouts …)"),
    _own(
        "client_us_per_op", "µs/operation", "lower", 2,
        """waiting for the client | the same of sessions that were idle, idle in a transaction, or
        waited to read from their client or to write to it: the generator and the way there""",
    ),
    _own(
        "unaccounted_us_per_op", "µs/operation", "lower", 2,
        """not accounted for | time asleep (connection_us_per_op less server_cpu_per_op and
        runnable_us_per_op) in which no wait was seen; without samples all of it. Where sessions
        were seen to wait for longer than that, the rows above share it by their proportions""",
    ),
    # --- Ours: costs of the operation's own processes, and of the background by kind ---
    _own(
        "buffers_hit_per_op", "1/operation", "lower", 3,
        """pages found in shared buffers | of the step's tables and their indexes
        (pg_statio_all_tables, all sessions), from before the step to after it, by operations""",
    ),
    _own(
        "buffers_read_per_op", "1/operation", "lower", 4,
        """pages not found in shared buffers | the same of those that were asked of the system""",
    ),
    _own(
        "role_read_kib_per_op", "KiB/operation", "lower", 3,
        """bytes the operation itself read | bytes that the system fetched from storage in the
        window for the server processes of the headline's role, by operations""",
    ),
    _own(
        "role_write_kib_per_op", "KiB/operation", "lower", 3,
        """bytes the operation itself wrote | the same of bytes they gave the system to write""",
    ),
    _background("checkpointer", "the checkpointer", "the checkpointer"),
    _background("writer", "the writers", "the background writer and the WAL writer"),
    _background("autovacuum", "autovacuum", "autovacuum's launcher and workers"),
    _background("io_worker", "the io workers", "io workers (PostgreSQL 18)"),
    _background("parallel", "parallel workers", "parallel workers of all roles"),
    # --- Ours: writes and debt ---
    _own(
        "wpq", "1/operation", "lower", 4,
        """device writes per operation | write requests in the window by operations in the window,
        whatever they count""",
    ),
    _own(
        "wkbpq", "KiB/operation", "lower", 3,
        """bytes written per operation | bytes written in the window by operations in the window;
        wKB/o in sysbench's published tables""",
    ),
    _own(
        "wal_bytes_per_op", "bytes/operation", "lower", 1,
        """WAL per operation | how far the WAL's position moved from before the step to after it, by
        operations in the window; the position is what every version has""",
    ),
    _own(
        "fpi_per_op", "1/operation", "lower", 4,
        """full-page images per operation | difference of pg_stat_wal's full-page images from before
        the step to after it, by operations; NA before PostgreSQL 14""",
    ),
    _own(
        "checkpoints", "count", "neutral", 0,
        """checkpoints | timed and requested ones from before the step to after it""",
    ),
    _own(
        "checkpoint_overlap_s", "s", "neutral", 1,
        """checkpoint time | seconds of the window in which a checkpoint was running, from the
        server's log; NA where the log has none of the checkpoints that were counted""",
    ),
    _own(
        "autovacuum_runs", "count", "neutral", 0,
        """autovacuum runs | difference from before the step to after it, all tables""",
    ),
    _own(
        "dead_rows_after", "rows", "lower", 0,
        """dead rows | rows that no vacuum has removed yet after the step, all the workload's
        tables, as the statistics estimate them""",
    ),
    _own(
        "dirty_mb_open", "MiB", "neutral", 1,
        """unwritten data at the start | Dirty + Writeback of /proc/meminfo as the window opens""",
    ),
    _own(
        "dirty_mb_close", "MiB", "neutral", 1,
        """unwritten data at the end | Dirty + Writeback of /proc/meminfo as the window closes""",
    ),
    # --- Ours: the idle machine ---
    _own(
        "canary_cpu_us", "µs", "neutral", 0,
        """canary: CPU | a fixed loop of arithmetic on the idle machine, mean of before and after
        the step""",
    ),
    _own(
        "canary_memory_ns", "ns", "neutral", 1,
        """canary: memory | a dependent load in 64 MiB on the idle machine, mean of before and after
        the step""",
    ),
    _own(
        "canary_fsync_us", "µs", "neutral", 0,
        """canary: fsync | median of 50 synced appends of 8 KiB to the data device on the idle
        machine, mean of before and after the step""",
    ),
)  # fmt: skip

HELD_SHARE = 0.95
"""Of a target rate, from which on it counts as held (spec insert-benchmark.md 6.3)."""


def held(achieved: float, target: float) -> bool:
    """Whether a rate was held: 95 % of it, rounded, as in the published reports."""
    return achieved >= round(HELD_SHARE * target)


_BY_NAME = {metric.name: metric for metric in METRICS}


def by_name(name: str) -> Metric:
    """The metric of this name. Raises KeyError where there is none."""
    return _BY_NAME[name]


def document() -> str:
    """docs/metrics.md."""
    lines = [
        "# Metrics",
        "",
        "Generated from `dbdyno/metric.py` by `tools/metric_table.py`; change the table there.",
        "",
        "An *operation* is what a step's headline counts: a row inserted (`ips`), a query (`qps`;",
        "of transactions every statement, BEGIN and COMMIT included) or a row scanned (`scan`).",
        "Rates and costs are differences of counters over exactly the window, not means of",
        "samples, but for waits, which nothing counts. What a machine or a version cannot tell is",
        "`NA`.",
    ]
    for title, published in (("Published columns", True), ("Ours", False)):
        lines += ["", f"## {title}", "", "| name | unit | better | what | how |", "|" + "---|" * 5]
        better = {"higher": "more", "lower": "less", "neutral": ""}
        lines += [
            f"| `{m.name}` | {m.unit} | {better[m.direction]} | {m.title} | {m.how} |"
            for m in METRICS
            if m.published is published
        ]
    return "\n".join(lines) + "\n"
