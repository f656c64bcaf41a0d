"""The tables of an export: each with its columns, their types, units and meaning.

DuckDB's tables and their comments, the data frames' types, the files and docs/export.md are made
from this module (tools/export_page.py; a test compares). A null means unknown, never 0.
"""

from dbdyno.findings import plans, steps
from dbdyno.model.metric.device import COLUMNS, IN_FLIGHT
from dbdyno.report.estimate_form import ESTIMATE
from dbdyno.report.export.derived import tables
from dbdyno.report.export.form import RUN, ExportTable, of_result, table

_COLUMNS = "\n".join(
    f"{column.name} | number | {column.unit} | {column.heading}: {column.title}"
    for column in COLUMNS
    if column.heading != IN_FLIGHT
)

OF_RESULT = tuple(made for finding in plans.FINDINGS for made in tables(finding.facts, ()))
"""What findings tell of a whole result."""
OF_STEPS = tuple(made for finding in steps.FINDINGS for made in tables(finding.facts, RUN))
"""What findings tell of each step of a run."""
TABLES: tuple[ExportTable, ...] = (
    of_result(
        "plans", "a result folder: its plan and its machine",
        """
        label          | text    |       | the plan's label
        base           | text    |       | the arm that dyno compares the others with
        blocks_planned | integer |       | blocks that the plan requests
        blocks_judged  | integer |       | blocks that are complete and not void
        incomplete     | text    |       | what is missing; null: nothing
        cpu            | text    |       | the machine's CPU model
        cores          | integer |       | its physical cores
        memory_bytes   | integer | bytes | its memory
        kernel         | text    |       | its kernel
        file_system    | text    |       | of the data folder
        plan_text      | text    |       | the plan as written, TOML
        """,
    ),
    of_result(
        "arms", "an arm of a plan, and the server of its last run",
        """
        arm            | text    | | the arm's name
        base           | boolean | | whether it is the base
        engine         | text    | | postgres or fake
        version        | text    | | the server's version
        version_text   | text    | | the server's own version text
        compiler       | text    | | the compiler of the server
        config         | text    | | the configuration preset
        data_checksums | text    | | on or off
        """,
    ),
    of_result(
        "settings", "a setting of an arm's server in its last run",
        """
        arm        | text    | | the arm's name
        name       | text    | | the setting's name
        value      | text    | | its value, with its unit
        nondefault | boolean | | whether it differs from the server's default
        """,
    ),
    table(
        "steps", "a step of a run, successful or not",
        """
        measured       | boolean |      | whether the step has metrics; others only prepare
        status         | text    |      | ok, failed or skipped
        reason         | text    |      | why it failed or was skipped
        started        | time    | UTC  | when the window opened
        window_s       | number  | s    | the window's exact length
        step_group     | text    |      | the title under which tables list the step
        headline       | text    |      | the metric that mainly judges the step: ips, qps, scan …
        rate           | number  | by headline | that metric: rows or queries per second, MiB/s, s
        limited        | text    |      | why the rate is only a lower bound: the generator's limit
        target         | number  | rows/s | the rate requested of background inserts, all clients
        achieved       | number  | rows/s | their actual rate
        held           | boolean |      | whether that is at least 95 % of the target
        clients        | integer |      | number of clients in the step's job
        connections    | integer |      | of all roles and clients
        tables         | integer |      | of the workload
        shape          | text    |      | of long timed steps: flat, warmed up, slowed or unsteady
        position       | integer |      | the arm's place among those of the block, from 0
        node           | text    |      | the node that measured the block; null: it has no name
        end_spread     | number  |      | first to last client's end, as a share of the window
        server_version | text    |      | the version of the server that ran
        """,
    ),
    table(
        "metrics", "a metric of a step of a run (docs/metrics.md)",
        """
        metric    | text   | | the metric's name
        unit      | text   | | its unit
        direction | text   | | which way is better: higher, lower or neutral
        value     | number | by metric | its value
        """,
    ),
    of_result(
        "comparisons", "a metric of an arm in a step, over all judged blocks, relative to the base",
        """
        workload  | text    | | the workload's name
        ordinal   | integer | | the step's place in its workload, from 1
        step      | text    | | the step's name
        step_group | text   | | the title under which tables list the step
        base      | text    | | the arm to compare with
        arm       | text    | | the arm's name
        metric    | text    | | the metric's name
        headline  | boolean | | whether this metric mainly judges the step
        unit      | text    | | its unit
        direction | text    | | which way is better: higher, lower or neutral
        base_value | number | by metric | of the base's blocks, taken as docs/metrics.md says
        value     | number  | by metric | of the arm's blocks, likewise
        """ + ESTIMATE,
    ),
    of_result(
        "verdicts", """the verdict on an arm in a step by one metric, over all judged blocks
        (docs/method.md); a failed step, which no metric judges, has a row without figures""",
        """
        workload     | text    | | the workload's name
        ordinal      | integer | | the step's place in its workload, from 1
        step         | text    | | the step's name
        step_group   | text    | | the title under which tables list the step
        base         | text    | | the arm to compare with
        arm          | text    | | the arm's name
        step_verdict | text    | | the verdict on the arm in the step
        outcome      | text    | | what the arm or the base did instead
        tolerated    | text    | | yes, no, not yet: each larger loss is excluded; null: not asked
        explanation  | text    | | why it is faster or slower, in a sentence
        metric       | text    | | the metric's name
        family       | text    | | primary: judges the step; explanatory: may explain it
        decides      | boolean | | whether this metric decides the step's verdict
        verdict      | text    | | the verdict by this metric
        """ + ESTIMATE + """
        p            | number  | | p of no change, two-sided t test
        p_sign       | number  | | the same, exact sign-flip test
        q            | number  | | of the step, of all looks, after Benjamini-Hochberg over the arm
        sd           | number  | | standard deviation of the log ratios between blocks
        margin       | number  | | the share up to which a change does not matter
        visible      | number  | | the smallest change, as a share, that these blocks find
        within_margin  | boolean | | whether the change is too small to matter
        reason         | text    | | why it is open or failed, if not by the scatter of blocks
        lent           | number  | | degrees of freedom that the interval borrowed
        own_low        | number  | | lower end by own blocks alone; null: nothing borrowed
        own_high       | number  | | upper end by own blocks alone
        look_blocks    | integer | | blocks at the look behind the verdict; null: none yet
        look_share     | number  | | this look's share of the level
        so_far_estimate | number | | the ratio by all blocks so far; null: no look has decided
        so_far_low     | number  | | lower end of its 95 % interval
        so_far_high    | number  | | upper end of its 95 % interval
        blocks_needed  | integer |     | further blocks that would decide
        minutes_needed | number  | min | time for these blocks
        stood_still      | integer | | further blocks in which the arm alone had a throughput of 0
        base_stood_still | integer | | further blocks in which the base alone had
        p_still          | number  | | sign test over these blocks; null: neither stood still
        """,
    ),
    *OF_RESULT,
    of_result(
        "doubts", "a reason to doubt a figure (docs/doubts.md), of one block or of the whole",
        """
        subject  | text    | | what it is about
        grade    | text    | | void, withheld, doubt or notice
        workload | text    | | the workload's name; null: the whole result
        ordinal  | integer | | the step's place in its workload, from 1
        step     | text    | | the step's name
        arm      | text    | | the arm; null: no arm in particular
        block    | integer | | the block; null: the whole result
        amount   | number  | by subject | how much, where it is a number; shares in percent
        words    | text    | | what, with figures
        """,
    ),
    table(
        "ticks", "a role and second of a step's window, all clients together",
        """
        role        | text    |    | the role's name
        kind        | text    |    | its kind: insert, delete, query or other
        second      | number  | s  | end of this second since the window opened, without pauses
        seconds     | number  | s  | its length; the last of a window is usually shorter
        operations  | integer |    | operations completed without error
        rows        | integer |    | rows affected or returned
        errors      | integer |    | errors, including retried ones
        retries     | integer |    | tries beyond the first
        skipped     | integer |    | never begun: already past their latency limit
        over_limit  | integer |    | completed without error, but over their latency limit
        p50_us      | number  | µs | median of the second's responses
        p99_us      | number  | µs | 99th percentile
        max_us      | integer | µs | the longest
        late_us_max | integer | µs | lateness of the latest operation, sent or unsent
        backlog     | integer |    | operations due and not yet sent
        """,
    ),
    table(
        "clients", "a client of a role and second of a step's window",
        """
        role       | text    |    | the role's name
        kind       | text    |    | its kind: insert, delete, query or other
        client     | integer |    | the client's number, from 0
        second     | number  | s  | as in ticks
        seconds    | number  | s  | as in ticks
        operations | integer |    | operations completed without error
        rows       | integer |    | rows affected or returned
        errors     | integer |    | errors, including retried ones
        max_us     | integer | µs | the longest response
        """,
    ),
    table(
        "samples", """the time between two readings of the machine in a step's window, about a
        second; rates are differences of counters divided by that time, other values are of its
        end; with arms in turns, all times exclude other arms' turns""",
        """
        second                  | number  | s       | its end since the window opened
        seconds                 | number  | s       | its length
        cpu_busy_pct            | number  | %       | CPU time not idle (100: all cores busy)
        cpu_iowait_pct          | number  | %       | idle, waiting for a disk
        cpu_steal_pct           | number  | %       | taken by other machines on the same host
        context_switches_per_s  | number  | 1/s     | of the whole machine
        running                 | integer |         | running and runnable tasks
        memory_available_bytes  | integer | bytes   | MemAvailable
        memory_cached_bytes     | integer | bytes   | Cached
        memory_dirty_bytes      | integer | bytes   | Dirty
        memory_writeback_bytes  | integer | bytes   | Writeback
        swap_in_pages_per_s     | number  | pages/s | read from swap
        swap_out_pages_per_s    | number  | pages/s | written to swap
        rss_bytes               | integer | bytes   | the server's memory, shared memory once
        """,
    ),
    table(
        "device_samples", """a device between two readings, as in samples, in the columns of
        `iostat -x` (docs/metrics.md); null: no such request, or the kernel does not count them""",
        """
        second    | number  | s        | its end since the window opened
        seconds   | number  | s        | its length
        holds     | text    |          | data, or log: of a separate device for the write-ahead log
        device    | text    |          | its name: vda, sdb, md0
        """ + _COLUMNS + """
        in_flight | integer | requests | requests in flight at its end
        """,
    ),
    table(
        "owner_samples", "an owner of costs between two readings, as in samples",
        """
        second                 | number  | s       | its end since the window opened
        seconds                | number  | s       | its length
        owner                  | text    |         | role:NAME, parallel:ROLE, background:KIND …
        cpu_cores              | number  | cores   | CPU time per time: 1 is one busy core
        context_switches_per_s | number  | 1/s     | voluntary and involuntary
        read_bytes_per_s       | number  | bytes/s | read from disk
        write_bytes_per_s      | number  | bytes/s | written to disk
        processes              | integer |         | number of its processes
        """,
    ),
    table(
        "wait_samples", """a session in a sample of a step's window; only if the plan's
        `[observe]` has `waits_sessions`""",
        """
        sample      | integer |   | its number in the window, from 1
        second      | number  | s | its time since the window opened
        pid         | integer |   | the session's process, or connection; null in the background
        owner       | text    |   | role:NAME, background:KIND, backend:other …
        state       | text    |   | in the server's words; on MySQL and MariaDB command: state
        kind        | text    |   | CPU, a class of wait events, idle in transaction, or idle
        event       | text    |   | the wait event; null on CPU and of idle ones
        statement   | text    |   | its name in the job, else its short text; null: unknown
        query       | text    |   | the first 200 characters of its text
        query_start | time    |   | when the query began, UTC; null on MySQL and MariaDB
        xact_start  | time    |   | when the transaction began, likewise
        """,
    ),
    *OF_STEPS,
)  # fmt: skip

_BY_NAME = {one.name: one for one in TABLES}


def by_name(name: str) -> ExportTable:
    """The table of this name. Raises KeyError where there is none."""
    return _BY_NAME[name]
