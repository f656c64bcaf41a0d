"""A metric of some runs beside that of others, over the blocks that have both."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno import stats
from dbdyno.model import Ratio, StepRun


def by_block(runs: Sequence[StepRun], name: str) -> dict[int, float]:
    """A metric by block, of the runs that have it."""
    values = {run.block: run.metrics.get(name) for run in runs}
    return {block: value for block, value in values.items() if value is not None}


def ratio(base: Sequence[StepRun], other: Sequence[StepRun], name: str) -> Ratio | None:
    """A metric of `other` by the base's, over the blocks in which both have it and it is not 0.

    The base itself has the ratio 1 without an interval.
    """
    first, second = by_block(base, name), by_block(other, name)
    blocks = sorted(b for b in first.keys() & second.keys() if first[b] > 0 and second[b] > 0)
    if not blocks:
        return None
    if base is other:
        return Ratio(value=1.0, low=None, high=None, blocks=len(blocks))
    found = stats.ratio_interval([first[b] for b in blocks], [second[b] for b in blocks])
    return Ratio(value=found.value, low=found.low, high=found.high, blocks=found.count)
