"""Each run of an arm beside the base's runs of its block, the nearest in time first.

A block has the base once, or several times where it has many arms; a host drifts within a block,
too, and so a ratio is taken to the base run that was measured next to the arm's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from dbdyno.model import Ratio, StepRun, ToldFacts
from dbdyno.model.grouping import grouped
from dbdyno.model.metric.over import taken
from dbdyno.model.verdict import Order
from dbdyno.stats import fills
from dbdyno.stats.fills import FillVariance, Units
from dbdyno.stats.interval import difference_interval
from dbdyno.stats.sample import OrderPattern

Metrics = Mapping[str, float | None]
Measured = tuple[int, Metrics, tuple[Metrics, ...]]
"""A block, an arm's figures in it, and those of the bases beside it."""


class Pair(NamedTuple):
    """Values of one metric in one block."""

    base: float
    other: float

    @property
    def log(self) -> float:
        """ln(other / base), of values above 0."""
        return math.log(self.other / self.base)


class ZeroBlocks(NamedTuple):
    """The blocks in which a metric that both have is 0: measured, and without a ratio."""

    own: tuple[int, ...] = ()  # of the arm alone
    base: tuple[int, ...] = ()  # of the base alone
    both: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """One metric of an arm in a step beside the base's, by block; each figure is computed once."""

    both: Mapping[int, Pair]  # of the blocks in which both have it, whatever it is
    still: ZeroBlocks
    units: Units = field(default_factory=Units)
    between: FillVariance | None = None  # of fills, where all blocks begin from one

    @cached_property
    def pairs(self) -> Mapping[int, Pair]:
        """Of the blocks in which both have it above 0."""
        return {at: pair for at, pair in self.both.items() if pair.base > 0 and pair.other > 0}

    @cached_property
    def logs(self) -> Mapping[int, float]:
        """The log ratios by block."""
        return {block: pair.log for block, pair in self.pairs.items()}

    @property
    def base(self) -> float | None:
        """The base's geometric mean over these blocks; None where no block has both above 0."""
        return taken((pair.base for pair in self.pairs.values()), "ratio")

    @cached_property
    def interval(self) -> Ratio | None:
        """The mean ratio with its interval; None where no block has both."""
        means = tuple(self.units.means(self.logs).values())
        return fills.log_interval(means, self.between) if means else None

    @cached_property
    def difference(self) -> Ratio | None:
        """The mean difference with its interval; None where no block has both."""
        more = {block: pair.other - pair.base for block, pair in self.both.items()}
        means = tuple(self.units.means(more).values())
        return difference_interval(means) if means else None


@dataclass(frozen=True, kw_only=True)
class PairedRuns:
    """The runs of one arm in a step, each with the base's runs of its block."""

    base: str  # the base's name; "" where it has no run
    runs: tuple[StepRun, ...]  # by block
    bases: tuple[tuple[StepRun, ...], ...]  # for each run, the nearest first
    said: str = ""  # what is to be known of them beside a verdict
    withheld: bool = False  # whether they are shown and get no word
    unstable: str = ""  # why a change of them is not shown as one
    units: Units = field(default_factory=Units)  # what the tests count
    # What the order of the arms could do to a block's log ratios, by the number of the block.
    patterns: Mapping[Order, Mapping[int, float]] = field(default_factory=dict)
    _known: dict[str, MetricComparison] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def base_runs(self) -> tuple[StepRun, ...]:
        """The base's run beside each of the arm's: of those that ended well the nearest."""
        return tuple(
            next((base for base in bases if base.ending.status == "ok"), bases[0])
            for bases in self.bases
            if bases
        )

    def patterns_of(self, blocks: Iterable[int]) -> tuple[OrderPattern, ...]:
        """What the order could do to these blocks, in their order."""
        numbers = tuple(blocks)
        return tuple(
            OrderPattern(name=name, values=tuple(by_block.get(block, 0.0) for block in numbers))
            for name, by_block in self.patterns.items()
        )

    def compared(self, name: str) -> MetricComparison:
        """A metric beside the base's: of each block the nearest run that has it."""
        if name not in self._known:
            self._known[name] = self._compared(name, self._both(name, self._metrics))
        return self._known[name]

    def own_value(self, name: str) -> MetricComparison:
        """The same of a value that the workload tells of itself."""
        numbers = tuple(
            (
                run.block,
                run.of(ToldFacts).numbers,
                tuple(base.of(ToldFacts).numbers for base in bases),
            )
            for run, bases in zip(self.runs, self.bases, strict=True)
        )
        return self._compared(name, self._both(name, numbers))

    def _compared(self, name: str, pairs: Mapping[int, Pair]) -> MetricComparison:
        both = pairs.items()
        return MetricComparison(
            both=pairs,
            still=ZeroBlocks(
                own=tuple(block for block, pair in both if pair.other == 0 < pair.base),
                base=tuple(block for block, pair in both if pair.base == 0 < pair.other),
                both=tuple(block for block, pair in both if pair.base == pair.other == 0),
            ),
            units=self.units,
            between=self.units.between.get(name),
        )

    def _both(self, name: str, measured: Iterable[Measured]) -> dict[int, Pair]:
        """A metric by block, where both have it, whatever it is."""
        by_block = {}
        for block, own, bases in measured:
            other = own.get(name)
            if other is None:
                continue
            for base in bases:
                value = base.get(name)
                if value is not None:
                    by_block[block] = Pair(value, other)
                    break
        return by_block

    @cached_property
    def _metrics(self) -> tuple[Measured, ...]:
        """Of each run its block, its metrics and those of its bases, of which many are asked."""
        return tuple(
            (run.block, run.metrics, tuple(base.metrics for base in bases))
            for run, bases in zip(self.runs, self.bases, strict=True)
        )

    def within(self, blocks: Sequence[int]) -> PairedRuns:
        """The same of these blocks alone; itself, with what it knows, where it has no others."""
        if all(run.block in blocks for run in self.runs):
            return self
        kept = [
            (run, bases)
            for run, bases in zip(self.runs, self.bases, strict=True)
            if run.block in blocks
        ]
        return replace(
            self, runs=tuple(run for run, _ in kept), bases=tuple(bases for _, bases in kept)
        )


def facing(
    runs: Sequence[StepRun], bases: Sequence[StepRun], units: Units | None = None
) -> PairedRuns:
    """The runs of an arm in a step beside all of the base in it, its own before hidden A/A arms'.

    `units`: what the tests count; None: blocks.
    """
    by_block = grouped((base.block, base) for base in bases)
    return PairedRuns(
        base=bases[0].arm if bases else "",
        runs=tuple(runs),
        bases=tuple(_by_nearness(run, by_block.get(run.block, ())) for run in runs),
        units=units or Units(),
    )


def _by_nearness(run: StepRun, bases: Sequence[StepRun]) -> tuple[StepRun, ...]:
    """By how many places lie between, of two that are equally far the earlier first.

    Where a place is not known they stay as they are, the base itself before hidden A/A arms.
    """
    here = run.position
    if here is None or len(bases) < 2 or any(base.position is None for base in bases):
        return tuple(bases)

    def distance(base: StepRun) -> tuple[int, int]:
        assert base.position is not None
        return abs(base.position - here), base.position

    return tuple(sorted(bases, key=distance))


def placed(
    runs: Sequence[StepRun], orders: Mapping[tuple[int, str], Sequence[str]]
) -> list[StepRun]:
    """The runs with their places; `orders`: by block and workload the arms as they ran.

    A step that the arms took in turn says its own order, and its runs have their places already.
    """
    ordered = ((run, orders.get((run.block, run.facts.workload), ())) for run in runs)
    return [
        replace(run, position=order.index(run.arm))
        if run.position is None and run.arm in order
        else run
        for run, order in ordered
    ]


# --- Ratios -----------------------------------------------------------------------------------


def by_block(runs: Sequence[StepRun], name: str) -> dict[int, float]:
    """A metric by block, of the runs that have it."""
    values = {run.block: run.metrics.get(name) for run in runs}
    return {block: value for block, value in values.items() if value is not None}


def by_block_of_each(runs: Sequence[StepRun]) -> dict[str, dict[int, float]]:
    """The same of every metric, by its name; without one that no run has."""
    values: dict[str, dict[int, float]] = {}
    for block, metrics in {run.block: run.metrics for run in runs}.items():
        for name, value in metrics.items():
            if value is not None:
                values.setdefault(name, {})[block] = value
    return values


def ratio(base: Sequence[StepRun], other: Sequence[StepRun], name: str) -> Ratio | None:
    """A metric of `other` by the nearest base's, over the blocks in which both have it above 0."""
    compared = facing(other, base).compared(name)
    known = compared.interval
    return None if known is None else replace(known, blocks=len(compared.pairs))
