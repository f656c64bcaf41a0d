"""An arm over all steps of a workload: one ratio, whose datum is the block.

Steps of one block share what the host did in it, so their ratios are no independent data: the mean
of a block's log ratios is one number, and the interval counts blocks (comparing.md, D6 and D11).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.analysis.contest import BETTER_BY, CPU, Contest, Where
from dbdyno.decision import Sample
from dbdyno.verdict import Judgement

THROUGHPUT = "throughput"
"""The metric of an overall judgement whose steps have different headlines."""


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A primary metric over the steps of a workload that compare."""

    workload: str
    sample: Sample  # of the blocks' means
    places: tuple[Where, ...]  # the steps

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return len(self.places)

    def lone(self, by_step: Mapping[Where, Sequence[Judgement]]) -> Judgement:
        """The judgement of the only step, which is the whole."""
        (where,) = self.places
        return next(one for one in by_step[where] if one.metric == self.sample.metric)


def wholes(contests: Sequence[Contest]) -> list[Whole]:
    """Throughput and CPU per operation of each workload, as far as a block has all steps.

    Steps count that compare exactly; blocks, in which all of these are.
    """
    alike = [one for one in contests if one.outcome.word is None]
    found: list[Whole] = []
    for workload in dict.fromkeys(one.where.workload for one in alike):
        its = [one for one in alike if one.where.workload == workload]
        exact = [one for one in its if one.bound == "exact"]
        found += _whole(workload, [(one, one.headline) for one in exact])
        found += _whole(workload, [(one, CPU) for one in its])
    return found


def _whole(workload: str, metrics: Sequence[tuple[Contest, str]]) -> Iterator[Whole]:
    """A metric of each step, over the steps that have it; none where no block has all of these.

    A step of one block, as one before a golden copy, would leave only that block of all the others.
    """
    steps = {one.where: (name, one.logs(name)) for one, name in metrics}
    most = max((len(logs) for _, logs in steps.values()), default=0)
    there = {
        where: its for where, its in steps.items() if len(its[1]) > 1 or len(its[1]) == most > 0
    }
    blocks = sorted(set.intersection(*(set(logs) for _, logs in there.values()))) if there else []
    if blocks:
        names = {name for name, _ in there.values()}
        name = names.pop() if len(names) == 1 else THROUGHPUT
        means = (
            math.fsum(logs[block] for _, logs in there.values()) / len(there) for block in blocks
        )
        sample = Sample(metric=name, better=BETTER_BY.get(name, 1), logs=tuple(means))
        yield Whole(workload=workload, sample=sample, places=tuple(there))
