"""What one step of one run came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    metrics: Mapping[str, float | None] = field(
        default_factory=dict
    )  # names of dbdyno.model.metric
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
    # What limited the generator, so that the rate is "at least"; None: the load does not tell.
    limited: tuple[str, ...] | None = ()
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
    servers: str = "PostgreSQL"  # or "InnoDB": whose statistics these are (dbdyno.model.metric.row)
