"""The result of one step of one run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

from dbdyno.model.facts import Facts, says
from dbdyno.model.find import SearchWindow
from dbdyno.model.profile import Profile

F = TypeVar("F", bound=Facts)

SERVER_OWNERS = ("role:", "parallel:", "background:", "backend:", "exited")
"""How the names of owners begin whose costs are the server's."""
IDLE = "idle:"
"""Before an owner of the server, for its cost between the arm's turns: no part of the window's."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Values over time; x in seconds since the window's start."""

    x_s: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A second of a window, or a turn, or some short turns together."""

    turn: int  # the number of its turn, or of the first, from 1; 0: the step had no turns
    turns: int  # so many together; 0 without turns
    seconds: float  # of active time
    rate: float  # of what the headline counts, by second
    cpu_us: float | None  # of the server for each of it; None: not known


@dataclass(frozen=True, kw_only=True)
class OwnerCost:
    """The cost of one owner in exactly the window."""

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

    role: Annotated[str, says("the role's name")]
    kind: Annotated[str, says("insert or delete")]
    target_per_s: Annotated[float, says("requested", "rows/s")]
    achieved_per_s: Annotated[float, says("the role's actual rate in the window", "rows/s")]
    # At least 95 % of what was asked for (spec insert-benchmark.md 6.3).
    met: Annotated[bool, says("whether that is at least 95 % of it")]
    # Of a burst without the first (evidence/role_seconds.py).
    seconds: Annotated[int, says("whole seconds of the window", "s")]
    seconds_missed: Annotated[int, says("of these, with less than 95 % of it", "s")]


@dataclass(frozen=True, kw_only=True)
class TargetFacts(Facts):
    """The rates asked of a step's inserts, and of the deletes tied to them; judges read it, too."""

    targets: Annotated[
        tuple[Target, ...], says("a rate that a step requests of a role, and its actual rate")
    ] = ()

    @property
    def achieved_per_s(self) -> float | None:
        """Rows per second of the role whose rate the step asks for; None without a target."""
        return self.targets[0].achieved_per_s if self.targets else None

    @property
    def met(self) -> bool | None:
        """Whether that role held its rate; None without a target."""
        return self.targets[0].met if self.targets else None


@dataclass(frozen=True, kw_only=True)
class ToldValue:
    """A value that a step tells by itself, as its workload says."""

    metric: Annotated[str, says("its name in the workload")]
    title: Annotated[str, says("its title in reports")]
    unit: Annotated[str | None, says("its unit")]
    better: Annotated[
        Literal["more", "less"] | None, says("which way is better: more or less; null: neither")
    ]
    value: Annotated[float | None, says("its value; null: missing, or a text", "by metric")]
    text: Annotated[str | None, says("its value if it is a text")] = None


@dataclass(frozen=True, kw_only=True)
class ToldFacts(Facts):
    """The metrics that a step's workload defines; judges compare them, too."""

    told: Annotated[
        tuple[ToldValue, ...],
        says("a metric that a step of a run reports, as its workload defines"),
    ] = ()

    @property
    def numbers(self) -> dict[str, float | None]:
        """Those that are numbers, by their names."""
        return {told.metric: told.value for told in self.told if told.value is not None}


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
    """The sampled activity of sessions in a window (spec pgbench-cbc-ybio.md 4.8)."""

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
    hidden: float = 0.0  # other users' sessions, which the server does not show to the plan's user


# --- What a step of a run came to ------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StepFacts:
    """The facts of a step, known even if it never ran."""

    workload: str
    ordinal: int  # from 1
    step: str
    measured: bool
    group: str | None = None  # the title under which tables list the step
    headline: str | None = None  # the headline metric's name
    sla_target: float | None = None  # rows per second, all clients
    extent: Extent | None = None  # None: its job is not there
    probed: SearchWindow | None = None  # a window of a search; None: a step


Slow = Literal["", "filled", "ended"]
"""How calls were too slow to count: they filled their turns; the server ended one by its limit."""
TIMED_OUT = re.compile(r": timed out: the server ended it at its limit of ([0-9.]+) s")
"""How dyno-loadgen says it (contract/README.md, "roles")."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a step ended."""

    status: str  # "ok", "failed", "skipped"
    reason: str | None = None  # of one that did not end well

    @property
    def timed_out_s(self) -> float | None:
        """The limit at which the server ended the statement that failed it; None: it did not."""
        match = TIMED_OUT.search(self.reason or "")
        return None if match is None else float(match[1])


@dataclass(frozen=True, kw_only=True)
class Window:
    """The measured part of a step; without values: there was none."""

    seconds: float | None = None  # its length
    counted: float | None = None  # what the headline counts, by which costs are divided
    # The share of it that may lie across the window's edges; None: what counts has none there.
    edge_share: float | None = None
    end_spread: float | None = None  # (last - first client's end) / window; None: timed
    shape: str | None = None  # flat, warmed up, slowed, unsteady: dbdyno.stats.rate_shape
    # What limited the generator, so that the rate is "at least"; None: the load does not tell.
    limited: tuple[str, ...] | None = ()
    # What of the generator is in the response times, so that they are "at most".
    delayed: tuple[str, ...] = ()
    # Why the rate is "at most", which then is what is sure of it (dbdyno.evidence.slow_calls).
    slow: Slow = ""


@dataclass(frozen=True, kw_only=True)
class ServerSide:
    """The server's own figures."""

    statistics: str = "PostgreSQL"  # or "InnoDB": whose they are (dbdyno.model.metric.row)
    before: Mapping[str, float | None] = field(default_factory=dict)  # dbdyno.model.metric.state
    after: Mapping[str, float | None] = field(default_factory=dict)
    plans: Mapping[str, str] = field(default_factory=dict)  # by statement: its plan without costs
    spans: tuple[Span, ...] = ()  # checkpoints and autovacuum that touch the window
    waits: Waits | None = None  # None: nobody sampled them
    # Of a server elsewhere: parts of its state and counters that it did not tell, with the reason.
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Link:
    """The network between the host of a generator and the server; None: not known."""

    round_trip_us: float | None  # to the server's port, before the load; the shortest of some
    offset_us: float | None  # its CLOCK_MONOTONIC less that of the server's host
    offset_bound_us: float | None  # how far wrong that may be
    sent_bytes: int | None  # by its interface, from the load's beginning to the window's end
    received_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class Network:
    """The network of a step whose load came from other hosts."""

    links: Mapping[str, Link]  # by host
    seconds: float | None  # in which the bytes were counted
    operations: int | None  # of the headline's role in that time; None: without one, or not told


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A moment by the clock of a boot and by the wall clock, whose time is None where not told."""

    mono_ns: int
    unix_ns: int | None


@dataclass(frozen=True, kw_only=True)
class Imprint:
    """What only one run has (analysis.step.imprint): two with the same marks are copies."""

    begun: Moment  # its first event
    ended: Moment  # its last
    times: tuple[int, ...]  # marks of the times between its events
    ticks: tuple[int, ...]  # marks of what its seconds tell


@dataclass(frozen=True, kw_only=True)
class StepRun:
    """One step of one run, derived from its raw files. Without values: what was not measured."""

    facts: StepFacts
    arm: str
    block: int
    position: int | None = None  # the arm's place among those of the block, from 0
    ending: Ending
    generator: str | None = None  # version and commit of dyno-loadgen; None: another program
    window: Window = Window()
    metrics: Mapping[str, float | None] = field(default_factory=dict)  # by dbdyno.model.metric
    findings: Mapping[str, Any] = field(default_factory=dict)  # facts by their types' names
    network: Network | None = None  # None: the load was made beside the server
    server: ServerSide = ServerSide()
    owners: Mapping[str, OwnerCost] = field(default_factory=dict)
    series: Mapping[str, Series] = field(default_factory=dict)  # "insert.rate" …
    segments: tuple[Segment, ...] = ()  # of a step that ended well
    imprint: Imprint | None = None  # of such a step
    profile: Profile | None = None  # of an unjudged repetition of it; None: there is none
    warnings: tuple[str, ...] = ()

    def of(self, facts: type[F]) -> F:
        """What a finding tells of the step; facts without values where it tells nothing."""
        kept = self.findings.get(facts.__name__)
        return kept if isinstance(kept, facts) else facts()

    def telling(self, facts: Facts) -> StepRun:
        """The run with these facts in place of those of their type."""
        return replace(self, findings={**self.findings, type(facts).__name__: facts})
