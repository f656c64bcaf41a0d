"""An application on each arm: the costs of its queries, weighted by how often each is called.

The datum is the block: the sum of calls times cost of an arm by that of the base. So a query that
is called often counts as much as it does in production, and the interval counts blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.analysis.compare.step_cells import Row
from dbdyno.analysis.step import generator_limit
from dbdyno.model import Bound, Cell, Ratio, StepComparison, StepRun
from dbdyno.model.comparison import ApplicationResult
from dbdyno.model.metric.primary import cpu_of
from dbdyno.model.plan_record import ApplicationRecord, PlanRecord
from dbdyno.stats.interval import ratio_interval

RATE = "qps"
"""The metric by which a query's step is judged."""
_OF_TIME: Mapping[Bound, Bound] = {"at most": "at least", "at least": "at most"}
"""The bound of a ratio of times, by that of the rates."""
Cost = Callable[[StepRun], float | None]
"""A cost of one operation of a run, in any unit; None: the run does not tell it."""


def results(rows: Sequence[Row], plan: PlanRecord) -> tuple[ApplicationResult, ...]:
    """The application of each workload that is one, for each arm beside the base."""
    return tuple(
        result
        for use in plan.workloads
        if use.application is not None
        for result in _of_workload(
            use.application, [row.step for row in rows if row.step.workload == use.folder]
        )
    )


def without_common_failures(rows: Sequence[Row], plan: PlanRecord) -> tuple[Row, ...]:
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
        or any(run.ending.status == "ok" for cell in row.step.cells for run in cell.runs)
    )


def _of_workload(
    application: ApplicationRecord, steps: Sequence[StepComparison]
) -> Iterator[ApplicationResult]:
    own = [step for step in steps if step.step in application.by_name]
    for place, cell in enumerate(own[0].cells) if own else ():
        if place:
            yield _of_arm(application, own, place, cell.arm)


@dataclass(frozen=True)
class _Pair:
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


def _of_arm(
    application: ApplicationRecord, steps: Sequence[StepComparison], place: int, arm: str
) -> ApplicationResult:
    queries = application.by_name
    pairs = [
        _Pair(
            step=step,
            calls=queries[step.step].calls,
            own=(own := step.cells[place]),
            base=(base := step.cells[0]),
            bound=generator_limit.slow_bound(base.runs, own.runs),
        )
        for step in steps
    ]
    ran = _told([pair for pair in pairs if pair.both_ran], time_of)
    whole_s = application.whole_s
    covered_s = sum(queries[pair.step.step].time_s for pair in ran)
    cpu = cpu_of([run for pair in ran for cell in (pair.own, pair.base) for run in cell.runs])
    telling = _told(ran, lambda run: run.metrics.get(cpu))
    bounds = {pair.bound for pair in ran} - {"exact"}
    return ApplicationResult(
        workload=steps[0].workload,
        arm=arm,
        covered=min(1.0, covered_s / whole_s) if whole_s else None,
        queries=len(ran),
        cpu=_ratio(telling, lambda run: run.metrics.get(cpu)),
        cpu_lacks=len(ran) - len(telling) if telling else 0,
        time=_ratio(ran, time_of),
        time_bound=_OF_TIME[bounds.pop()] if len(bounds) == 1 else "unknown" if bounds else "exact",
        failed=_names(pairs, own=True, base=False),
        base_failed=_names(pairs, own=False, base=True),
        both_failed=_names(pairs, own=True, base=True),
    )


def time_of(run: StepRun) -> float | None:
    """The time of a call; None: the run does not tell a rate."""
    rate = run.metrics.get(RATE)
    return 1 / rate if rate else None


def _names(pairs: Sequence[_Pair], *, own: bool, base: bool) -> tuple[str, ...]:
    """The queries that fail on exactly these sides in some block."""
    return tuple(
        pair.step.step for pair in pairs if (_fails(pair.own), _fails(pair.base)) == (own, base)
    )


def _fails(cell: Cell) -> bool:
    """Whether it failed in some block; a call that the server ended at its limit has a cost."""
    return any(run.ending.status != "ok" and not run.window.slow for run in cell.runs)


def _told(pairs: Sequence[_Pair], cost: Cost) -> list[_Pair]:
    """The queries whose cost both sides tell in some block.

    A query that is decided rests in later blocks, so that sums are of the blocks with all queries.
    """
    return [
        pair
        for pair in pairs
        if {run.block for run in pair.own.runs if cost(run) is not None}
        & {run.block for run in pair.base.runs if cost(run) is not None}
    ]


def _ratio(pairs: Sequence[_Pair], cost: Cost) -> Ratio | None:
    """The application's cost by the base's, over the blocks."""
    own = _by_block([(pair.calls, pair.own) for pair in pairs], cost)
    base = _by_block([(pair.calls, pair.base) for pair in pairs], cost)
    blocks = sorted(own.keys() & base.keys())
    if not blocks:
        return None
    over = ratio_interval([base[block] for block in blocks], [own[block] for block in blocks])
    return over


def _by_block(cells: Sequence[tuple[float, Cell]], cost: Cost) -> dict[int, float]:
    """By block the sum of calls times cost over all queries, where all of them tell it."""
    sums: dict[int, list[float]] = {}
    for calls, cell in cells:
        for run in cell.runs:
            value = cost(run)
            if value is not None:
                sums.setdefault(run.block, []).append(calls * value)
    return {block: sum(costs) for block, costs in sums.items() if len(costs) == len(cells)}
