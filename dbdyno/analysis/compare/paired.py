"""A metric of some runs beside that of others, over the blocks that have both."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.compare.pairing import Facing, facing
from dbdyno.model import Ratio, StepRun
from dbdyno.stats import interval


def by_block(runs: Sequence[StepRun], name: str) -> dict[int, float]:
    """A metric by block, of the runs that have it."""
    values = {run.block: run.metrics.get(name) for run in runs}
    return {block: value for block, value in values.items() if value is not None}


def ratio(base: Sequence[StepRun], other: Sequence[StepRun], name: str) -> Ratio | None:
    """A metric of `other` by the nearest base's, over the blocks in which both have it above 0."""
    return ratio_of(facing(other, base), name)


def ratio_of(faced: Facing, name: str) -> Ratio | None:
    """The same of runs that stand beside their bases already."""
    pairs = faced.pairs(name).values()
    if not pairs:
        return None
    found = interval.ratio_interval([one.base for one in pairs], [one.other for one in pairs])
    return Ratio(value=found.value, low=found.low, high=found.high, blocks=found.count)


def own(runs: Sequence[StepRun], name: str) -> Ratio | None:
    """The base's ratio to itself: 1, without an interval."""
    blocks = sum(value > 0 for value in by_block(runs, name).values())
    return Ratio(value=1.0, low=None, high=None, blocks=blocks) if blocks else None
