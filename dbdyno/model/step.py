"""A step of a workload, as it is measured."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self

from msgspec import structs

from dbdyno.model.find import SearchWindow
from dbdyno.model.job import Job
from dbdyno.model.json import Natural, Positive

Change = Literal["second", "minute", "hour", "load"]
"""The time by which a change over the load is divided; by nothing where it is of the whole load."""
StepName = tuple[str, str]
"""Workload and step."""


@dataclass(frozen=True, kw_only=True)
class Headline:
    """A step's throughput: which role's work, counted how, under which published name.

    Of the whole window are "seconds", its length, and "mbps", its work in bytes by that.
    """

    metric: str  # "ips", "qps", "opm", "scan", "riops", "seconds" or "mbps"
    role: str
    count: str  # "rows", "operations", or "statements" with BEGIN and COMMIT
    work: Natural | None = None  # this much work instead of what was counted (l.x: indexed rows)
    each: Natural | None = None  # each operation counts as so much work (scan: the rows of a table)
    work_query: str | None = None  # in place of `work`: SQL that is asked for it after the load
    operations: tuple[str, ...] = ()  # those of these names count, not all of the role's

    @property
    def has_work(self) -> bool:
        """Whether its work is told beforehand, or asked for afterwards, and not counted."""
        return self.work is not None or self.work_query is not None

    @property
    def is_whole(self) -> bool:
        """Whether its step has no rate before its end."""
        return self.metric == "seconds" or self.has_work


@dataclass(frozen=True, kw_only=True)
class MetricSource:
    """A metric of the workload's own, and the one place that its value comes from."""

    name: str
    title: str
    unit: str
    better: Literal["more", "less"] | None
    take: Literal["first", "last", "sum", "max", "mean"]  # which of several values
    text: bool  # whether the value is a text
    column: str | None = None  # of rows that statements returned
    pattern: str | None = None  # a regular expression for lines of notices and rows, with one group
    of: str | None = None  # the statement whose rows and notices these are; None: all
    query: str | None = None  # SQL that is asked after the load
    change: Change | None = None  # asked before the load, too: how far it has moved, per what


@dataclass(frozen=True, kw_only=True)
class Condition:
    """What has to hold after a step: a question that counts what breaks it."""

    name: str
    query: str  # SQL whose answer is 0 where it holds


@dataclass(frozen=True, kw_only=True)
class Right:
    """A privilege that a step needs of the user of a server elsewhere."""

    name: str
    query: str  # SQL whose answer is true or false


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A part that a server must have before it is filled, such as a storage engine."""

    part: str
    query: str  # SQL whose answer is true or false
    remedy: str  # what the user does about it
    storage_engine: str = ""  # by whose name a server's program tells it, too


@dataclass(frozen=True, kw_only=True)
class Sla:
    """A rate that a step's background work must hold (95 % of it counts as held)."""

    role: str
    rows_per_s: Positive  # all clients together


@dataclass(frozen=True, kw_only=True)
class Step:
    """One interval of a workload, expanded for one engine: ready to become a job."""

    ordinal: int  # from 1
    name: str
    workload: str
    measured: bool
    writes: bool
    goes_on: bool = False  # whether the steps after it are taken where it fails
    # Relations that are read into the server's cache before the step, the last one stays.
    warm: tuple[str, ...] | Literal["none"]
    setup: tuple[str, ...]  # SQL before the job, not measured (create tables)
    job: Job  # without server, seed, fake, autostart
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
    invariants: tuple[str, ...] = ()  # SQL whose answer the load must not change
    conditions: tuple[Condition, ...] = ()  # that hold after the load
    makes: tuple[str, ...] = ()  # tables that its own statements create
    metrics: tuple[MetricSource, ...] = ()  # beside those that every step has
    rights: tuple[Right, ...] = ()  # that its statements need
    requires: tuple[Requirement, ...] = ()  # of the server, whoever made it
    device_gb: float = 0.0  # (2^30 bytes) that the canary writes and reads before its load
    sweep: str | None = None  # the name that all steps of its sweep begin with; None: it is in none
    p99_below_us: float | None = None  # after it the highest rate is searched that keeps this
    probed: SearchWindow | None = None  # a window of such a search; None: a step
    turn_s: float = 0.0  # the least length of its turns, where arms take turns
    private: bool = False  # whether it has values of the user's, which no result may hold

    @property
    def device_bytes(self) -> int:
        """How large a file the canary writes and reads before the step's load."""
        return round(self.device_gb * (1 << 30))

    def alone(self, seconds: float, warmup_s: float = 0) -> Self:
        """Its load for so many seconds, with nothing around it."""
        stop = structs.replace(self.job.stop, seconds=seconds, warmup_s=warmup_s)
        return replace(
            self,
            job=structs.replace(self.job, stop=stop),
            expected_s=seconds + warmup_s,
            warm="none",
            invariants=(),
            conditions=(),
            metrics=(),
            pad_to_s=None,
            device_gb=0.0,
            p99_below_us=None,
        )
