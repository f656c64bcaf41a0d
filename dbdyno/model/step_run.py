"""The result of one step of one run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from dbdyno.model.doubt import Doubt
from dbdyno.model.facts import F, Facts, among, says
from dbdyno.model.find import SearchWindow
from dbdyno.model.profile import Profile

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
class OwnerCost:
    """The cost of one owner in exactly the window."""

    owner: Annotated[str, says("role:NAME, parallel:ROLE, background:KIND, rest …")]
    cpu_us: Annotated[float, says("CPU time, user and system", "µs")]
    context_switches: Annotated[float | None, says("voluntary and involuntary")] = None
    read_bytes: Annotated[float | None, says("read from disk", "bytes")] = None
    write_bytes: Annotated[float | None, says("written to disk", "bytes")] = None
    run_delay_us: Annotated[
        float | None, says("ready, and without a core; null in older results", "µs")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Span:
    """A time in which something ran, on the window's clock."""

    kind: Annotated[str, says("checkpoint or autovacuum")]
    label: Annotated[str, says("the server's log message")]
    start_s: Annotated[float, says("its begin, since the window opened (may be before 0)", "s")]
    end_s: Annotated[float, says("its end", "s")]


@dataclass(frozen=True, kw_only=True)
class BackgroundFacts(Facts):
    """The checkpoints and autovacuum runs that touch a window; judges read it, too."""

    spans: Annotated[
        tuple[Span, ...], says("a time in which a checkpoint or an autovacuum ran beside a step")
    ] = ()

    def overlap_s(self, kind: str, window_s: float) -> float:
        """Seconds of the window in which at least one span of the kind was running."""
        covered_s = reached_s = 0.0
        for span in sorted(self.spans, key=lambda span: span.start_s):
            if span.kind == kind:
                start_s, end_s = max(span.start_s, reached_s), min(span.end_s, window_s)
                covered_s += max(end_s - start_s, 0.0)
                reached_s = max(reached_s, end_s)
        return covered_s


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
    damaged: bool = False  # whether it failed because a file was damaged after it was measured

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
    plans: Mapping[str, str] = field(default_factory=dict)  # by statement: its plan without costs


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A moment by the clock of a boot and by the wall clock, whose time is None where not told."""

    mono_ns: int
    unix_ns: int | None


@dataclass(frozen=True, kw_only=True)
class Imprint:
    """What only one run has (findings.imprint.step): two with the same marks are copies."""

    begun: Moment  # its first event
    ended: Moment  # its last
    times: tuple[int, ...]  # marks of the times between its events
    ticks: tuple[int, ...]  # marks of what its seconds tell


@dataclass(frozen=True, kw_only=True)
class ImprintFacts(Facts):
    """The imprint of a step that ended well; judges read it."""

    imprint: Imprint | None = None


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
    server: ServerSide = ServerSide()
    series: Mapping[str, Series] = field(default_factory=dict)  # "insert.rate" …
    profile: Profile | None = None  # of an unjudged repetition of it; None: there is none
    doubts: tuple[Doubt, ...] = ()  # without their place, which is this run's

    def of(self, facts: type[F]) -> F:
        """What a finding tells of the step; facts without values where it tells nothing."""
        return among(self.findings, facts)

    def telling(self, facts: Facts) -> StepRun:
        """The run with these facts in place of those of their type."""
        return replace(self, findings={**self.findings, type(facts).__name__: facts})
