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
        exact = [one for one in its if one.bound == "exact" and one.logs(one.headline)]
        headlines = {one.headline for one in exact}
        name = headlines.pop() if len(headlines) == 1 else THROUGHPUT
        found += _whole(workload, name, {one.where: one.logs(one.headline) for one in exact})
        found += _whole(workload, CPU, {one.where: one.logs(CPU) for one in its})
    return found


def _whole(workload: str, name: str, steps: Mapping[Where, Mapping[int, float]]) -> Iterator[Whole]:
    """The metric over the steps that have it; none where no block has all of these."""
    there = {where: logs for where, logs in steps.items() if logs}
    blocks = sorted(set.intersection(*(set(logs) for logs in there.values()))) if there else []
    if blocks:
        means = (math.fsum(logs[block] for logs in there.values()) / len(there) for block in blocks)
        sample = Sample(metric=name, better=BETTER_BY.get(name, 1), logs=tuple(means))
        yield Whole(workload=workload, sample=sample, places=tuple(there))
