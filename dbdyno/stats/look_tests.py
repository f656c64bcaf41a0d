"""The tests of each metric of a family, by all blocks and as each look saw them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.model.looks import Look
from dbdyno.model.metric.primary import UNDISTURBED, is_second
from dbdyno.model.verdict import Aims
from dbdyno.stats import dependence, fills, interval, moderation, significance
from dbdyno.stats.interval import Spread
from dbdyno.stats.sample import Sample
from dbdyno.stats.vectorized import SampleTests


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What has one p in a family: a step, or the whole of a workload."""

    samples: tuple[Sample, ...]  # by all blocks so far: throughput first, then CPU
    looks: tuple[tuple[Look, tuple[Sample, ...]], ...]  # what each look saw that has been taken
    whole: bool = False  # then it neither lends nor borrows


@dataclass(frozen=True, kw_only=True)
class MetricTests:
    """One sample with its tests."""

    sample: Sample
    spread: Spread | None  # None under two blocks in which both ran
    tested: SampleTests | None
    p: float | None  # what it brings into its unit; None of a single block
    scatter: Spread | None = None  # from unit to unit: `spread` without what fills add

    @property
    def withheld(self) -> bool:
        """Whether blocks depend on each other too much for a word."""
        dependence = None if self.spread is None else self.spread.dependence
        return dependence is not None and dependence.withholds and not self.sample.stood


@dataclass(frozen=True, kw_only=True)
class LookTest:
    """What one look saw of a unit."""

    look: Look
    metrics: Mapping[str, MetricTests]

    @property
    def repeated(self) -> float:
        """The unit's p as it counts in all looks."""
        metrics = self.metrics.values()
        ps = [1.0 if metric.withheld else metric.p for metric in metrics if metric.p is not None]
        return min(1.0, significance.combined_p(ps) / self.look.share) if ps else 1.0

    def repeated_of(self, metric: str) -> float:
        """The same of one metric."""
        tests = self.metrics.get(metric)
        if tests is None or tests.p is None or tests.withheld:
            return 1.0
        return min(1.0, tests.p / self.look.share)

    def is_within(self, metric: str, aims: Aims) -> bool:
        """Whether this look shows that the change is within the margin."""
        tests = self.metrics.get(metric)
        if tests is None or tests.tested is None or tests.sample.stood or tests.withheld:
            return False
        return tests.tested.within <= aims.level / significance.SAME_SHARE / self.ways

    @property
    def ways(self) -> int:
        """By how many metrics alone the unit may be called the same, which share the level."""
        return len(self.metrics) if UNDISTURBED in self.metrics else 1

    def lies_beyond(self, metric: str, aims: Aims) -> bool:
        """Whether the mean of this look lies beyond the margin, so that no earlier one's *same*
        stands beside it."""
        tests = self.metrics.get(metric)
        if tests is None or not tests.sample.logs:
            return False
        return abs(interval.mean_and_sd(tests.sample.logs)[0]) > math.log1p(aims.margin)


def at_looks(family: Sequence[Unit], aims: Aims) -> list[list[LookTest]]:
    """What each look saw of each unit, where there was a test."""
    at_looks: list[list[LookTest]] = [[] for _ in family]
    for look in sorted(
        {look for unit in family for look, _ in unit.looks}, key=lambda look: look.blocks
    ):
        samples = [dict(unit.looks).get(look, ()) for unit in family]
        for place, metrics in enumerate(tested(samples, family, aims)):
            if any(metric.p is not None for metric in metrics.values()):
                at_looks[place].append(LookTest(look=look, metrics=metrics))
    return at_looks


def tested(
    samples: Sequence[Sequence[Sample]], family: Sequence[Unit], aims: Aims
) -> list[dict[str, MetricTests]]:
    """The tests of each unit's samples by metric; steps lend each other what they know of scatter.

    Those of throughput to each other, and those of each second quantity, where they have the same
    blocks. All of
    these together say how far the blocks depend on each other.
    """
    alike: dict[tuple[bool, int, int, tuple[int, ...]], dict[str, list[tuple[int, Sample]]]] = {}
    metrics: list[dict[str, MetricTests]] = [{} for _ in family]
    for place, (of_unit, unit) in enumerate(zip(samples, family, strict=True)):
        for sample in of_unit:
            # What keeps its own scatter stands in a pool of its own: of no other's metric.
            alone = place + 1 if unit.whole else 0
            # Where arms take turns, blocks depend on each other in what neighbours disturb alone.
            calm = sample.metric == UNDISTURBED and not sample.patterns
            pools = alike.setdefault((calm, alone, len(sample.logs), sample.at), {})
            pool = sample.metric if is_second(sample.metric) else ""
            pools.setdefault(pool, []).append((place, sample))
    for (calm, *_), pools in alike.items():
        samples_alike = [sample for pool in pools.values() for _, sample in pool]
        spreads: list[Spread | None] = [None] * len(samples_alike)
        if len(samples_alike[0].logs) > 1:
            lent = [
                spread
                for pool in pools.values()
                for spread in moderation.spreads([sample.logs for _, sample in pool])
            ]
            spreads = [*(lent if calm else dependence.widened(lent, samples_alike))]
        places = (place for pool in pools.values() for place, _ in pool)
        for place, sample, spread in zip(places, samples_alike, spreads, strict=True):
            metrics[place][sample.metric] = _metric(sample, spread, aims)
    return metrics


def _metric(sample: Sample, spread: Spread | None, aims: Aims) -> MetricTests:
    """A sample with its tests by this spread."""
    if spread is None:
        return MetricTests(sample=sample, spread=None, tested=None, p=p_of(sample, None))
    scatter, spread = spread, fills.widened(spread, len(sample.logs), sample.between_fills)
    p = significance.t_p(sample.logs, spread)
    p_sign = significance.sign_flip_p(sample.logs)
    within = significance.equivalence_p(sample.logs, aims.margin, spread)
    assert p is not None and p_sign is not None and within is not None
    tested = SampleTests(sd=spread.sd, p=p, p_sign=p_sign, within=within)
    return MetricTests(
        sample=sample, spread=spread, tested=tested, p=p_of(sample, tested), scatter=scatter
    )


def p_of(sample: Sample, test: SampleTests | None) -> float | None:
    """The p that a sample brings into its unit; None of a single block.

    Where one of the two stood still there are two ways to find that it is the slower: a sign test
    over all blocks, and the t test of those in which both ran. They share the level, and what they
    find to the other side does not count. Where each stood still once, neither can be slower.
    """
    if not sample.stood:
        return None if test is None else test.p
    if sample.blocks < 2:
        return None
    if sample.stood_still and sample.base_stood_still:
        return 1.0
    less, more = sample.sides
    ways = [significance.sign_p(less, more) if (more > less) == sample.more else 1.0]
    if test is not None:
        ways.append(test.p if (math.fsum(sample.logs) > 0) == sample.more else 1.0)
    return min(1.0, len(ways) * min(ways))
