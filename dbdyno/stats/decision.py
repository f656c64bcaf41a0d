"""From log ratios to words: which changes are there, which are not, and what could not be told.

One family of units goes in, a judgement of each of their metrics comes out; docs/method.md has the
reasons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.model.looks import Look
from dbdyno.model.metric.primary import is_cpu
from dbdyno.model.verdict import Aims, Judgement, LookResult, Word
from dbdyno.stats import (
    dependence,
    fills,
    further_blocks,
    interval,
    moderation,
    power,
    significance,
    stage_wise,
    vectorized,
)
from dbdyno.stats.interval import Spread
from dbdyno.stats.sample import Sample
from dbdyno.stats.stage_wise import Stage
from dbdyno.stats.vectorized import Tested


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What has one p in a family: a step, or the whole of a workload."""

    samples: tuple[Sample, ...]  # by all blocks so far: throughput first, then CPU
    looks: tuple[tuple[Look, tuple[Sample, ...]], ...]  # what each look saw that has been taken
    whole: bool = False  # then it neither lends nor borrows


def decide(
    family: Sequence[Unit], aims: Aims, *, done: int, coming: Sequence[Look] = ()
) -> list[tuple[Judgement, ...]]:
    """The judgements of each unit's samples, in their order.

    `family` is what shares the chance of error, `done` how many blocks of the plan there are,
    `coming` the looks not taken yet. Changed is a unit with a q up to `aims.level`: the least of
    its p at each look divided by the look's share (a repeated p value: Jennison & Turnbull 1989),
    after Benjamini-Hochberg over the family. Within the margin is what two one-sided tests at a
    third of the level say at a look. ValueError of a sample without blocks.
    """
    at_looks = _at_looks(family, aims)
    now = _tested([unit.samples for unit in family], family, aims)
    ps = [min((seen.repeated for seen in look), default=None) for look in at_looks]
    qs = iter(significance.adjusted([p for p in ps if p is not None]))
    all_qs = [None if p is None else next(qs) for p in ps]
    called = sum(q is not None and q <= aims.level for q in all_qs)
    tests = max(sum(p is not None for p in ps), 1)
    return [
        _Judging(
            samples=unit.samples,
            tested=tested,
            looks=look,
            q=q,
            # Benjamini & Bogomolov 2014: what else is said of a unit that was called
            level_within=aims.level * called / tests,
            level_called=aims.level * (called + (q is None or q > aims.level)) / tests,
            # A change in one metric alone doubles the unit's p of two (Cauchy).
            planned=aims.level / tests / max(len(unit.samples), 1),
            aims=aims,
            done=done,
            coming=coming,
        ).judgements()
        for unit, tested, look, q in zip(family, now, at_looks, all_qs, strict=True)
    ]


# --- What the looks saw ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Metric:
    """One sample with its tests."""

    sample: Sample
    spread: Spread | None  # None under two blocks in which both ran
    tested: Tested | None
    p: float | None  # what it brings into its unit; None of a single block
    log_e: float = 0.0  # of a change
    log_e_same: float = 0.0  # of one that is within the margin
    scatter: Spread | None = None  # from unit to unit: `spread` without what fills add


@dataclass(frozen=True, kw_only=True)
class _AtLook:
    """What one look saw of a unit."""

    look: Look
    metrics: Mapping[str, _Metric]
    any_time: bool

    @property
    def repeated(self) -> float:
        """The unit's p as it counts in all looks."""
        metrics = self.metrics.values()
        if self.any_time:
            return math.exp(-max(0.0, _mean_e([metric.log_e for metric in metrics])))
        ps = [metric.p for metric in metrics if metric.p is not None]
        return min(1.0, significance.combined_p(ps) / self.look.share) if ps else 1.0

    def repeated_of(self, metric: str) -> float:
        """The same of one metric."""
        tests = self.metrics.get(metric)
        if tests is None or tests.p is None:
            return 1.0
        if self.any_time:
            return math.exp(-max(0.0, tests.log_e))
        return min(1.0, tests.p / self.look.share)

    def is_within(self, metric: str, aims: Aims) -> bool:
        """Whether this look shows that the change is within the margin."""
        tests = self.metrics.get(metric)
        if tests is None or tests.tested is None or tests.sample.stood:
            return False
        if self.any_time:
            return tests.log_e_same >= -math.log(2 * aims.level)
        return tests.tested.within <= aims.level / significance.SAME_SHARE

    def lies_beyond(self, metric: str, aims: Aims) -> bool:
        """Whether the mean of this look lies beyond the margin, so that no earlier one's *same*
        stands beside it."""
        tests = self.metrics.get(metric)
        if tests is None or not tests.sample.logs:
            return False
        return abs(interval.mean_and_sd(tests.sample.logs)[0]) > math.log1p(aims.margin)


def _mean_e(logs: Sequence[float]) -> float:
    """ln of the mean of e-values, which is one again."""
    most = max(logs, default=0.0)
    if math.isinf(most) or not logs:
        return most
    return most + math.log(math.fsum(math.exp(log - most) for log in logs) / len(logs))


def _at_looks(family: Sequence[Unit], aims: Aims) -> list[list[_AtLook]]:
    """What each look saw of each unit, where there was a test."""
    at_looks: list[list[_AtLook]] = [[] for _ in family]
    for look in sorted(
        {look for unit in family for look, _ in unit.looks}, key=lambda look: look.blocks
    ):
        samples = [dict(unit.looks).get(look, ()) for unit in family]
        for place, metrics in enumerate(_tested(samples, family, aims)):
            if any(metric.p is not None for metric in metrics.values()):
                seen = _AtLook(look=look, metrics=metrics, any_time=aims.judge == "any time")
                at_looks[place].append(seen)
    return at_looks


def _tested(
    samples: Sequence[Sequence[Sample]], family: Sequence[Unit], aims: Aims
) -> list[dict[str, _Metric]]:
    """The tests of each unit's samples by metric; steps lend each other what they know of scatter.

    Those of throughput to each other, and those of CPU, where they have the same blocks.
    """
    alike: dict[tuple[bool, int, tuple[int, ...]], list[tuple[int, Sample]]] = {}
    metrics: list[dict[str, _Metric]] = [{} for _ in family]
    for place, (of_unit, unit) in enumerate(zip(samples, family, strict=True)):
        for sample in of_unit:
            # What keeps its own scatter stands in a pool of its own: of no other's metric.
            alone = -place - 1 if unit.whole else len(sample.logs)
            alike.setdefault((is_cpu(sample.metric), alone, sample.at), []).append((place, sample))
    for pool in alike.values():
        many = len(pool[0][1].logs) > 1
        spreads = moderation.spreads([sample.logs for _, sample in pool]) if many else []
        spreads = dependence.widened(spreads, [sample for _, sample in pool])
        for number, (place, sample) in enumerate(pool):
            metrics[place][sample.metric] = _metric(sample, spreads[number] if many else None, aims)
    return metrics


def _metric(sample: Sample, spread: Spread | None, aims: Aims) -> _Metric:
    """A sample with its tests by this spread."""
    if spread is None:
        log_e = _log_e_still(sample) if sample.stood else 0.0
        return _Metric(sample=sample, spread=None, tested=None, p=_p(sample, None), log_e=log_e)
    scatter, spread = spread, fills.widened(spread, len(sample.logs), sample.between_fills)
    p = significance.t_p(sample.logs, spread)
    p_sign = significance.sign_flip_p(sample.logs)
    within = significance.equivalence_p(sample.logs, aims.margin, spread)
    assert p is not None and p_sign is not None and within is not None
    tested = Tested(sd=spread.sd, p=p, p_sign=p_sign, within=within)
    return _Metric(
        sample=sample,
        spread=spread,
        tested=tested,
        p=_p(sample, tested),
        log_e=_log_e_still(sample) if sample.stood else significance.log_e(sample.logs, spread),
        log_e_same=0.0 if sample.stood else _log_e_same(sample.logs, spread, aims.margin),
        scatter=scatter,
    )


def _log_e_still(sample: Sample) -> float:
    """ln of the e-value that the one that stood still is the slower, by the signs of all blocks."""
    less, more = sample.sides
    both = sample.stood_still and sample.base_stood_still
    if both or (more > less) != sample.more:
        return 0.0
    return significance.log_e_of_signs(less, more)


def _log_e_same(logs: Sequence[float], spread: Spread, margin: float) -> float:
    """ln of the e-value that the change lies within the margin; 0 where the mean does not."""
    edge = math.log1p(margin)
    if abs(interval.mean_and_sd(logs)[0]) >= edge:
        return 0.0
    return min(significance.log_e(logs, spread, about) for about in (-edge, edge))


# --- What is said ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Judging:
    """One unit on its way to its judgements."""

    samples: Sequence[Sample]
    tested: Mapping[str, _Metric]  # by all blocks so far
    looks: Sequence[_AtLook]
    q: float | None
    level_within: float
    level_called: float  # up to which a repeated p calls it, or would have
    planned: float  # the level at which a change is visible, as if it were the only one
    aims: Aims
    done: int  # blocks of the plan
    coming: Sequence[Look]

    def judgements(self) -> tuple[Judgement, ...]:
        """One of each sample, in their order."""
        named = self._named()
        evidence = self._evidence()
        return tuple(
            replace(self._judgement(sample, changed=sample.metric in named), evidence=evidence)
            for sample in self.samples
        )

    def _named(self) -> set[str]:
        """The metrics that carry the change, where one was called."""
        if self.q is None or self.q > self.aims.level:
            return set()
        ps = {
            name: min((look.repeated_of(name) for look in self.looks), default=1.0)
            for name in (sample.metric for sample in self.samples)
        }
        return {name for name, p in ps.items() if p == min(ps.values()) or p <= self.level_within}

    def _evidence(self) -> float | None:
        """The unit's e-value by all blocks so far."""
        known = [metric.log_e for metric in self.tested.values() if metric.spread is not None]
        return math.exp(min(_mean_e(known), interval.LOG_CHANGE_MAX)) if known else None

    def _judgement(self, sample: Sample, *, changed: bool) -> Judgement:
        """What is said of one metric, with the look on which that rests."""
        metric = self.tested[sample.metric]
        rests = self._look_of(sample.metric, changed=changed)
        seen = sample if rests is None else rests.metrics[sample.metric].sample
        since = 0 if rests is None else rests.look.blocks  # an earlier look is outdated
        looks = [look for look in self.looks if look.look.blocks >= since]
        within = any(seen.is_within(sample.metric, self.aims) for seen in looks)
        within = within and not looks[-1].lies_beyond(sample.metric, self.aims)
        word = _word(sample=seen, changed=changed, within=within)
        if self.q is None:
            word = "one block" if metric.p is None else "cannot tell"
        said = _figures(sample, metric, q=self.q, word=word, aims=self.aims)
        if rests is not None and word not in ("cannot tell", "limited"):
            said = replace(said, look=self._look_result(rests, sample.metric))
        needed = self._needed(sample, metric.scatter) if word == "cannot tell" else None
        said = replace(said, blocks_needed=needed)
        if metric.spread is None:
            return said
        share = self.looks[-1].look.share if self.looks else 1.0
        level = self.planned * min(share, 1.0) / sample.ways
        return replace(
            said,
            visible=power.visible(
                metric.spread.sd, len(sample.logs), level, self.aims.power, metric.spread.freedom
            ),
        )

    def _look_of(self, metric: str, *, changed: bool) -> _AtLook | None:
        """The look on which a metric's word rests: that of the least p, or the first *same*."""
        looks = [look for look in self.looks if metric in look.metrics]
        if changed:
            return min(looks, key=lambda seen: seen.repeated_of(metric), default=None)
        return next((seen for seen in looks if seen.is_within(metric, self.aims)), None)

    def _look_result(self, rests: _AtLook, name: str) -> LookResult:
        """The look on which a metric's word rests, with the estimate there."""
        seen = rests.metrics[name]
        ratio, low, high = seen.sample.ratio, None, None
        if seen.spread is not None and rests.any_time:
            low, high = significance.e_interval(seen.sample.logs, seen.spread, self.aims.level)
        elif seen.spread is not None:
            estimate = stage_wise.ended(
                seen.sample.logs, seen.spread, self._stages(seen, rests.look)
            )
            ratio, low, high = estimate.value, estimate.low, estimate.high
        look = rests.look
        return LookResult(blocks=look.blocks, share=look.share, ratio=ratio, low=low, high=high)

    def _stages(self, seen: _Metric, look: Look) -> tuple[Stage, ...]:
        """The looks before this one, any of which could have ended the plan by this metric.

        None if one of them showed the change: the plan went on all the same, so no look ended it.
        Nor where one of the two stood still, which is told by signs, too.
        """
        name, scatter = seen.sample.metric, seen.scatter
        before = [earlier for earlier in self.looks if earlier.look.blocks < look.blocks]
        shown = any(earlier.repeated_of(name) <= self.level_called for earlier in before)
        if shown or seen.sample.stood or scatter is None or not scatter.sd:
            return ()
        return tuple(
            Stage(
                information=_variance(seen.sample, scatter) / _variance(metric.sample, scatter),
                freedom=metric.spread.freedom,
                level=self.level_called * earlier.look.share,
            )
            for earlier in before
            if (metric := earlier.metrics.get(name)) is not None and metric.spread is not None
        )

    def _needed(self, sample: Sample, scatter: Spread | None) -> int | None:
        """Further blocks up to the look that would settle a metric; of a new plan without one."""
        if further_blocks.fills_are_used(sample):
            return None
        if sample.stood:
            blocks = further_blocks.needed_of_signs(sample, self.planned, self.coming, self.aims)
        elif scatter is None:
            return None
        else:
            blocks = further_blocks.needed(
                scatter, self.planned, self.coming, self.aims, sample=sample
            )
        return blocks - self.done if blocks is not None and self.coming else blocks


def _variance(sample: Sample, scatter: Spread) -> float:
    """Of the mean of a sample, by its number of blocks; each scatters so."""
    blocks = len(sample.logs) if sample.fills is None else sample.fills.blocks
    return scatter.sd**2 / blocks + (sample.between_fills.value if sample.between_fills else 0.0)


def _figures(
    sample: Sample, metric: _Metric, *, q: float | None, word: Word, aims: Aims
) -> Judgement:
    """The figures of all blocks so far."""
    shown, own = sample.interval, metric.spread
    alone = None
    if metric.spread is not None and metric.spread.lent:
        alone, shown = shown, interval.log_interval(sample.logs, spread=metric.spread)
    if metric.spread is not None and metric.spread.dependence is not None:
        shown = interval.log_interval(sample.logs, spread=metric.spread)
    if metric.spread is not None:
        own = interval.own_spread(sample.logs)
    return Judgement(
        metric=sample.metric,
        blocks=len(sample.logs) if sample.fills is None else sample.fills.blocks,
        fills=None if sample.fills is None else len(sample.logs),
        ratio=sample.ratio,
        low=None if shown is None else shown.low,
        high=None if shown is None else shown.high,
        p=None if metric.tested is None else metric.tested.p,
        p_sign=None if metric.tested is None else metric.tested.p_sign,
        q=q,
        sd=None if own is None else own.sd,
        margin=aims.margin,
        word=word,
        visible=None,
        stood_still=sample.stood_still,
        base_stood_still=sample.base_stood_still,
        p_still=significance.sign_p(*sample.sides) if sample.stood and q is not None else None,
        lent=metric.spread.lent if metric.spread is not None else 0.0,
        own_low=None if alone is None else alone.low,
        own_high=None if alone is None else alone.high,
        dependence=None if metric.spread is None else metric.spread.dependence,
    )


def _p(sample: Sample, test: Tested | None) -> float | None:
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


def _word(sample: Sample, *, changed: bool, within: bool) -> Word:
    """What is said of a sample that changed or not, and that is within the margin or not.

    Where one stood still no change is within the margin, and nothing is the same.
    """
    more = sample.more
    within = within and not sample.stood
    if sample.bound != "exact":
        # The true ratio lies on one side of what was seen: a change to that side is one all the
        # more, but how large it is, or that there is none, cannot be said.
        stands = changed and sample.bound == ("at least" if more else "at most")
        return _change(sample, more=more) if stands else "limited"
    if not changed:
        return "same" if within else "cannot tell"
    return _change(sample, more=more, within=within)


def _change(sample: Sample, *, more: bool, within: bool = False) -> Word:
    """The word of a change to more, or to less, of the metric."""
    if more == (sample.better >= 0):
        return "faster, within the margin" if within else "faster"
    return "slower, within the margin" if within else "slower"


# --- Many at once ----------------------------------------------------------------------------


def explore(family: Sequence[Sample], aims: Aims) -> list[Judgement]:
    """Judgements of a family of thousands, each with a p of its own, of all blocks so far.

    For tests that explore: they take no looks, borrow nothing, and how many blocks would settle one
    is not asked.
    """
    tests: list[Tested | None] = [None] * len(family)
    by_count: dict[int, list[int]] = {}
    for place, sample in enumerate(family):
        by_count.setdefault(len(sample.logs), []).append(place)
    for count, places in by_count.items():
        if count < 2:
            continue
        alike = vectorized.tests([family[place].logs for place in places], aims.margin)
        for place, test in zip(places, alike, strict=True):
            tests[place] = test
    ps = [_p(sample, test) for sample, test in zip(family, tests, strict=True)]
    qs = iter(significance.adjusted([p for p in ps if p is not None]))
    planned = aims.level / max(sum(sample.blocks > 1 for sample in family), 1)
    return [
        _explored(sample, test, None if p is None else next(qs), planned, aims)
        for sample, test, p in zip(family, tests, ps, strict=True)
    ]


def _explored(
    sample: Sample, test: Tested | None, q: float | None, planned: float, aims: Aims
) -> Judgement:
    """One sample's judgement; `planned`: the level at which a change is visible."""
    word: Word = "one block"
    if q is not None:
        within = test is not None and test.within <= aims.level
        word = _word(sample, changed=q <= aims.level, within=within)
    spread = None if test is None else Spread(sd=test.sd, freedom=len(sample.logs) - 1)
    metric = _Metric(sample=sample, spread=spread, tested=test, p=q)
    said = _figures(sample, metric, q=q, word=word, aims=aims)
    if test is None:
        return said
    level = planned / sample.ways
    return replace(
        said,
        visible=power.visible(test.sd, len(sample.logs), level, aims.power),
    )
