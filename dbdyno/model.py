"""The frozen types that the modules share; the words are those of docs/glossary.md.

The first half is what is measured (Plan to Step), the second what comes out of it (StepRun to
Comparison). Measuring and judging meet only here and in the files of a result folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dbdyno.verdict import Aims, Calibration, Explanation, Judgement, Overall, Sizing, Verdict

Json = dict[str, Any]

PRODUCTS: Mapping[str, str] = {"postgres": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB"}
"""The engines of servers, and what they are called."""
FAMILIES: Mapping[str, str] = {"postgres": "postgres", "mysql": "mysql", "mariadb": "mysql"}
"""Whose protocol, catalogues and account an engine has: MariaDB has MySQL's."""

# --- What is measured ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Password:
    """Where a password is to be found; it is in no plan, job, result or log."""

    env: str | None = None  # an environment variable's name
    passfile: Path | None = None  # a file in libpq's format; its rules hold for MySQL, too
    insecure: bool = False  # whether it may be sent so that others on the way can learn it


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One thing compared: an engine, a build of it, and a configuration."""

    name: str
    engine: str  # "postgres", "mysql", "mariadb" or "fake"
    # Where the server comes from: one of these four.
    version: str | None = None  # "17.6", "17" (the newest 17)
    base_dir: Path | None = None  # a folder with bin/postgres, bin/mysqld, sbin/mariadbd …
    build: str | None = None  # the name of a build made by `dyno server build`
    dsn: str | None = None  # of a server that runs elsewhere, without a password
    password: Password | None = None  # of `dsn`
    allow_drop: bool = False  # of `dsn`: whether tables go that dyno did not make
    config: str | None = None  # a preset's name with its tags, such as "x10a", or a file's path
    config_text: str | None = None  # what stands in that file; None: `config` is a preset
    memory: str | None = None  # what a preset is sized for, such as "4GB"; None: the host's
    settings: Mapping[str, str] = field(default_factory=dict)  # on top of the preset
    environment: Mapping[str, str] = field(default_factory=dict)  # of the server's process
    memory_max: str | None = None  # what the server's processes may take, by a cgroup; None: all
    fake: Mapping[str, Any] = field(default_factory=dict)  # the job's `fake`, engine "fake" only
    same_as: str | None = None  # the base's name: this arm is a double of it, measured beside it
    shown: bool = True  # False: a double that is no arm of its own, but the base once more


@dataclass(frozen=True, kw_only=True)
class WorkloadUse:
    """A workload as a plan uses it."""

    name: str  # a shipped workload's name, or a path to a TOML file
    parameters: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] | None = None  # only these steps, in the workload's order; None: all
    fill: str | None = None  # "fast" or "published"; None: what the workload's file says
    set: str | None = None  # which of the file's sets of steps; None: the file's own choice
    preset: str | None = None  # parameters by name, below those given one by one
    save: str | None = None  # "post-l.i2": keep the data directory after this step; None: never
    warm: str | None = None  # "prewarm" or "scan": after a start from what was kept; None: neither
    groups: tuple[str, ...] | None = None  # only these, and steps of none; None: all


@dataclass(frozen=True, kw_only=True)
class Void:
    """Above what a block is void that something outside the arms disturbed."""

    foreign: float = 0.05  # others' CPU in any measured window, as a share of all cores' time
    stolen: float | None = None  # the same of time that other machines took; None: only a warning
    swap: bool = False  # whether any page that is swapped in or out does; else only a warning


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How often and in which order the arms run."""

    blocks: int = 1  # of `auto` those known so far: the pilot's, then with the fresh ones
    auto: bool = False  # a pilot says how many blocks it takes
    minutes_max: float | None = None  # for all blocks; `auto` only
    ghost: bool = False  # a double of the base is an arm
    comparison: int | None = None  # so many blocks are a comparison each (`dyno calibrate`)
    interleave: str = "run"  # "step", "slice": all arms are up, and take turns
    slice_s: float = 1.0  # how long a turn lasts where slices are interleaved
    checkpoint: str | None = None  # "before-step": a CHECKPOINT before each step's first reading
    void: Void = Void()
    repeats_max: int = 2  # how often a block is done again that was disturbed, or the lab failed in

    @property
    def together(self) -> bool:
        """Whether all arms of a block are up at once."""
        return self.interleave != "run"


@dataclass(frozen=True, kw_only=True)
class Observe:
    """What is asked of the server while a window is open."""

    waits_s: float | None = None  # so often sessions are sampled for what they wait for; None: not


HookMoment = Literal["before-run", "after-run", "before-step", "after-step"]
"""When a hook runs; never while a window is open."""


@dataclass(frozen=True, kw_only=True)
class Hook:
    """A command, or SQL, that a plan wants between what is measured."""

    when: HookMoment
    command: tuple[str, ...] | None = None  # a program and its arguments
    sql: tuple[str, ...] = ()  # statements, sent to the arm's server
    arms: tuple[str, ...] | None = None  # only these; None: all
    steps: tuple[str, ...] | None = None  # only these; None: all


@dataclass(frozen=True, kw_only=True)
class Placement:
    """On which processors and memory servers and the generator run; None: as the system likes."""

    server_cpus: str | None = None  # "0-3,8" as taskset has it
    generator_cpus: str | None = None
    interleave_memory: bool = False  # of servers, over all NUMA nodes


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A plan that has been parsed and checked; what exists is valid."""

    name: str
    path: Path | None
    text: str  # the TOML as it was written
    seed: int
    base: str  # the base arm's name
    arms: tuple[Arm, ...]
    workloads: tuple[WorkloadUse, ...]
    schedule: Schedule
    data_dir: Path | None = None
    wal_dir: Path | None = None
    server_user: str | None = None
    label: str | None = None  # shown with the title, such as "demo: steps far too short to decide"
    threads: int | None = None  # of the generator, for all arms; None: max(1, cores / 8)
    observe: Observe = Observe()
    placement: Placement = Placement()
    hooks: tuple[Hook, ...] = ()
    aims: Aims = field(default_factory=Aims)


@dataclass(frozen=True, kw_only=True)
class Block:
    """Every arm once, in this order, on one host."""

    number: int  # from 1
    order: tuple[str, ...]  # arm names
    seed: int  # the same for all arms of the block
    steps: Mapping[str, tuple[str, ...]] | None = None  # by workload, only these; None: all


@dataclass(frozen=True, kw_only=True)
class Headline:
    """A step's throughput: which role's work, counted how, under which published name."""

    metric: str  # "ips", "qps" or "scan"
    role: str
    count: str  # "rows", "operations", or "statements" with BEGIN and COMMIT
    work: int | None = None  # this much work instead of what was counted (l.x: indexed rows)
    each: int | None = None  # each operation counts as so much work (scan: the rows of a table)


@dataclass(frozen=True, kw_only=True)
class Sla:
    """A rate that a step's background work must hold (95 % of it counts as held)."""

    role: str
    rows_per_s: float  # all clients together


@dataclass(frozen=True, kw_only=True)
class Step:
    """One interval of a workload, expanded for one engine: ready to become a job."""

    ordinal: int  # from 1
    name: str
    workload: str
    measured: bool
    writes: bool
    warm: str
    setup: tuple[str, ...]  # SQL before the job, not measured (create tables)
    job: Json  # the job without server, seed, fake, autostart
    headline: Headline | None
    sla: Sla | None
    pad_to_s: float | None  # the step lasts at least this long
    roles: Mapping[str, str]  # role -> kind in the published tables: insert, delete, query, other
    tables: tuple[str, ...]  # the tables' names, for the probe
    # Statement name -> SQL for EXPLAIN: PostgreSQL's with $n, others' with sample literals.
    explain: Mapping[str, str]
    expected_s: float | None  # a guess for progress and `check`; None: unknown
    nominal_s: float | None  # what the step lasts where the target rate is held
    group: str | None = None  # the title under which tables list it: "point queries"


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a server answers.

    `host` that begins with `/` is a unix socket: its folder with PostgreSQL, its file with MySQL.
    """

    host: str
    port: int
    user: str
    database: str
    password: Password | None = None
    # libpq's sslmode: "prefer", "require", "verify-ca", "verify-full"; None: no TLS.
    tls: str | None = None
    tls_root: Path | None = None  # the certificates that are trusted; None: the system's


# --- What comes out --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ResponseTimes:
    """Response or service times of one kind of operation, all clients and seconds merged, in µs."""

    count: int
    buckets: tuple[int, ...]  # ten published buckets: 256us 1ms 4ms 16ms 64ms 256ms 1s 4s 16s more
    p50_us: float
    p90_us: float
    p99_us: float
    p999_us: float
    max_us: int


@dataclass(frozen=True, kw_only=True)
class Series:
    """Values over time; x in seconds since the window's start."""

    x_s: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class OwnerCost:
    """What one owner spent in exactly the window."""

    cpu_us: float
    context_switches: float | None
    read_bytes: float | None
    write_bytes: float | None
    run_delay_us: float | None = None  # ready and without a core; None: older results


@dataclass(frozen=True, kw_only=True)
class Span:
    """A time in which something ran, in seconds since the window's start (may begin before 0)."""

    kind: str  # "checkpoint" or "autovacuum"
    label: str
    start_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How much takes part in a step, as its job says."""

    clients: int
    connections: int  # of all roles, all clients
    tables: int


@dataclass(frozen=True, kw_only=True)
class Target:
    """How a role held the rate that the step asks of it, all clients together."""

    role: str
    kind: str  # "insert" or "delete"
    rows_per_s: float  # asked for
    achieved: float  # rows per second of the window
    met: bool  # at least 95 % of what was asked for (spec insert-benchmark.md 6.3)
    seconds: int  # whole seconds of the window, of a burst without the first (analysis/pace.py)
    seconds_missed: int  # of these, with less than 95 % of the target


@dataclass(frozen=True, kw_only=True)
class Fairness:
    """How evenly the clients of a role were served (seed 000; spec insert-benchmark.md 7)."""

    role: str
    kind: str  # insert, delete, query, other
    unit: str  # "rows" or "operations": what is counted
    counts: tuple[int, ...]  # by client, in the window
    rates: tuple[float, ...]  # by client, per second until its own end
    slices: tuple[tuple[float, ...], ...]  # by client: its rate in ten equal parts of the window
    jain: float | None  # (sum x)^2 / (n sum x^2) of the rates: 1 where all are equal
    finish_s: tuple[float, ...]  # by client, since the start; empty for a step bound by time
    min_s: float | None  # the published columns: first and last client to finish,
    max_s: float | None
    diff_s: float | None  # max - min,
    pct: float | None  # and that divided by min, in percent


@dataclass(frozen=True, kw_only=True)
class Stalls:
    """The seconds in which a role all but stood still."""

    role: str
    kind: str
    median: float  # rate of the median whole second, all clients
    seconds: int  # whole seconds of the window, of a burst without the first (analysis/pace.py)
    stalled: int  # of these, with less than 10 % of the median
    longest_s: int  # the longest run of stalled seconds


@dataclass(frozen=True, kw_only=True)
class StatementUse:
    """One kind of statement in the window of a step, all connections of a role together."""

    role: str
    name: str
    kind: str  # "statement", or "control": BEGIN, COMMIT, ROLLBACK
    per_s: float  # executions without error
    rows_per_s: float  # returned or affected
    found: float | None  # share of the executions that found a row; None: the statement has none


@dataclass(frozen=True, kw_only=True)
class WaitLoad:
    """How many sessions did one thing on average over a window."""

    owner: str  # "role:query", "background:checkpointer", "backend:other"
    kind: str  # "CPU", a class of wait events as the server has it, or "idle in transaction"
    event: str  # the wait event; empty on CPU
    statement: str  # its name in the job, else its text in short; empty in the background
    sessions: float  # average active sessions


@dataclass(frozen=True, kw_only=True)
class Waits:
    """What sessions were seen to do in samples of a window (spec pgbench-cbc-ybio.md 4.8)."""

    samples: int
    asked_s: float  # the interval that the plan asks for
    interval_s: float  # achieved: mean
    interval_s_max: float
    sample_us: float  # mean time that a sample took
    lab_cpu_us: float  # CPU of sampling in the window, on our side
    server_cpu_us: float | None  # and of the connection that is asked
    load: tuple[WaitLoad, ...]
    idle: Mapping[str, float]  # by owner: sessions that waited for their client
    over_time: Mapping[str, Series]  # by kind: active sessions, a mean for each second


@dataclass(frozen=True, kw_only=True)
class StepRun:
    """One step of one run, derived from its raw files. Without values: what was not measured."""

    workload: str
    arm: str
    block: int
    ordinal: int
    step: str
    measured: bool
    status: str  # "ok", "failed", "skipped"
    reason: str | None
    headline: str | None  # the headline metric's name
    sla_target: float | None  # rows per second, all clients
    seconds: float | None = None  # the window's length
    metrics: Mapping[str, float | None] = field(default_factory=dict)  # names of dbdyno.metric
    sla_achieved: float | None = None
    sla_met: bool | None = None
    # From due to completion: by kind (insert, delete, query), and by operation name.
    response: Mapping[str, ResponseTimes] = field(default_factory=dict)
    operations: Mapping[str, ResponseTimes] = field(default_factory=dict)
    # From sent to completion, as published; empty where the generator did not say it.
    service: Mapping[str, ResponseTimes] = field(default_factory=dict)
    operations_service: Mapping[str, ResponseTimes] = field(default_factory=dict)
    paced: tuple[str, ...] = ()  # kinds and operations that are due by a schedule, not in a loop
    series: Mapping[str, Series] = field(default_factory=dict)  # "insert.rate" …: analysis/series
    owners: Mapping[str, OwnerCost] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    end_spread: float | None = None  # (last − first client's end) / window
    limited: tuple[str, ...] = ()  # what limited the generator, so that the rate is "at least"
    warnings: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()  # the rates asked for: of inserts, and of deletes tied to them
    fairness: tuple[Fairness, ...] = ()  # roles with several clients
    stalls: tuple[Stalls, ...] = ()
    extent: Extent | None = None
    group: str | None = None  # the title under which tables list the step
    statements: tuple[StatementUse, ...] = ()
    waits: Waits | None = None
    plans: Mapping[str, str] = field(default_factory=dict)  # by statement: its plan without costs
    shape: str | None = None  # flat, warmed up, slowed, unsteady: analysis/steady.py
    position: int | None = None  # the arm's place among those of the block, from 0
    state_before: Mapping[str, float | None] = field(default_factory=dict)  # analysis/state.py
    state_after: Mapping[str, float | None] = field(default_factory=dict)
    servers: str = "PostgreSQL"  # or "InnoDB": whose statistics these are (dbdyno.metric.row)


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A ratio to the base with its 95 % t interval on log ratios (None with one block)."""

    value: float
    low: float | None
    high: float | None
    blocks: int


Bound = Literal["exact", "at least", "at most", "unknown"]
"""What a number is to the true one where the load generator was at its limit; unknown: on both."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One arm in one step, over all blocks that are judged."""

    arm: str
    runs: tuple[StepRun, ...]  # by block
    value: float | None  # geometric mean of the headline metric over the runs that have it
    value_bound: Bound  # of `value`
    ratio: Ratio | None  # to the base, over the blocks that have both
    ratio_bound: Bound  # of `ratio`
    sla_met: int | None  # in how many runs; None where the step has no target
    metrics: Mapping[str, float | None]  # arithmetic mean over blocks
    ratios: Mapping[str, Ratio]  # of each metric that both arms have
    verdict: Verdict | None = None  # None: the base, or a step without a headline
    costs: Mapping[str, Judgement] = field(default_factory=dict)  # explanatory, by metric
    explanation: Explanation | None = None  # of what is faster, slower or mixed


@dataclass(frozen=True, kw_only=True)
class StepComparison:
    """One step, all arms, the base first."""

    workload: str
    ordinal: int
    step: str
    headline: str | None
    cells: tuple[Cell, ...]
    group: str | None = None  # the title under which tables list it
    notices: tuple[str, ...] = ()  # what the arms did not have alike


@dataclass(frozen=True, kw_only=True)
class Across:
    """Two steps of one arm: the throughput of the second by that of the first, paired by block."""

    kind: Literal["post by pre", "scale-up"]
    workload: str
    arm: str
    first: str  # a step's name: before the writes, or with the fewest clients
    second: str
    ratio: Ratio | None  # None: no block has both
    clients: tuple[int, int] | None = None  # of both; scale-up only, where their quotient is ideal


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something in which two arms differ that the plan names, or does not name."""

    what: str  # "version", "compiler", "setting work_mem" …
    values: Mapping[str, str]  # by arm
    planned: bool


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Everything that a report shows, in plain values."""

    title: str
    label: str | None
    base: str
    arms: tuple[str, ...]  # the base first
    blocks: int  # judged
    void_blocks: tuple[str, ...]  # with reasons
    host: Json
    generator: Json | None  # generator.jsonl's last line: the load generator's ceiling on this host
    servers: Mapping[str, Json]  # arm -> server.json of its last run
    plan: Json
    steps: tuple[StepComparison, ...]
    across: tuple[Across, ...] = ()
    overall: tuple[Overall, ...] = ()
    calibration: Calibration | None = None  # where a double of the base was measured
    sizing: Sizing | None = None  # where a pilot fixed the number of blocks
    aims: Aims = field(default_factory=Aims)
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]
    incomplete: str | None  # "2 of 3 blocks done", else None
