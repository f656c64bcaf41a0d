"""Whether losses beyond a tolerance are excluded, or one is shown.

Excluded are they by an intersection-union test (Berger, Technometrics 1982): if each metric of each
step excludes its own by a one-sided t test at the whole level, one of them at least was wrong where
any loss is there, so that their number needs no correction. That one is shown needs the least of
many p values, which Holm's procedure corrects for their number (Scand. J. Statist. 1979). What is
seen at several looks is a repeated p value (Jennison & Turnbull 1989): the least of each look's
divided by its share of the level.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.model.looks import Look
from dbdyno.model.verdict import Aims
from dbdyno.stats import further_blocks, interval, look_tests, significance
from dbdyno.stats.look_tests import LookTest, MetricTests, Unit
from dbdyno.stats.sample import Sample


@dataclass(frozen=True, kw_only=True)
class MetricLoss:
    """What all looks say of the loss in a metric of a step."""

    metric: str
    excluded: bool  # a loss as large as the tolerance
    lost: bool  # more than the tolerance
    blocks_needed: int | None  # further ones to exclude it where nothing differs


def losses(
    family: Sequence[Unit], tolerate: float, aims: Aims, *, done: int, coming: Sequence[Look] = ()
) -> list[tuple[MetricLoss, ...]]:
    """Of each unit's metrics whether a loss beyond `tolerate`, a share, is excluded or shown.

    `done`: how many blocks of the plan there are, `coming`: the looks not taken yet.
    """
    looks = look_tests.at_looks(family, aims)
    now = look_tests.tested([unit.samples for unit in family], family, aims)
    ps = [
        [_repeated(seen, sample.metric, tolerate) for sample in unit.samples]
        for unit, seen in zip(family, looks, strict=True)
    ]
    shown = iter(significance.holm([beyond for unit in ps for _, beyond in unit]))
    tests = sum(map(len, ps))
    answers = []
    for unit, tested, of_unit in zip(family, now, ps, strict=True):
        metrics = []
        for sample, (within, _) in zip(unit.samples, of_unit, strict=True):
            excluded = within <= aims.level
            metrics.append(
                MetricLoss(
                    metric=sample.metric,
                    excluded=excluded,
                    lost=next(shown) <= aims.level,
                    blocks_needed=None
                    if excluded
                    else _needed(tested[sample.metric], tolerate, aims, tests, coming, done),
                )
            )
        answers.append(tuple(metrics))
    return answers


def edge(sample: Sample, tolerate: float) -> float:
    """The log ratio of a loss as large as the tolerance: fewer of what is better, else more."""
    return math.log1p(-tolerate if sample.better >= 0 else tolerate)


def _repeated(looks: Sequence[LookTest], metric: str, tolerate: float) -> tuple[float, float]:
    """p over all looks that the loss is as large as the tolerance, and that it is no larger."""
    within, beyond = [1.0], [1.0]
    for seen in looks:
        tests = seen.metrics.get(metric)
        if tests is None:
            continue
        first, second = _ps(tests, tolerate)
        within.append(first / seen.look.share)
        beyond.append(second / seen.look.share)
    return min(within), min(beyond)


def _ps(tests: MetricTests, tolerate: float) -> tuple[float, float]:
    """The two one-sided p values of one look.

    Of a ratio that the generator's limit bounds only that counts which the limit cannot have made.
    An arm that stood still in a block excludes nothing; that it is slower is a test of signs, too.
    """
    sample, spread = tests.sample, tests.spread
    within = beyond = 1.0
    if spread is not None and not tests.withheld:
        lost = edge(sample, tolerate) - interval.mean_and_sd(sample.logs)[0]
        lost *= 1 if sample.better >= 0 else -1
        within = significance.lower_p(lost, spread, len(sample.logs))
        beyond = significance.lower_p(-lost, spread, len(sample.logs))
    if sample.stood_still:
        within, beyond = 1.0, 1.0 if sample.more or tests.p is None else tests.p
    if sample.bound in ("at most", "unknown"):
        within = 1.0
    if sample.bound in ("at least", "unknown"):
        beyond = 1.0
    return within, beyond


def _needed(  # noqa: PLR0913 (each by its name)
    tests: MetricTests, tolerate: float, aims: Aims, count: int, coming: Sequence[Look], done: int
) -> int | None:
    """Further blocks up to the look that excludes the loss; without one, those of a new plan.

    All of `count` metrics have to exclude theirs with the wanted power together, so that each may
    miss it in its part of the rest alone.
    """
    sample = tests.sample
    unbounded = sample.bound in ("exact", "at least") and not sample.stood_still
    if tests.scatter is None or not unbounded or further_blocks.fills_are_used(sample):
        return None
    room, wanted = abs(edge(sample, tolerate)), 1 - (1 - aims.power) / count
    for looks in (coming, ()):
        blocks = further_blocks.needed_to_exclude(
            tests.scatter, room, wanted, looks, aims.level, sample.between_fills
        )
        if blocks is not None:
            return blocks - done if looks else blocks
    return None
