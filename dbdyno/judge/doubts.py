"""The doubts of a result, by subject and arm, counted by distinct blocks: the only count.

First screen, steps, JSON and export show these groups.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import structs

from dbdyno.judge import imbalance, nodes, validity
from dbdyno.judge.arm_vs_base import StepKey
from dbdyno.model import StepComparison, StepRun, Void
from dbdyno.model.disturbance import PERCENT
from dbdyno.model.doubt import GRADES, Doubt, DoubtGroup, DoubtItem, DoubtSubject
from dbdyno.model.grouping import grouped

WEIGHT: Mapping[DoubtSubject, tuple[int, int]] = {
    subject: (GRADES.index(subject.grade), place) for place, subject in enumerate(DoubtSubject)
}
"""The place of each subject in the order of weight."""


def groups(arms: Sequence[str], *doubts: Iterable[Doubt]) -> tuple[DoubtGroup, ...]:
    """The doubts by subject, in order of weight, and by arm, in the order of `arms`."""
    by_place = grouped(((doubt.subject, doubt.arm), doubt) for doubt in chain(*doubts))

    def place(key: tuple[DoubtSubject, str | None]) -> tuple[tuple[int, int], int]:
        subject, arm = key
        return WEIGHT[subject], arms.index(arm) if arm in arms else len(arms)

    return tuple(
        DoubtGroup(subject=key[0], arm=key[1], blocks=_blocks(own), items=tuple(_items(own)))
        for key in sorted(by_place, key=place)
        for own in [by_place[key]]
    )


def of_steps(
    steps: Sequence[StepComparison], runs: Iterable[StepRun], void: Void, margin: float
) -> Iterator[Doubt]:
    """What is to doubt in these steps: of each arm, of each of its `runs`, and between arms."""
    shown = {StepKey(step.workload, step.ordinal, step.step) for step in steps}
    yield from of_runs((run for run in runs if StepKey.of(run) in shown), void)
    for step in steps:
        arms = [cell.arm for cell in step.cells if not cell.runs]
        for doubt in (
            *(DoubtSubject.NOT_RUN.doubt("in no block", arm=arm) for arm in arms),
            *imbalance.doubts(step.cells),
            *nodes.doubts(step.cells),
            *validity.whole_servers(step.cells, margin),
        ):
            yield structs.replace(
                doubt, workload=step.workload, ordinal=step.ordinal, step=step.step
            )


def of_runs(runs: Iterable[StepRun], void: Void) -> Iterator[Doubt]:
    """What runs say of themselves, each with its place; `void`: the plan's limits.

    Foreign load is named from the plan's limit on, and from the default's whatever the plan says.
    """
    foreign_min = PERCENT * min(void.foreign, Void().foreign)
    for run in runs:
        ending: list[Doubt] = []
        if run.ending.status != "ok":
            subject = (
                DoubtSubject.SKIPPED if run.ending.status == "skipped" else DoubtSubject.FAILED
            )
            subject = DoubtSubject.DAMAGED if run.ending.damaged else subject
            ending = [subject.doubt(run.ending.reason or "no reason recorded")]
        for doubt in (*ending, *run.doubts):
            if doubt.subject is not DoubtSubject.FOREIGN or (doubt.amount or 0.0) > foreign_min:
                facts = run.facts
                yield structs.replace(
                    doubt,
                    workload=facts.workload,
                    ordinal=facts.ordinal,
                    step=facts.step,
                    arm=run.arm,
                    block=run.block,
                )


def _items(doubts: Sequence[Doubt]) -> Iterator[DoubtItem]:
    """One for each place and its words."""
    alike = grouped(
        ((doubt.workload, doubt.ordinal, doubt.step, doubt.words), doubt) for doubt in doubts
    )
    for (workload, ordinal, step, words), own in alike.items():
        yield DoubtItem(
            words=words,
            workload=workload,
            ordinal=ordinal,
            step=step,
            blocks=_blocks(own),
            amount=max((doubt.amount for doubt in own if doubt.amount is not None), default=None),
        )


def _blocks(doubts: Sequence[Doubt]) -> tuple[int, ...]:
    return tuple(sorted({doubt.block for doubt in doubts if doubt.block is not None}))
