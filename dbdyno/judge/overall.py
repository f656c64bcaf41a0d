"""An arm over all steps of a workload: one ratio, whose datum is the block.

Steps of one block share what the host did in it, so their ratios are no independent data: the mean
of a block's log ratios is one number, and the interval counts blocks (comparing.md, D6 and D11).
A geometric mean is 0 where one of its numbers is: who stood still in a step of a block did so in
the whole of it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.judge.arm_vs_base import BETTER_BY, ArmInStep, StepKey, UnitRatios
from dbdyno.model.metric import less_is_better
from dbdyno.model.metric.primary import is_second
from dbdyno.model.verdict import Judgement
from dbdyno.stats.fills import FillVariance, Units
from dbdyno.stats.sample import Sample

THROUGHPUT = "throughput"
"""The metric of an overall judgement whose steps have different headlines."""


@dataclass(frozen=True, kw_only=True)
class WorkloadSample:
    """A primary metric over the steps of a workload that compare."""

    workload: str
    sample: Sample  # of the blocks' means
    places: tuple[StepKey, ...]  # the steps

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return len(self.places)

    def lone(self, by_step: Mapping[StepKey, Sequence[Judgement]]) -> Judgement:
        """The judgement of the only step, which is the whole."""
        (where,) = self.places
        second = is_second(self.sample.metric)
        return next(
            judgement for judgement in by_step[where] if is_second(judgement.metric) == second
        )


def wholes(contests: Sequence[ArmInStep]) -> list[WorkloadSample]:
    """Throughput and the second quantity of each workload, as far as a block has all steps.

    Steps count that compare exactly; blocks, in which all of these are.
    """
    alike = [contest for contest in contests if contest.outcome.word is None]
    whole_workloads: list[WorkloadSample] = []
    for workload in dict.fromkeys(contest.where.workload for contest in alike):
        of_workload = [contest for contest in alike if contest.where.workload == workload]
        exact = [contest for contest in of_workload if contest.bound == "exact"]
        whole_workloads += _whole(workload, [(contest, contest.headline) for contest in exact])
        if len(seconds := {contest.second for contest in of_workload}) == 1:
            (second,) = seconds
            whole_workloads += _whole(workload, [(contest, second) for contest in of_workload])
    return whole_workloads


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A primary metric of one step."""

    name: str
    seen: UnitRatios
    units: Units
    between: FillVariance | None  # of fills, where all blocks begin from one

    def speed(self, unit: int, of: str) -> float:
        """Its log ratio in a unit; of a time that is judged as throughput its negative."""
        is_time = of == THROUGHPUT and less_is_better(self.name)
        return -self.seen.logs[unit] if is_time else self.seen.logs[unit]

    @property
    def at(self) -> set[int]:
        """The units that say something of the two."""
        return {*self.seen.logs, *self.seen.still.own, *self.seen.still.base}

    @property
    def is_repeated(self) -> bool:
        """Whether it is measured in more blocks than those that make golden copies."""
        return len(self.at) > (1 if self.units.are_fills else self.units.fills)


def _whole(workload: str, metrics: Sequence[tuple[ArmInStep, str]]) -> Iterator[WorkloadSample]:
    """A metric of each step, over the steps that have it; none where no block has all of these.

    A step of one block, as one before a golden copy, would leave only that block of all the others.
    """
    parts = {
        contest.where: _Part(
            name=name,
            seen=contest.seen(name),
            units=contest.faced.units,
            between=contest.faced.compared(name).between,
        )
        for contest, name in metrics
    }
    most = max((len(part.at) for part in parts.values()), default=0)
    there = {
        where: part for where, part in parts.items() if part.is_repeated or len(part.at) == most > 0
    }
    if not there:
        return
    units = set.intersection(*(part.at for part in there.values()))
    own = units & {unit for part in there.values() for unit in part.seen.still.own}
    base = units & {unit for part in there.values() for unit in part.seen.still.base}
    names = {part.name for part in there.values()}
    name = names.pop() if len(names) == 1 else THROUGHPUT
    ran = sorted(units - own - base)
    means = (
        math.fsum(part.speed(unit, name) for part in there.values()) / len(there) for unit in ran
    )
    blocks = max(len(part.seen.blocks) for part in there.values())
    sample = Sample(
        metric=name,
        better=BETTER_BY.get(name, 1),
        logs=tuple(means),
        patterns=metrics[0][0].faced.patterns_of(ran),
        copies=metrics[0][0].faced.units.copies(ran),
        stood_still=len(own - base),
        base_stood_still=len(base - own),
        fills=metrics[0][0].fills_seen(blocks),
        between_fills=_between(list(there.values())),
    )
    if sample.compares:
        yield WorkloadSample(workload=workload, sample=sample, places=tuple(there))


def _between(parts: Sequence[_Part]) -> FillVariance | None:
    """The variance between fills of a mean over steps, at most: as if a fill moved all alike."""
    known = [part.between for part in parts if part.between is not None]
    if not known:
        return None
    sd = math.fsum(math.sqrt(variance.value) for variance in known) / len(parts)
    return FillVariance(value=sd**2, freedom=min(variance.freedom for variance in known))
