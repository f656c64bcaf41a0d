"""Rows of the table of metrics: the published columns, in the published order."""

from dataclasses import replace

from dbdyno.model.metric import row
from dbdyno.model.metric.row import Metric

PUBLISHED: tuple[Metric, ...] = (
    row.published(
        "ips", "rows/s", "higher", 0,
        """rows inserted | rows that the server confirmed to all clients' inserts in the window,
        divided by the window's exact length; in l.x the rows indexed. Published: the rows
        requested, divided by whole seconds since before the first client's start""",
    ),
    row.published(
        "qps", "queries/s", "higher", 0,
        """queries | queries of all clients by second of the window. If the step
        counts statements, all statements of the headline's role, BEGIN and COMMIT included (tps and
        statements_ps separate them). Published: by the Insert Benchmark each client's last
        per-second line, divided by whole seconds; by sysbench the reads, writes and others (by
        their result) of all events, including the overshoot of the last ones. Here and there,
        statements of retried attempts count; the ROLLBACK after an error does not""",
    ),
    row.published(
        "rps", "1/s", "neutral", 1,
        """device reads | read requests of the data device: the counter's difference between the
        window's ends, divided by the time between the two readings. Published: mean of 5 s
        samples""",
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
        """device reads per operation | read requests in the window, divided by operations in the
        window""",
    ),
    row.published(
        "rkbpq", "KiB/operation", "lower", 3,
        """bytes read per operation | bytes read in the window, divided by operations in the
        window""",
    ),
    row.published(
        "wpi", "1/row", "lower", 4,
        """device writes per row inserted | write requests in the window, divided by rows inserted
        in it (in l.x: indexed), even if the headline counts queries""",
    ),
    row.published(
        "wkbpi", "KiB/row", "lower", 3,
        """bytes written per row inserted | bytes written in the window, divided by rows inserted in
        it (in l.x: indexed), even if the headline counts queries""",
    ),
    row.published(
        "csps", "1/s", "neutral", 0,
        """context switches of the host | difference of the ctxt counter of /proc/stat over the
        window, divided by the time between the two readings. Published: mean of vmstat's cs, with
        header lines counted as zero""",
    ),
    row.published(
        "cpups", "%", "neutral", 1,
        """CPU of the host | user, nice, system, irq and softirq time of all cores in the window, as
        a share of all their time (100: every core busy). Published: mean of vmstat's us + sy""",
    ),
    row.published(
        "cspq", "1/operation", "lower", 3,
        """context switches per operation | context switches of the whole host in the window,
        divided by operations""",
    ),
    row.published(
        "cpupq", "µs/operation", "lower", 2,
        """CPU of the host per operation | busy CPU time of the whole host in the window, divided by
        operations, including the load generator and background inserts and deletes, as published.
        sysbench's scripts publish cpu/o in percent of the whole machine: multiply by cores × 10,000
        to convert. The cost of the operation itself is cpu_per_op""",
    ),
    row.published(
        "dbgb1", "GiB", "lower", 2,
        """size of the database | pg_database_size after the step; on MySQL and MariaDB the lengths
        of the tables' files""",
    ),
    row.published(
        "dbgb2", "GiB", "lower", 2,
        """size of the data directory | sum of its files' sizes after the step, WAL included""",
    ),
    row.published(
        "rss", "GiB", "neutral", 2,
        """memory of the server | largest reading in the window of the resident memory of all server
        processes, shared memory counted once. Published: one process, the one with the largest
        VSZ""",
    ),
    replace(row.published(
        "maxop", "s", "lower", 3,
        """slowest statement | longest service time in the window, all clients, from sending to
        completion as published, to three digits, for the kind that the headline counts (insert or
        query); for a transaction of several statements (l.x) the whole. From the due time:
        response_us_max""",
    ), over="largest"),
    row.published(
        "p50", "1/s", "higher", 0,
        """median second | median of the per-second rates of the headline: all clients added second
        by second, sorted downwards, the element at round(0.5 × seconds), as published. Whole
        seconds only; NA under 10 of them, and in scan, which has no figure by second. Published:
        client 1 alone, so compare a figure of n clients with n times the published one, if clients
        were served alike (jain)""",
    ),
    row.published(
        "p99", "1/s", "higher", 0,
        """slow second | element at round(0.99 × seconds) of the same list: 99 % of the seconds were
        at least this fast. Published: client 1 alone""",
    ),
)  # fmt: skip
