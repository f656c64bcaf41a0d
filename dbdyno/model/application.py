"""An application's queries together on an arm beside the base, each weighted by its calls, and on
what that stands: of each stage, the share of the source's time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from dbdyno.model.facts import Facts, says
from dbdyno.model.golden import RestoreSummary
from dbdyno.model.ratio import Bound, Ratio

Stage = Literal["captured", "restored", "answered", "timed", "counted"]
"""`restored`: whose tables, columns and functions the copy has, as far as answers say it."""
Names = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class StageGap:
    """Calls of the source of which a stage says nothing, by reason."""

    stage: Annotated[Stage, says("the stage")]
    reason: Annotated[str, says("why they did not reach it")]
    share: Annotated[float, says("their share of all calls of the source")]
    queries: Annotated[int, says("how many queries; 0: capture knows their calls alone")] = 0
    calls: Annotated[int | None, says("how many calls; null: not counted")] = None


@dataclass(frozen=True, kw_only=True)
class StageReach:
    """A stage of the work, and what reached it."""

    stage: Annotated[Stage, says("captured, restored, answered, timed or counted")]
    share: Annotated[float, says("the share of all calls of the source that reached it")]
    queries: Annotated[int, says("how many queries did")]


@dataclass(frozen=True, kw_only=True)
class ApplicationWork:
    """Instructions of an arm's counted queries by the base's, each weighted by its calls."""

    instructions: Annotated[Ratio, says("instructions of the counted queries by the base's")]
    queries: Annotated[int, says("queries that were counted on both")]
    covered: Annotated[
        float | None, says("the share of the source's time that these have; null: not known")
    ]
    more: Annotated[Names, says("queries that do more work, those first that weigh most")]
    less: Annotated[Names, says("queries that do less, likewise")]


@dataclass(frozen=True, kw_only=True)
class ApplicationResult:
    """An arm beside the base over an application's queries; times are in ISO 8601."""

    workload: Annotated[str, says("the workload's name")]
    arm: Annotated[str, says("the arm's name")]
    queries: Annotated[int, says("queries that both arms ran in each of the blocks")]
    covered: Annotated[
        float | None, says("the share of the source's time that these have; null: not known")
    ]
    time: Annotated[Ratio | None, says("the time of their calls by the base's")]
    time_bound: Annotated[
        Bound, says("exact, or what that is where calls of some were too slow to count")
    ] = "exact"
    cpu: Annotated[Ratio | None, says("their CPU by the base's; null: no block tells it")]
    cpu_lacks: Annotated[
        int, says("queries of which no block tells CPU: the server ended their calls")
    ] = 0
    failed: Annotated[Names, says("queries that fail on this arm alone")]
    base_failed: Annotated[Names, says("queries that fail on the base alone")]
    both_failed: Annotated[Names, says("queries that fail on both")]
    work: ApplicationWork | None = None  # None: none of its queries was counted
    by: Annotated[
        Literal["time", "calls"], says("shares are of the source's time, or of its calls")
    ] = "time"
    lacks: Annotated[Names, says("what the dump or its restore left out")] = ()
    dumped: Annotated[str | None, says("when the dump was made")] = None
    first: Annotated[str | None, says("when the first captured call began")] = None
    last: Annotated[str | None, says("when the last one did")] = None
    cut: Annotated[Names, says("queries whose texts the source may have cut")] = ()
    stages: Annotated[
        tuple[StageReach, ...], says("a stage of an application's work on an arm")
    ] = ()
    gaps: Annotated[tuple[StageGap, ...], says("what did not reach a stage, by reason")] = ()

    def asked(self, stage: Stage) -> int:
        """How many queries a stage has."""
        return sum(each.queries for each in self.stages if each.stage == stage)


@dataclass(frozen=True, kw_only=True)
class ApplicationFacts(Facts):
    """The applications of a result."""

    applications: Annotated[
        tuple[ApplicationResult, ...],
        says("an arm beside the base over an application's queries, each weighted by its calls"),
    ] = ()
    # By workload and arm what a dump lacked; nothing of servers that had their data already.
    restores: Mapping[tuple[str, str], RestoreSummary] = field(default_factory=dict)
