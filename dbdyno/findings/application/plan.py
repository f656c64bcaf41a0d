"""An application on each arm: the costs of its queries, weighted by how often each is called.

The datum is the block: the sum of calls times cost of an arm by that of the base. So a query that
is called often counts as much as it does in production, and the interval counts blocks.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from dbdyno.evidence import generator_limit
from dbdyno.findings.application import counted, restores, stages
from dbdyno.findings.application.restores import EARLIER, Restores
from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.judge.step_cells import StepRow
from dbdyno.model import Bound, Cell, Ratio, StepComparison, StepRun
from dbdyno.model.application import ApplicationFacts, ApplicationResult
from dbdyno.model.grouping import grouped
from dbdyno.model.metric.primary import cpu_of
from dbdyno.model.plan_record import ApplicationRecord, PlanRecord, WorkloadRecord
from dbdyno.model.query_change import QueryChanges
from dbdyno.model.ratio import OPPOSITE
from dbdyno.model.work import WorkComparison
from dbdyno.stats.interval import ratio_interval

RATE = "qps"
"""The metric by which a query's step is judged."""
Cost = Callable[[StepRun], float | None]
"""A cost of one operation of a run, in any unit; None: the run does not tell it."""


@dataclass(frozen=True, kw_only=True)
class QueryFacts:
    """What is known of queries beside their steps."""

    queries: QueryChanges = field(default_factory=QueryChanges)
    counts: WorkComparison = field(default_factory=WorkComparison)
    restores: Restores = field(default_factory=dict)


def of_plan(compared: JudgedResult) -> ApplicationFacts:
    """The applications of a result, with what was restored for them."""
    restored = restores.load([*compared.blocks, *compared.repeats], compared.lost)
    known = QueryFacts(
        queries=compared.of(QueryChanges), counts=compared.of(WorkComparison), restores=restored
    )
    return ApplicationFacts(
        applications=results(compared.rows, compared.plan, compared.arms.shown, known),
        restores=restored,
    )


FINDING = PlanFinding(facts=ApplicationFacts, of_plan=of_plan)


def results(
    rows: Sequence[StepRow], plan: PlanRecord, arms: Sequence[str], known: QueryFacts = QueryFacts()
) -> tuple[ApplicationResult, ...]:
    """The application of each workload that is one, for each arm beside the first."""
    return tuple(
        _ArmApplication(
            application=use.application,
            use=use,
            arm=arm,
            place=place,
            steps=[
                row.step
                for row in rows
                if row.step.workload == use.folder and row.step.step in use.application.by_name
            ],
            known=known,
        ).result()
        for use in plan.workloads
        if use.application is not None
        for place, arm in enumerate(arms)
        if place
    )


def without_common_failures(rows: Sequence[StepRow], plan: PlanRecord) -> tuple[StepRow, ...]:
    """The steps without an application's queries that fail on all arms, of which nothing is known.

    They are named by `results`, and by the comparison of answers.
    """
    queries = {
        (use.folder, name)
        for use in plan.workloads
        if use.application is not None
        for name in use.application.by_name
    }
    return tuple(
        row
        for row in rows
        if (row.step.workload, row.step.step) not in queries
        or any(run.ending.status == "ok" for run in row.step.runs)
    )


@dataclass(frozen=True)
class _QueryPair:
    """A query on an arm and on the base."""

    step: StepComparison
    calls: float
    own: Cell
    base: Cell
    bound: Bound  # what the ratio of rates is, where calls were too slow to count

    @property
    def both_ran(self) -> bool:
        """Whether both ran it in every block."""
        return not _fails(self.own) and not _fails(self.base) and self.bound != "unknown"

    def lacking(self, arm: str) -> str:
        """Why no time of it counts."""
        failing = (_fails(self.own), _fails(self.base))
        if any(failing):
            return f"fail on {'both' if all(failing) else arm if failing[0] else self.base.arm}"
        return "calls longer than turns on both" if self.bound == "unknown" else "without a figure"


@dataclass(frozen=True, kw_only=True)
class _ArmApplication:
    """An application on an arm beside the base."""

    application: ApplicationRecord
    use: WorkloadRecord
    arm: str
    place: int  # of its cell in each step
    steps: Sequence[StepComparison]
    known: QueryFacts

    @property
    def workload(self) -> str:
        """The name of its folder."""
        return self.use.folder

    def result(self) -> ApplicationResult:
        """The sums over its queries, those that fail, and what all that stands on."""
        queries, pairs = self.application.by_name, list(map(self._pair, self.steps))
        ran = _told([pair for pair in pairs if pair.both_ran], time_of)
        cpu = cpu_of([run for pair in ran for cell in (pair.own, pair.base) for run in cell.runs])
        telling = _told(ran, lambda run: run.metrics.get(cpu))
        bounds = {pair.bound for pair in ran} - {"exact"}
        work = counted.of_arm(self.application, self.workload, self.arm, self.known.counts)
        timed = sum(self.application.share(queries[pair.step.step]) for pair in ran)
        covered = min(1.0, timed) if self.application.whole_s and ran else None
        result = ApplicationResult(
            workload=self.workload,
            arm=self.arm,
            covered=covered if ran or work is None else work.covered,
            queries=len(ran) if ran or work is None else work.queries,
            cpu=_ratio(telling, lambda run: run.metrics.get(cpu)),
            cpu_lacks=len(ran) - len(telling) if telling else 0,
            time=_ratio(ran, time_of),
            time_bound=OPPOSITE[bounds.pop()]
            if len(bounds) == 1
            else "unknown"
            if bounds
            else "exact",
            failed=_names(pairs, own=True, base=False),
            base_failed=_names(pairs, own=False, base=True),
            both_failed=_names(pairs, own=True, base=True),
            work=work,
        )
        return self._based(result, pairs, {pair.step.step for pair in ran})

    def _pair(self, step: StepComparison) -> _QueryPair:
        own, base = step.cells[self.place], step.cells[0]
        return _QueryPair(
            step=step,
            calls=self.application.by_name[step.step].calls,
            own=own,
            base=base,
            bound=generator_limit.slow_bound(base.runs, own.runs),
        )

    def _based(
        self, result: ApplicationResult, pairs: Sequence[_QueryPair], timed: Container[str]
    ) -> ApplicationResult:
        absent = stages.NOT_COUNTED if timed else "not timed"
        untimed = {
            pair.step.step: "" if pair.step.step in timed else pair.lacking(self.arm)
            for pair in pairs
        }
        uncounted = {
            change.step: "" if change.of_arm is not None else "fails while it is counted"
            for change in self.known.counts.changes
            if (change.workload, change.arm) == (self.workload, self.arm)
        }
        return stages.of_arm(
            result,
            self.application,
            answers={
                change.step: change
                for change in self.known.queries.answers
                if (change.workload, change.arm) == (self.workload, self.arm)
            },
            lacking=stages.Lacking(
                timed=dict.fromkeys(self.application.by_name, absent) | untimed, counted=uncounted
            ),
            restored=self.known.restores.get(
                (self.workload, self.arm), EARLIER if self.use.restore else None
            ),
        )


def time_of(run: StepRun) -> float | None:
    """The time of a call; None: the run does not tell a rate."""
    rate = run.metrics.get(RATE)
    return 1 / rate if rate else None


def _names(pairs: Sequence[_QueryPair], *, own: bool, base: bool) -> tuple[str, ...]:
    """The queries that fail on exactly these sides in some block."""
    return tuple(
        pair.step.step for pair in pairs if (_fails(pair.own), _fails(pair.base)) == (own, base)
    )


def _fails(cell: Cell) -> bool:
    """Whether it failed in some block; a call that the server ended at its limit has a cost."""
    return any(run.ending.status != "ok" and not run.window.slow for run in cell.runs)


def _told(pairs: Sequence[_QueryPair], cost: Cost) -> list[_QueryPair]:
    """The queries whose cost both sides tell in some block.

    A query that is decided rests in later blocks, so that sums are of the blocks with all queries.
    """
    return [
        pair
        for pair in pairs
        if {run.block for run in pair.own.runs if cost(run) is not None}
        & {run.block for run in pair.base.runs if cost(run) is not None}
    ]


def _ratio(pairs: Sequence[_QueryPair], cost: Cost) -> Ratio | None:
    """The application's cost by the base's, over the blocks."""
    own = _by_block([(pair.calls, pair.own) for pair in pairs], cost)
    base = _by_block([(pair.calls, pair.base) for pair in pairs], cost)
    blocks = sorted(own.keys() & base.keys())
    if not blocks:
        return None
    return ratio_interval([base[block] for block in blocks], [own[block] for block in blocks])


def _by_block(cells: Sequence[tuple[float, Cell]], cost: Cost) -> dict[int, float]:
    """By block the sum of calls times cost over all queries, where all of them tell it."""
    sums = grouped(
        (run.block, calls * value)
        for calls, cell in cells
        for run in cell.runs
        if (value := cost(run)) is not None
    )
    return {block: sum(costs) for block, costs in sums.items() if len(costs) == len(cells)}
