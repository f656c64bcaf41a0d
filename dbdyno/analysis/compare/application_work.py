"""The work of an application: instructions of its counted queries, weighted by their calls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dbdyno.model.comparison import ApplicationResult, ApplicationWork
from dbdyno.model.plan_record import ApplicationRecord, PlanRecord
from dbdyno.model.ratio import Ratio
from dbdyno.model.work import WorkChange, WorkComparison


def with_work(
    results: Sequence[ApplicationResult], plan: PlanRecord, counts: WorkComparison | None
) -> tuple[ApplicationResult, ...]:
    """The results with what was counted; of counts alone where no time was measured."""
    if counts is None:
        return tuple(results)
    timed = {(result.workload, result.arm): result for result in results}
    return tuple(
        result
        for use in plan.workloads
        if use.application is not None
        for result in _of_workload(use.application, use.folder, counts, timed)
    )


def _of_workload(
    application: ApplicationRecord,
    workload: str,
    counts: WorkComparison,
    timed: dict[tuple[str, str], ApplicationResult],
) -> Iterator[ApplicationResult]:
    for arm in counts.arms[1:]:
        changes = [
            change
            for change in counts.changes
            if change.arm == arm
            and change.step[0] == workload
            and change.step[1] in application.by_name
        ]
        result = timed.get((workload, arm))
        work = _work(application, [change for change in changes if change.work is not None])
        if result is not None:
            yield result.with_work(work)
        elif changes:
            yield _counted_alone(workload, arm, work)


def _counted_alone(workload: str, arm: str, work: ApplicationWork | None) -> ApplicationResult:
    """The result of an arm of which no time was measured."""
    return ApplicationResult(
        workload=workload,
        arm=arm,
        covered=None if work is None else work.covered,
        queries=0 if work is None else work.queries,
        cpu=None,
        time=None,
        failed=(),
        base_failed=(),
        both_failed=(),
        work=work,
    )


def _work(application: ApplicationRecord, changes: Sequence[WorkChange]) -> ApplicationWork | None:
    """What these queries together execute on the arm by what they do on the base.

    The interval adds up those of the queries as independent errors, to the first order, each by
    its share of the instructions (propagation of uncertainty, GUM, JCGM 100:2008, 5.1.2).
    """
    base = of_arm = square = 0.0
    for change in changes:
        assert change.base is not None and change.work is not None and change.ratio is not None
        calls = application.by_name[change.step[1]].calls
        base += calls * change.base.instructions
        of_arm += calls * change.work.instructions
        low, high = change.ratio.low, change.ratio.high
        half = math.log(high / low) / 2 if low and high else 0.0
        square += (calls * change.work.instructions * half) ** 2
    if not base or not of_arm:
        return None
    value, half = of_arm / base, math.sqrt(square) / of_arm
    time_s = sum(application.by_name[change.step[1]].time_s for change in changes)
    whole_s = application.whole_s
    return ApplicationWork(
        instructions=Ratio(
            value=value,
            low=value * math.exp(-half),
            high=value * math.exp(half),
            blocks=max(change.ratio.blocks for change in changes if change.ratio is not None),
        ),
        queries=len(changes),
        covered=min(1.0, time_s / whole_s) if whole_s else None,
        more=_named(application, changes, "more"),
        less=_named(application, changes, "less"),
    )


def _named(
    application: ApplicationRecord, changes: Sequence[WorkChange], word: str
) -> tuple[str, ...]:
    """The queries of a word, those first whose calls together change most."""

    def weight(change: WorkChange) -> float:
        assert change.base is not None and change.work is not None
        each = abs(change.work.instructions - change.base.instructions)
        return application.by_name[change.step[1]].calls * each

    own = [change for change in changes if change.word == word]
    return tuple(change.step[1] for change in sorted(own, key=weight, reverse=True))
