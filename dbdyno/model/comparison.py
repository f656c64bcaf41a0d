"""The results of the arms beside the base."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dbdyno.model.application import ApplicationFacts, ApplicationResult
from dbdyno.model.attribution import Design
from dbdyno.model.ceiling import Ceiling
from dbdyno.model.doubt import DoubtGroup
from dbdyno.model.facts import F, Facts, among
from dbdyno.model.grouping import grouped
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.looks import LookProgress
from dbdyno.model.nodes import NodeComparison
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.query_change import QueryChanges
from dbdyno.model.ratio import Bound, PairedEstimate
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.service_profile import Mode
from dbdyno.model.step_run import StepRun
from dbdyno.model.tolerance import StepTolerance, Tolerance
from dbdyno.model.verdict import Aims, Calibration, Explanation, Judgement, OverallRatio, Verdict

FOUND_MIN = 0.99
"""Of a statement's executions: with more that found no row, its rate is mostly one of misses."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One arm in one step, over all blocks that are judged."""

    arm: str
    runs: tuple[StepRun, ...]  # by block
    value: float | None  # of the headline, as `metrics` has it
    value_bound: Bound  # of `value`
    time_bound: Bound = field(default="exact", kw_only=True)  # of response times
    ratio: PairedEstimate | None  # of the headline, as `estimates` has it
    ratio_bound: Bound  # of `ratio`
    sla_met: int | None  # in how many runs; None where the step has no target
    metrics: Mapping[str, float | None]  # over blocks, as each metric is taken
    estimates: Mapping[str, PairedEstimate]  # beside the base, of what both arms have
    own_values: Mapping[str, PairedEstimate] = field(default_factory=dict)  # the workload's
    verdict: Verdict | None = None  # None: the base, or a step without a headline
    tolerated: StepTolerance | None = None  # where a tolerance is asked for
    costs: Mapping[str, Judgement] = field(default_factory=dict)  # explanatory, by metric
    explanation: Explanation | None = None  # of what is faster or slower
    nodes: tuple[
        NodeComparison, ...
    ] = ()  # of each primary metric that two nodes have, where they do

    def each(self, facts: type[F]) -> Iterator[F]:
        """What a finding tells of each run, by block."""
        return (run.of(facts) for run in self.runs)

    @property
    def lost(self) -> bool:
        """Whether a loss beyond the tolerance was shown here, or the arm failed."""
        return self.tolerated is not None and self.tolerated.answer == "no"


@dataclass(frozen=True, kw_only=True)
class StepComparison:
    """One step, all arms, the base first."""

    workload: str
    ordinal: int
    step: str
    headline: str | None
    cells: tuple[Cell, ...]
    group: str | None = None  # the title under which tables list it
    left_out: str = ""  # why it has no undisturbed time; of what is measured
    modes: Mapping[str, Mapping[str, Mode]] = field(default_factory=dict)
    """Of service times those that are compared, by operation and arm."""

    def each(self, facts: type[F]) -> Iterator[F]:
        """What a finding tells of each run, by arm and block."""
        return (run.of(facts) for run in self.runs)

    @property
    def runs(self) -> Iterator[StepRun]:
        """The runs of all arms, by block."""
        return (run for cell in self.cells for run in cell.runs)

    @property
    def blocks(self) -> int:
        """The most blocks that an arm has of it."""
        return max((len(cell.runs) for cell in self.cells), default=0)

    @property
    def measured(self) -> bool:
        """Whether it has metrics: others only bring the database into a state."""
        return any(run.facts.measured for run in self.runs)


OF_SOME = "settings that not all have"
"""What a difference in the names of settings is called."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something in which two arms differ that the plan names, or does not name."""

    what: str  # "version", "compiler", "setting work_mem" …
    values: Mapping[str, str]  # by arm
    planned: bool


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Everything that a report shows, in plain values."""

    folder: str = "."  # of the result, as it was named
    title: str
    label: str | None
    base: str
    arms: tuple[str, ...]  # the base first
    blocks: int  # judged
    unverified: tuple[int, ...] = ()  # numbers of those without checksums of their files
    host: HostFacts
    generator: (
        Ceiling | None
    )  # generator.jsonl's last line: the load generator's ceiling on this host
    hosts: Mapping[str, HostFacts] = field(default_factory=dict)  # facts of each that has a name
    generators: Mapping[str, Ceiling] = field(default_factory=dict)  # the ceiling on each of these
    nodes: Mapping[int, str] = field(default_factory=dict)  # by block; empty: none has a name
    servers: Mapping[str, ServerFacts]  # arm -> server.json of its last run
    plan: PlanRecord
    steps: tuple[StepComparison, ...]
    overall: tuple[OverallRatio, ...] = ()
    calibration: Calibration | None = None  # where an A/A arm was shown
    looked: LookProgress | None = None  # how far the looks have come; None where nothing is judged
    aims: Aims = field(default_factory=Aims)
    design: Design | None = None  # by which two arms are taken apart
    differences: tuple[Difference, ...]
    doubts: tuple[DoubtGroup, ...]  # by subject, in order of weight, and arm
    one_fill: tuple[str, ...] = ()  # workloads of one fill, whose scatter is in no interval
    incomplete: str | None  # "2 of 3 blocks done", else None
    findings: Mapping[str, Facts] = field(default_factory=dict)  # by the names of their types

    def of(self, facts: type[F]) -> F:
        """What a finding tells of the result; facts without values where it tells nothing."""
        return among(self.findings, facts)

    @property
    def applications(self) -> tuple[ApplicationResult, ...]:
        """The applications of workloads that are some, for each arm beside the base."""
        return self.of(ApplicationFacts).applications

    @property
    def queries(self) -> QueryChanges:
        """What became of applications' queries: their answers and plans."""
        return self.of(QueryChanges)

    def name_of(self, step: StepComparison | NodeComparison) -> str:
        """A step's name, with its workload's where there are several."""
        several = len({each.workload for each in self.steps}) > 1
        return f"{step.workload} {step.step}" if several else step.step

    @property
    def tolerances(self) -> tuple[Tolerance, ...]:
        """The answers of each arm but the A/A arm, where a tolerance is asked for."""
        by_arm = grouped(
            (cell.arm, cell.tolerated)
            for step in self.steps
            for cell in step.cells
            if cell.tolerated is not None
        )
        return tuple(Tolerance(arm=arm, steps=tuple(steps)) for arm, steps in by_arm.items())

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """Those of all steps and arms, then those over the steps of a workload."""
        verdicts = (cell.verdict for step in self.steps for cell in step.cells)
        of_steps = (each for verdict in verdicts if verdict for each in verdict.judgements)
        return (*of_steps, *(whole.judgement for whole in self.overall))

    @property
    def failed(self) -> bool:
        """Whether a step of an arm failed, was skipped or is damaged, in any block."""
        cells = (cell for step in self.steps for cell in step.cells)
        return any(run.ending.status != "ok" for cell in cells for run in cell.runs)
