"""What a person could choose after seeing figures: counted and said, because it adds false words.

A race that repeats a race, aims that changed after blocks were measured, blocks that somebody
interrupted. Each verdict holds its level alone; whoever picks among several has more.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from dbdyno.judge.tampering import differences
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.plan_record import PlanRecord
from dbdyno.store import BlockFolder, Results


def doubts(
    results: Results, judged: Sequence[BlockFolder], level: float, base: str | None
) -> Iterator[Doubt]:
    """A doubt for each kind of choice that was made; `base`: the one asked for in the plan's place.

    Raises ResultError where a file is damaged.
    """
    if base is not None and base != results.plan.base:
        yield DoubtSubject.ANOTHER_BASE.doubt(
            f"{base} was chosen, the plan has {results.plan.base}"
        )
    yield from _repeated(results, level)
    yield from _changed_aims(results, judged)
    yield from _interrupted(results)


def _repeated(results: Results, level: float) -> Iterator[Doubt]:
    """Results beside this one whose plan is the same, by another name, and was begun before."""
    own = _question(results.plan)
    begun = results.plan.created_unix_ns or 0
    before = [
        other.folder.name
        for other in results.beside()
        if (other.plan.created_unix_ns or 0) < begun and _question(other.plan) == own
    ]
    if before:
        several = len(before) + 1
        share = 100 * (1 - (1 - level) ** several)
        yield DoubtSubject.ASKED_BEFORE.doubt(
            f"{', '.join(before)} compared the same arms in the same steps; of {several}"
            f" such results of equal arms one or more has a false word in up to {share:.0f} %,"
            f" not {100 * level:.0f} %",
            share,
        )


def _question(plan: PlanRecord) -> tuple[object, ...]:
    """What a plan compares: its base, its arms without hidden ones, its workloads and steps."""
    arms = [
        (arm.name, arm.engine, arm.version, arm.build_name, arm.settings)
        for arm in plan.arms
        if arm.shown
    ]
    return plan.base, arms, [(use.name, use.steps) for use in plan.workloads]


def _changed_aims(results: Results, judged: Sequence[BlockFolder]) -> Iterator[Doubt]:
    """Aims that were others when blocks were measured that are judged by those of today."""
    times = sorted(begun for block in judged if (begun := block.begun_unix_ns) is not None)
    for earlier in results.earlier_plans():
        seen = sum(time < (results.plan.created_unix_ns or 0) for time in times)
        changes = list(differences(earlier.verdict, results.plan.verdict))
        if changes and seen:
            blocks = f"{seen} block{'s' * (seen != 1)}"
            yield DoubtSubject.AIMS_CHANGED.doubt(
                f"{', '.join(changes)}, after {blocks} had been measured", seen
            )


def _interrupted(results: Results) -> Iterator[Doubt]:
    """Void blocks that nobody but a person, or a crash of dyno, ended."""
    void = (block for block in results.blocks() if block.state == "void" and block.cause is None)
    tries = Counter(block.number for block in void)
    for number, count in sorted(tries.items()):
        times = f" {count} times" if count > 1 else ""
        yield DoubtSubject.INTERRUPTED.doubt(
            f"ended early{times}, with figures on the screen: who ends those that look bad"
            " bends the result",
            count,
            block=number,
        )
