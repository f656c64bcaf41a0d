"""Rows of the table of metrics: throughput, response times, evenness, lateness and trouble."""

from __future__ import annotations

from dbdyno.model.metric import row
from dbdyno.model.metric.row import Metric

SERVICE: tuple[Metric, ...] = (
    # --- Throughput and response times ---
    row.own(
        "riops", "rows/s", "higher", 0,
        """rows read or updated | in steps whose headline it is: the keys of each batch by the mean
        response time of a batch, times the connections, or the rows that the server's own
        procedures say they did, by the window's length (YBIO's RIOPS)""",
    ),
    row.own(
        "seconds", "s", "lower", 3,
        """time of the step | the window's length, in steps whose headline it is: an index's build,
        a table's copy. Costs by operation are by those of the headline's role, such as one
        statement""",
    ),
    row.own(
        "mbps", "MiB/s", "higher", 1,
        """bytes worked through | the headline's `work` in bytes, by 2^20, by the window's length,
        in steps whose headline it or `seconds` is. Operations, by which costs are shared out, are
        those of the headline's role, not bytes, as for seconds: so costs of arms compare even where
        they moved other amounts""",
    ),
    row.own(
        "rate_max", "1/s", "higher", 0,
        """greatest second | the largest of the per-second rates of which p50 is the median: what
        the headline counts, all clients, in whole seconds only. NA where that is told of no second,
        as in scan, seconds and mbps""",
    ),
    row.own(
        "tps", "1/s", "higher", 0,
        """transactions | what the headline's role did in the window, each transaction once and with
        all of its statements, by the window's length; a statement by itself is a transaction.
        Published by sysbench as its own tps, events per second""",
    ),
    row.own(
        "statements_ps", "1/s", "higher", 0,
        """statements | statements of the headline's role that were completed without error in the
        window, by its length, without those that only begin or end a transaction""",
    ),
    row.own(
        "control_ps", "1/s", "neutral", 0,
        """BEGIN and COMMIT | the rest: BEGIN, COMMIT, ROLLBACK and the like, by their SQL; with
        statements_ps it is the published QPS of sysbench""",
    ),
    row.own(
        "rows_ps", "rows/s", "higher", 0,
        """rows | rows that the server returned to these statements or says they changed, by the
        window's length, counted as each statement ends""",
    ),
    row.own(
        "found_share", "%", "higher", 1,
        """statements that found a row | of the executions of the headline's statements that are to
        find one (nominal rows above 0), the share whose reply had any; under 99 % of any one
        statement is a warning. Misses are fast and count in qps all the same. NA in results of
        older versions""",
    ),
    row.own(
        "scan", "rows/s", "higher", 0,
        """rows scanned | rows of a table by the mean response time of a scan, times the connections
        that scan: of all clients, parts of scans included; NA where no scan ended in the window.
        Published: scan_krows_client""",
    ),
    row.own(
        "scan_krows_client", "1000 rows/s", "higher", 0,
        """rows scanned by one client | scan by the connections, in thousands: the figure that
        sysbench's published tables have as QPS of scan""",
    ),
    row.own(
        "dps", "rows/s", "higher", 0,
        """rows deleted | rows that the server confirmed to all clients' deletes in the window, by
        the window's length""",
    ),
    row.own(
        "response_p99_us", "µs", "lower", 0,
        """response time p99 | of the kind that the headline counts, all clients and seconds of the
        window merged, from when a statement was due to its completion""",
    ),
    row.own(
        "response_us_max", "µs", "lower", 0,
        """longest response time | of the same, from when a statement was due: with what it waited
        for those before it. From when it was sent: maxop""",
    ),
    row.own(
        "response_us_mean", "µs", "lower", 1,
        """mean response time | of the same: the sum of all of them by their number, exact to the
        microsecond. NA in results of older versions""",
    ),
    row.own(
        "response_us_sd", "µs", "lower", 1,
        """standard deviation of response times | of the same, of the population: the root of (sum
        of squares by number) − mean², as pgbench has its latency stddev""",
    ),
    row.own(
        "service_p99_us", "µs", "lower", 0,
        """service time p99 | of the same, from when a statement was sent to its completion: what
        the published histograms of response times count. NA in results that do not have it""",
    ),
    row.own(
        "told_latency_ms", "ms", "lower", 3,
        """mean latency, as told | what pgbench, sysbench or a program's output says by itself, of
        what it timed: pgbench of its whole run, the others of the window; NA of other loads""",
    ),
    row.own(
        "highest_rate", "1/s", "higher", 0,
        """highest rate found | operations per second of the headline's role, due at random, up to
        which the p99 of response times stayed under the limit of the plan's `find`, by a bisection
        of windows after the step: the middle of the last rate that held and the first that did
        not. NA without `find`, and where no rate held""",
    ),
    # --- How evenly clients and seconds were served, and targets ---
    row.own(
        "jain", "of 1", "higher", 4,
        """fairness between clients | Jain's index of the rates of the headline's role by client,
        each until the client's own end: (sum of x)² / (n · sum of x²), 1 where all are equal, 1/n
        where one has all; NA with one client""",
    ),
    row.own(
        "finish_diff_s", "s", "lower", 1,
        """spread of finish times | from the first client's end to the last one's, in a step that
        gives each client a share of work (diff in the published tables of fairness); NA with one
        client and in a step bound by time""",
    ),
    row.own(
        "finish_pct", "%", "lower", 1,
        """spread of finish times by the first | finish_diff_s as a share of the first client's time
        from the window's start to its end (pct in the published tables of fairness)""",
    ),
    row.own(
        "stalled_s", "s", "lower", 0,
        """stalled seconds | whole seconds of the window in which all clients together did less in
        the headline's role than 10 % of what they did in its median second, without the
        first second of a published burst, which has one statement; NA where the median second has
        under 10 operations and no schedule asks for any""",
    ),
    row.own(
        "stall_longest_s", "s", "lower", 0,
        """longest stall | the most such seconds that follow each other""",
    ),
    row.own(
        "target_missed_s", "s", "lower", 0,
        """seconds under the target | whole seconds of the window in which all clients together
        inserted less than 95 % of the rows that the step asks for, without the first second of a
        published burst, which has one statement; NA without a target. Whether the step held it is a
        question of its mean, as published""",
    ),
    row.own(
        "dps_share_of_target", "%", "higher", 1,
        """deletes by their target | rows deleted in the window, by its length, as a share of the
        rate that the step asks of the inserts to which they are tied; under 95 % the table grows.
        Published: taken to be as many as were inserted""",
    ),
    # --- Lateness and trouble ---
    row.own(
        "late_ms_max", "ms", "lower", 1,
        """latest statement | the longest time in the window from when any role's operation was due
        to when it was sent, or to where it had still not been sent""",
    ),
    row.own(
        "late_us_mean", "µs", "lower", 1,
        """mean lateness | from when an operation of the headline's kind was due to its first
        sending, of those that were completed without error, at a rate: the schedule lag of pgbench;
        exact as response_us_mean""",
    ),
    row.own(
        "late_us_sd", "µs", "lower", 1,
        """standard deviation of lateness | of the same, as response_us_sd""",
    ),
    row.own(
        "connect_us_mean", "µs", "lower", 1,
        """mean time to connect | from when an operation with a connection of its own (`connect =
        "each"`) asked for it to when it was there, with its statements prepared; of all roles. At a
        rate response times have it in them, in a closed loop not. NA where connections last""",
    ),
    row.own(
        "lag_us_p99", "µs", "lower", 0,
        """the generator's own delay p99 | from when an operation was due and its connection free to
        its first sending, all clients and seconds of the window merged, of the role where it is
        largest among those with at least 1,000 operations; over 1,000 the step's figures are
        lower bounds""",
    ),
    row.own(
        "queue_us_p99", "µs", "lower", 0,
        """unread replies p99 | an upper bound of how long a reply lay readable before the generator
        took it, which response times contain; merged as lag_us_p99""",
    ),
    row.own(
        "backlog_max", "statements", "lower", 0,
        """longest backlog | the most statements of one role that were due and not yet sent, at the
        end of any second of the window""",
    ),
    row.own(
        "retries", "count", "lower", 0,
        """retries | statements of all roles that were sent again in the window""",
    ),
    row.own(
        "retried", "count", "lower", 0,
        """operations that were tried again | operations of all roles that ended in the window after
        more than one try, whatever became of them; retries counts the tries""",
    ),
    row.own(
        "errors", "count", "lower", 0,
        """errors | operations of all roles that failed in the window and were not tried again""",
    ),
    row.own(
        "failed_serialization", "count", "lower", 0,
        """failed by serialization | operations of all roles that ended in the window without
        success and whose last error was a serialization failure (40001); InnoDB has none. With the
        next two rows what pgbench shows as failed transactions. NA in results of older
        versions""",
    ),
    row.own(
        "failed_deadlock", "count", "lower", 0,
        """failed by deadlock | the same, by a deadlock: 40P01, with MySQL and MariaDB 40001""",
    ),
    row.own(
        "failed_other", "count", "lower", 0,
        """failed otherwise | the same, by any other error or the loss of the connection""",
    ),
    row.own(
        "over_limit", "count", "lower", 0,
        """over the latency limit | operations of all roles that were completed without error in the
        window, but took longer than their role's `latency_limit_ms` since they were due; NA without
        a limit""",
    ),
    row.own(
        "skipped", "count", "lower", 0,
        """skipped | operations of all roles that were never begun, as they were later than their
        role's `latency_limit_ms` already when a connection could have begun them; they are in no
        rate, no response time and no error. NA without a limit and a rate""",
    ),
)  # fmt: skip
