"""Rows of the table of metrics: throughput, response times, evenness, lateness and trouble."""

from dbdyno.model.metric import row
from dbdyno.model.metric.row import Metric

RESPONSES = frozenset(
    (
        "response_p99_us",
        "response_us_max",
        "response_us_mean",
        "service_p99_us",
        "service_p999_us",
        "maxop",
    )
)
"""Those that contain the load generator's own delay."""

SERVICE: tuple[Metric, ...] = (
    # --- Throughput and response times ---
    row.own(
        "riops", "rows/s", "higher", 0,
        """rows read or updated | for steps with this headline: the keys of each batch divided by
        the mean response time of a batch, times the connections; or the rows that the server's own
        procedures report, divided by the window's length (YBIO's RIOPS)""",
    ),
    row.own(
        "opm", "operations/min", "higher", 0,
        """operations per minute | for steps with this headline: those operations of its role that
        the headline names, completed without error in the window, divided by the window's length in
        minutes; what was rolled back or failed is not among them. Costs per operation and response
        times refer to the same operations""",
    ),
    row.own(
        "seconds", "s", "lower", 3,
        """time of the step | window's length, for steps with this headline: an index build, a table
        copy. Costs per operation refer to the operations of the headline's role, such as one
        statement""",
    ),
    row.own(
        "mbps", "MiB/s", "higher", 1,
        """bytes worked through | headline's `work` in bytes, divided by 2^20 and the window's
        length, for steps with this headline or `seconds`. Costs are divided by operations of the
        headline's role, not by bytes, as for seconds: costs of arms compare even if they moved
        different amounts""",
    ),
    row.own(
        "rate_max", "1/s", "higher", 0,
        """greatest second | largest of the per-second rates whose median is p50: what the headline
        counts, all clients, whole seconds only. NA if there is no figure by second, as in scan,
        seconds and mbps""",
    ),
    row.own(
        "tps", "1/s", "higher", 0,
        """transactions | work of the headline's role in the window, each transaction counted once
        with all its statements, divided by the window's length; a single statement is a
        transaction. Published by sysbench as its own tps, events per second""",
    ),
    row.own(
        "statements_ps", "1/s", "higher", 0,
        """statements | statements of the headline's role completed without error in the window,
        divided by its length, except those that only begin or end a transaction""",
    ),
    row.own(
        "control_ps", "1/s", "neutral", 0,
        """BEGIN and COMMIT | the rest: BEGIN, COMMIT, ROLLBACK and the like, by their SQL; together
        with statements_ps, sysbench's published QPS""",
    ),
    row.own(
        "rows_ps", "rows/s", "higher", 0,
        """rows | rows that the server returned to these statements or reported as changed, divided
        by the window's length, counted as each statement ends""",
    ),
    row.own(
        "found_share", "%", "higher", 1,
        """statements that found a row | of the executions of the headline's statements that should
        find a row (nominal rows above 0), the share whose reply had any; under 99 % for any one
        statement is a doubt. Misses are fast and count in qps all the same. NA in results of
        older versions""", over="share",
    ),
    row.own(
        "scan", "rows/s", "higher", 0,
        """rows scanned | scans by second times rows of a table, all clients; NA if none counts.
        Published: scan_krows_client""",
    ),
    row.own(
        "scan_krows_client", "1000 rows/s", "higher", 0,
        """rows scanned by one client | scan divided by connections, in thousands: the figure that
        sysbench's published tables show as QPS of scan""",
    ),
    row.own(
        "dps", "rows/s", "higher", 0,
        """rows deleted | rows that the server confirmed to all clients' deletes in the window,
        divided by the window's length""",
    ),
    row.own(
        "response_p99_us", "µs", "lower", 0,
        """response time p99 | for the kind that the headline counts, all clients and seconds of the
        window merged, from when a statement was due to its completion""",
    ),
    row.own(
        "response_us_max", "µs", "lower", 0,
        """longest response time | same, from when a statement was due, including the wait for
        earlier ones. From sending: maxop""", over="largest",
    ),
    row.own(
        "response_us_mean", "µs", "lower", 1,
        """mean response time | same: the sum of all response times divided by their number, exact
        to the microsecond. NA in results of older versions""",
    ),
    row.own(
        "response_us_sd", "µs", "lower", 1,
        """standard deviation of response times | same, of the population: the root of (sum of
        squares / number) − mean², like pgbench's latency stddev""",
    ),
    row.own(
        "service_p99_us", "µs", "lower", 0,
        """service time p99 | same, from sending to completion, as the published histograms of
        response times count. NA in results that lack it""",
    ),
    row.own(
        "service_p999_us", "µs", "lower", 0,
        """service time p99.9 | same, of which one operation in a thousand takes longer""",
    ),
    row.own(
        "undisturbed_us", "µs", "lower", 2,
        """undisturbed time | mean of the faster half of the operations of one mode of service
        times: the mode that all arms have and whose time differs least between the base's blocks;
        of several operations each by its share in all arms together. NA outside of its domain:
        [method.md](method.md#undisturbed-time)""",
    ),
    row.own(
        "told_latency_ms", "ms", "lower", 3,
        """mean latency, as told | mean latency that pgbench, sysbench or a program's output reports
        for what it timed: pgbench for its whole run, the others for the window; NA for other
        loads""",
    ),
    row.own(
        "highest_rate", "1/s", "higher", 0,
        """highest rate found | highest operations per second of the headline's role, arriving at
        random, at which the p99 of response times stayed under the limit of the plan's `find`. A
        bisection of windows after the step finds it: the middle between the last rate that held and
        the first that did not. NA without `find`, and if no rate held""",
    ),
    # --- How evenly clients and seconds were served, and targets ---
    row.own(
        "jain", "of 1", "higher", 4,
        """fairness between clients | Jain's index of the rates of the headline's role by client,
        each until the client's own end: (sum of x)² / (n · sum of x²), 1 if all are equal, 1/n if
        one has all; NA with one client""",
    ),
    row.own(
        "finish_diff_s", "s", "lower", 1,
        """spread of finish times | time from the first client's end to the last one's, in a step
        that gives each client a share of work (diff in the published tables of fairness); NA with
        one client and in a step bound by time""", over="sum",
    ),
    row.own(
        "finish_pct", "%", "lower", 1,
        """spread of finish times by the first | finish_diff_s as a share of the first client's time
        from the window's start to its end (pct in the published tables of fairness)""",
        over="share",
    ),
    row.own(
        "stalled_s", "s", "lower", 0,
        """stalled seconds | whole seconds of the window in which all clients of the headline's role
        together did less than 10 % of their median second, except the first second of a published
        burst, which has one statement; NA if the median second has under 10 operations and no
        schedule asks for any""", over="sum",
    ),
    row.own(
        "stall_longest_s", "s", "lower", 0,
        """longest stall | most such seconds in a row""", over="largest",
    ),
    row.own(
        "target_missed_s", "s", "lower", 0,
        """seconds under the target | whole seconds of the window in which all clients together
        inserted less than 95 % of the rows that the step asks for, except the first second of a
        published burst, which has one statement; NA without a target. The mean decides if the step
        held its target, as published""", over="sum",
    ),
    row.own(
        "dps_share_of_target", "%", "higher", 1,
        """deletes by their target | rows deleted in the window, divided by its length, as a share
        of the rate that the step asks of the inserts that the deletes are tied to; under 95 % the
        table grows. Published: assumed equal to the inserts""", over="share",
    ),
    # --- Lateness and trouble ---
    row.own(
        "late_ms_max", "ms", "lower", 1,
        """latest statement | longest time in the window from when any role's operation was due to
        its sending, or to the last moment at which it was still unsent""", over="largest",
    ),
    row.own(
        "late_us_mean", "µs", "lower", 1,
        """mean lateness | time from due to first sending, for operations of the headline's kind
        completed without error, at a rate: pgbench's schedule lag; exact as response_us_mean""",
    ),
    row.own(
        "late_us_sd", "µs", "lower", 1,
        """standard deviation of lateness | of the same, as response_us_sd""",
    ),
    row.own(
        "connect_us_mean", "µs", "lower", 1,
        """mean time to connect | time from when an operation with its own connection (`connect =
        "each"`) asked for the connection until it was open, with its statements prepared; all
        roles. At a rate, response times include it; in a closed loop they do not. NA if connections
        last""",
    ),
    row.own(
        "generic_plans", "share", "neutral", 2,
        """calls by the generic plan | share of the calls of an application's prepared query that
        ran a plan for any values and not one for theirs: in each session, one for each turn, then
        the mean of sessions; before PostgreSQL 14 the share of sessions that had chosen it. NA
        before 12, of other engines, and of queries that are not prepared or have no parameters""",
    ),
    row.own(
        "lag_us_p99", "µs", "lower", 0,
        """the generator's own delay p99 | time from when an operation was due and its connection
        free to its first sending, all clients and seconds of the window merged, for the role with
        the largest value among those with at least 1,000 operations; over 1,000, the step's figures
        are lower bounds""",
    ),
    row.own(
        "queue_us_p99", "µs", "lower", 0,
        """the generator's own queue p99 | upper bound of how long the generator itself delayed a
        statement, included in response times: its request lay gathered, its reply lay readable
        while the generator did other things. A reply counts from the previous look at all
        connections, from its request's leaving or from the end of a sleep, whichever is last. Time
        without a processor is left out: the doubts give it. The same by epoll and by io_uring; in
        results of older versions, by io_uring the server's work is included. Merged as
        lag_us_p99""",
    ),
    row.own(
        "queue_share", "%", "lower", 1,
        """the generator's own queue, of service times | the same, of the headline's role: the sum
        of all delays divided by the sum of all service times; over 10, response times are upper
        bounds, and the rate is a lower bound unless the processors of the server's host were all
        busy. NA in results that lack it""", over="share",
    ),
    row.own(
        "backlog_max", "statements", "lower", 0,
        """longest backlog | most statements of one role that were due and not yet sent, at the end
        of any second of the window""", over="largest",
    ),
    row.own(
        "retries", "count", "lower", 0,
        """retries | statements of all roles sent again in the window""", over="sum",
    ),
    row.own(
        "retried", "count", "lower", 0,
        """operations that were tried again | operations of all roles that ended in the window after
        more than one try, with any outcome; retries counts the tries""", over="sum",
    ),
    row.own(
        "errors", "count", "lower", 0,
        """errors | operations of all roles that failed in the window and were not retried""",
        over="sum",
    ),
    row.own(
        "failed_serialization", "count", "lower", 0,
        """failed by serialization | operations of all roles that ended without success in the
        window and whose last error was a serialization failure (40001); InnoDB has none. With the
        next two rows, pgbench's failed transactions. NA in results of older versions""",
        over="sum",
    ),
    row.own(
        "failed_deadlock", "count", "lower", 0,
        """failed by deadlock | the same, by a deadlock: 40P01, with MySQL and MariaDB 40001""",
        over="sum",
    ),
    row.own(
        "failed_other", "count", "lower", 0,
        """failed otherwise | the same, by any other error or the loss of the connection""",
        over="sum",
    ),
    row.own(
        "rolled_back", "count", "lower", 0,
        """rolled back | operations of all roles that ended in the window by rolling back what they
        did, as their workload has it (`end = "rolled_back"`); neither errors nor counted in rates
        and response times. NA where no operation can end so""", over="sum",
    ),
    row.own(
        "over_limit", "count", "lower", 0,
        """over the latency limit | operations of all roles completed without error in the window
        that took longer than their role's `latency_limit_ms` since they were due; NA without a
        limit""", over="sum",
    ),
    row.own(
        "skipped", "count", "lower", 0,
        """skipped | operations of all roles never begun, because they were already later than their
        role's `latency_limit_ms` when a connection became free; they count in no rate, response
        time or error. NA without a limit and a rate""", over="sum",
    ),
)  # fmt: skip
