"""An arm over all steps of a workload: one ratio, whose datum is the block.

Steps of one block share what the host did in it, so their ratios are no independent data: the mean
of a block's log ratios is one number, and the interval counts blocks (comparing.md, D6 and D11).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dbdyno import decision
from dbdyno.analysis import price
from dbdyno.analysis.judge import BETTER_BY, CPU, Contest, Where
from dbdyno.decision import Sample
from dbdyno.verdict import Aims, Judgement, Overall, Verdict

THROUGHPUT = "throughput"
"""The metric of an overall judgement whose steps have different headlines."""
APART = frozenset({"failed", "target missed", "not compared"})
"""Verdicts of steps whose ratios are not of the same work."""


def overall(
    arm: str,
    contests: Sequence[Contest],
    verdicts: Mapping[Where, Verdict],
    aims: Aims,
    minutes: float | None = None,
) -> Iterator[Overall]:
    """By throughput and by CPU per operation, for each workload in which a block has all steps.

    Steps count that compare exactly; blocks, in which all of these are. `minutes`: of a block.
    """
    alike = [one for one in contests if verdicts[one.where].word not in APART]
    for workload in dict.fromkeys(one.where.workload for one in alike):
        its = [one for one in alike if one.where.workload == workload]
        exact = [one for one in its if one.bound == "exact"]
        headlines = {one.headline for one in exact}
        name = headlines.pop() if len(headlines) == 1 else THROUGHPUT
        for found in (
            _judged(name, [_logs(one, one.headline) for one in exact], aims),
            _judged(CPU, [_logs(one, CPU) for one in its], aims),
        ):
            if found is not None:
                steps, judgement = found
                (priced,) = price.priced([judgement], minutes)
                yield Overall(arm=arm, workload=workload, steps=steps, judgement=priced)


def _logs(one: Contest, name: str) -> dict[int, float]:
    return {block: pair.log for block, pair in one.faced.pairs(name).items()}


def _judged(
    name: str, steps: Sequence[Mapping[int, float]], aims: Aims
) -> tuple[int, Judgement] | None:
    """How many steps have the metric, and the judgement of their mean by block."""
    there = [logs for logs in steps if logs]
    blocks = sorted(set.intersection(*(set(logs) for logs in there))) if there else []
    if not blocks:
        return None
    means = tuple(math.fsum(logs[block] for logs in there) / len(there) for block in blocks)
    sample = Sample(metric=name, better=BETTER_BY.get(name, 1), logs=means)
    (judgement,) = decision.decide([sample], aims)
    return len(there), replace(judgement, q=None)
