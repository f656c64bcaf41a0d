"""Rows of the table of metrics: the published columns, in the published order."""

from __future__ import annotations

from dbdyno.model.metric import row
from dbdyno.model.metric.row import Metric

PUBLISHED: tuple[Metric, ...] = (
    row.published(
        "ips", "rows/s", "higher", 0,
        """rows inserted | rows that the server confirmed to all clients' inserts in the window, by
        the window's exact length; in l.x the rows that were indexed. Published: the rows asked for,
        by whole seconds from before the first client's start""",
    ),
    row.published(
        "qps", "queries/s", "higher", 0,
        """queries | queries of all clients that were completed in the window, by its exact length;
        where the step says that statements are counted, all of the headline's role, BEGIN and
        COMMIT included (tps and statements_ps tell them apart). Published: by the Insert Benchmark
        each client's last per-second line, by whole seconds; by sysbench the reads, writes and
        others (by their result) of all events, the last ones' overshoot included. Here as there
        the statements of attempts that were retried count, the ROLLBACK after an error does not""",
    ),
    row.published(
        "rps", "1/s", "neutral", 1,
        """device reads | read requests of the data device, the counter's difference between the
        window's two ends, by the time between the two readings. Published: mean of 5 s samples""",
    ),
    row.published(
        "rmbps", "MiB/s", "neutral", 2,
        """bytes read from the device | as rps, of bytes read""",
    ),
    row.published(
        "wps", "1/s", "neutral", 1,
        """device writes | as rps, of write requests""",
    ),
    row.published(
        "wmbps", "MiB/s", "neutral", 2,
        """bytes written to the device | as rps, of bytes written""",
    ),
    row.published(
        "rpq", "1/operation", "lower", 4,
        """device reads per operation | read requests in the window by operations in the window""",
    ),
    row.published(
        "rkbpq", "KiB/operation", "lower", 3,
        """bytes read per operation | bytes read in the window by operations in the window""",
    ),
    row.published(
        "wpi", "1/row", "lower", 4,
        """device writes per row inserted | write requests in the window by rows inserted in it (in
        l.x: indexed), also where the headline counts queries""",
    ),
    row.published(
        "wkbpi", "KiB/row", "lower", 3,
        """bytes written per row inserted | bytes written in the window by rows inserted in it (in
        l.x: indexed), also where the headline counts queries""",
    ),
    row.published(
        "csps", "1/s", "neutral", 0,
        """context switches of the host | difference of the ctxt counter of /proc/stat over the
        window, by the time between the two readings. Published: mean of vmstat's cs, with header
        lines counted as zero""",
    ),
    row.published(
        "cpups", "%", "neutral", 1,
        """CPU of the host | user, nice, system, irq and softirq time of all cores in the window, as
        a share of all their time (100: every core busy). Published: mean of vmstat's us + sy""",
    ),
    row.published(
        "cspq", "1/operation", "lower", 3,
        """context switches per operation | context switches of the whole host in the window by
        operations""",
    ),
    row.published(
        "cpupq", "µs/operation", "lower", 2,
        """CPU of the host per operation | busy CPU time of the whole host in the window by
        operations: load generator, background inserts and deletes included, as published (by
        sysbench's scripts as cpu/o in percent of the whole machine: times cores × 10,000 it is
        this). What the operation itself costs is cpu_per_op""",
    ),
    row.published(
        "dbgb1", "GiB", "lower", 2,
        """size of the database | pg_database_size after the step; of MySQL and MariaDB the lengths
        of its tables' files""",
    ),
    row.published(
        "dbgb2", "GiB", "lower", 2,
        """size of the data directory | the sum of its files' sizes after the step, WAL included""",
    ),
    row.published(
        "rss", "GiB", "neutral", 2,
        """memory of the server | largest reading in the window of all server processes' resident
        memory, shared memory counted once. Published: one process, the one with the largest VSZ""",
    ),
    row.published(
        "maxop", "s", "lower", 3,
        """slowest statement | longest service time in the window of the kind that the headline
        counts (insert or query), all clients, from when it was sent to its completion as published,
        to three digits; of a transaction of several statements (l.x) the whole. From when it was
        due: response_us_max""",
    ),
    row.published(
        "p50", "1/s", "higher", 0,
        """median second | the per-second rates of what the headline counts, all clients added
        second by second, sorted downwards: the element at round(0.5 × seconds), as published; whole
        seconds only, NA under 10 of them and in scan, which says nothing of a second. Published:
        client 1 alone, so that a figure of n clients
        is to be compared with n times the published one, if clients were served alike (jain)""",
    ),
    row.published(
        "p99", "1/s", "higher", 0,
        """slow second | the element at round(0.99 × seconds) of the same list: 99 % of the seconds
        were at least this fast. Published: client 1 alone""",
    ),
)  # fmt: skip
