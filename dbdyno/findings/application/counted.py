"""The work of an application: instructions of its counted queries, weighted by their calls."""

import math
from collections.abc import Sequence

from dbdyno.model.application import ApplicationWork
from dbdyno.model.plan_record import ApplicationRecord
from dbdyno.model.ratio import Ratio
from dbdyno.model.work import WorkChange, WorkComparison


def of_arm(
    application: ApplicationRecord, workload: str, arm: str, counts: WorkComparison
) -> ApplicationWork | None:
    """What the application's queries execute on an arm beside the base; None: none was counted."""
    changes = (
        change
        for change in counts.changes
        if change.arm == arm and change.workload == workload and change.step in application.by_name
    )
    return _work(application, [change for change in changes if change.of_arm is not None])


def _work(application: ApplicationRecord, changes: Sequence[WorkChange]) -> ApplicationWork | None:
    """What these queries together execute on the arm by what they do on the base.

    The interval adds up those of the queries as independent errors, to the first order, each by
    its share of the instructions (propagation of uncertainty, GUM, JCGM 100:2008, 5.1.2).
    """
    base = of_arm = square = 0.0
    for change in changes:
        assert change.of_base is not None and change.of_arm is not None and change.ratio is not None
        calls = application.by_name[change.step].calls
        base += calls * change.of_base.instructions
        of_arm += calls * change.of_arm.instructions
        low, high = change.ratio.low, change.ratio.high
        half = math.log(high / low) / 2 if low and high else 0.0
        square += (calls * change.of_arm.instructions * half) ** 2
    if not base or not of_arm:
        return None
    value, half = of_arm / base, math.sqrt(square) / of_arm
    time_s = sum(application.by_name[change.step].time_s for change in changes)
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
        assert change.of_base is not None and change.of_arm is not None
        each = abs(change.of_arm.instructions - change.of_base.instructions)
        return application.by_name[change.step].calls * each

    own = [change for change in changes if change.word == word]
    return tuple(change.step for change in sorted(own, key=weight, reverse=True))
