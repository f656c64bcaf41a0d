"""From log ratios to words: which changes are there, which are not, and what could not be told.

One family of units goes in, a judgement of each of their metrics comes out; docs/method.md has the
reasons.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dbdyno.model.grouping import grouped
from dbdyno.model.looks import Look
from dbdyno.model.ratio import PairedEstimate, Ratio
from dbdyno.model.verdict import Aims, Judgement, LookResult, Reason, Word
from dbdyno.stats import (
    further_blocks,
    interval,
    look_tests,
    power,
    significance,
    stage_wise,
    vectorized,
)
from dbdyno.stats.interval import Spread
from dbdyno.stats.look_tests import LookTest, MetricTests, Unit
from dbdyno.stats.sample import Sample
from dbdyno.stats.stage_wise import Stage
from dbdyno.stats.vectorized import SampleTests


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
    looks = look_tests.at_looks(family, aims)
    now = look_tests.tested([unit.samples for unit in family], family, aims)
    ps = [min((seen.repeated for seen in look), default=None) for look in looks]
    qs = iter(significance.adjusted([p for p in ps if p is not None]))
    all_qs = [None if p is None else next(qs) for p in ps]
    called = sum(q is not None and q <= aims.level for q in all_qs)
    tests = max(sum(p is not None for p in ps), 1)
    return [
        _UnitDecision(
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
        for unit, tested, look, q in zip(family, now, looks, all_qs, strict=True)
    ]


# --- What is said ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _UnitDecision:
    """One unit on its way to its judgements."""

    samples: Sequence[Sample]
    tested: Mapping[str, MetricTests]  # by all blocks so far
    looks: Sequence[LookTest]
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
        return tuple(
            self._judgement(sample, changed=sample.metric in named) for sample in self.samples
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

    def _judgement(self, sample: Sample, *, changed: bool) -> Judgement:
        """What is said of one metric, with the look on which that rests."""
        metric = self.tested[sample.metric]
        rests = self._look_of(sample.metric, changed=changed)
        seen = sample if rests is None else rests.metrics[sample.metric].sample
        since = 0 if rests is None else rests.look.blocks  # an earlier look is outdated
        looks = [look for look in self.looks if look.look.blocks >= since]
        within = any(seen.is_within(sample.metric, self.aims) for seen in looks)
        within = within and not looks[-1].lies_beyond(sample.metric, self.aims)
        said = _said(sample=seen, changed=changed, within=within)
        if self.q is None:
            said = _MetricDecision("open", reason="one block" if metric.p is None else "")
        if said == _MetricDecision("open") and metric.withheld:
            said = _MetricDecision("open", reason="blocks drift")
        judged = _figures(sample, metric, q=self.q, said=said, aims=self.aims)
        if rests is not None and said.word != "open":
            judged = replace(judged, look=self._look_result(rests, sample.metric))
        if said == _MetricDecision("open"):
            judged = replace(judged, blocks_needed=self._needed(sample, metric.scatter))
        if metric.spread is None:
            return judged
        share = self.looks[-1].look.share if self.looks else 1.0
        level = self.planned * min(share, 1.0) / sample.ways
        return replace(
            judged,
            visible=power.visible(
                metric.spread.sd, len(sample.logs), level, self.aims.power, metric.spread.freedom
            ),
        )

    def _look_of(self, metric: str, *, changed: bool) -> LookTest | None:
        """The look on which a metric's word rests: that of the least p, or the first *same*."""
        looks = [look for look in self.looks if metric in look.metrics]
        if changed:
            return min(looks, key=lambda seen: seen.repeated_of(metric), default=None)
        return next((seen for seen in looks if seen.is_within(metric, self.aims)), None)

    def _look_result(self, rests: LookTest, name: str) -> LookResult:
        """The look on which a metric's word rests, with the estimate there."""
        seen = rests.metrics[name]
        ended = None
        if seen.spread is not None:
            ended = stage_wise.ended(seen.sample.logs, seen.spread, self._stages(seen, rests.look))
        estimate = replace(_estimate(seen.sample, ended), basis="look")
        return LookResult(blocks=rests.look.blocks, share=rests.look.share, estimate=estimate)

    def _stages(self, seen: MetricTests, look: Look) -> tuple[Stage, ...]:
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
        """Further blocks up to the look that would settle a metric; without one, a new plan's."""
        if further_blocks.fills_are_used(sample):
            return None
        for coming in (self.coming, ()):
            blocks: int | None = None
            if sample.stood:
                blocks = further_blocks.needed_of_signs(sample, self.planned, coming, self.aims)
            elif scatter is not None:
                blocks = further_blocks.needed(scatter, self.planned, coming, self.aims, sample)
            if blocks is not None:
                return blocks - self.done if coming else blocks
        return None


def _variance(sample: Sample, scatter: Spread) -> float:
    """Of the mean of a sample, by its number of blocks; each scatters so."""
    return scatter.sd**2 / _blocks(sample) + (
        sample.between_fills.value if sample.between_fills else 0.0
    )


class _MetricDecision(NamedTuple):
    """What is said of a metric."""

    word: Word
    within_margin: bool = False
    reason: Reason = ""


def _estimate(sample: Sample, known: Ratio | None) -> PairedEstimate:
    """The ratio of a sample with its interval, where that is known."""
    return PairedEstimate(
        value=sample.ratio if known is None else known.value,
        low=None if known is None else known.low,
        high=None if known is None else known.high,
        blocks=_blocks(sample),
        at=sample.at,
        se=None if known is None else known.se,
        freedom=None if known is None else known.freedom,
        bound=sample.bound,
    )


def _blocks(sample: Sample) -> int:
    return len(sample.logs) if sample.fills is None else sample.fills.blocks


def _figures(
    sample: Sample, metric: MetricTests, *, q: float | None, said: _MetricDecision, aims: Aims
) -> Judgement:
    """The figures of all blocks so far."""
    shown, own = sample.interval, metric.spread
    alone = None
    dependence = None if own is None else own.dependence
    if own is not None and (own.lent or dependence is not None):
        shown = interval.log_interval(sample.logs, spread=own)
    if own is not None:
        lent, own = own.lent, interval.own_spread(sample.logs)
        if lent and own is not None:
            wide = own.sd * (1.0 if dependence is None else dependence.widened)
            alone = interval.log_interval(sample.logs, spread=replace(own, sd=wide))
    return Judgement(
        metric=sample.metric,
        blocks=_blocks(sample),
        fills=None if sample.fills is None else len(sample.logs),
        so_far=_estimate(sample, shown),
        p=None if metric.tested is None else metric.tested.p,
        p_sign=None if metric.tested is None else metric.tested.p_sign,
        q=q,
        sd=None if own is None else own.sd,
        margin=aims.margin,
        word=said.word,
        within_margin=said.within_margin,
        reason=said.reason,
        nearest=sample.nearest,
        stood_still=sample.stood_still,
        base_stood_still=sample.base_stood_still,
        p_still=significance.sign_p(*sample.sides) if sample.stood and q is not None else None,
        lent=metric.spread.lent if metric.spread is not None else 0.0,
        own_low=None if alone is None else alone.low,
        own_high=None if alone is None else alone.high,
        dependence=dependence,
        base_us=sample.base,
    )


def _said(sample: Sample, *, changed: bool, within: bool) -> _MetricDecision:
    """What is said of a sample that changed or not, and that is within the margin or not.

    Where one stood still no change is within the margin, and nothing is the same.
    """
    within = within and not sample.stood
    if sample.bound != "exact":
        # The true ratio lies on one side of what was seen: a change to that side is one all the
        # more, but how large it is, or that there is none, cannot be said.
        if not changed or sample.bound != ("at least" if sample.more else "at most"):
            return _MetricDecision("open", reason=sample.bounded_by or "generator at its limit")
        within = False
    if not changed:
        return _MetricDecision("same" if within else "open")
    return _MetricDecision("faster" if sample.more == (sample.better >= 0) else "slower", within)


# --- Many at once ----------------------------------------------------------------------------


def explore(family: Sequence[Sample], aims: Aims) -> list[Judgement]:
    """Judgements of a family of thousands, each with a p of its own, of all blocks so far.

    For tests that explore: they take no looks, borrow nothing, and how many blocks would settle one
    is not asked.
    """
    tests: list[SampleTests | None] = [None] * len(family)
    by_count = grouped((len(sample.logs), place) for place, sample in enumerate(family))
    for count, places in by_count.items():
        if count < 2:
            continue
        alike = vectorized.tests([family[place].logs for place in places], aims.margin)
        for place, test in zip(places, alike, strict=True):
            tests[place] = test
    ps = [look_tests.p_of(sample, test) for sample, test in zip(family, tests, strict=True)]
    qs = iter(significance.adjusted([p for p in ps if p is not None]))
    planned = aims.level / max(sum(sample.blocks > 1 for sample in family), 1)
    return [
        _explored(sample, test, None if p is None else next(qs), planned, aims)
        for sample, test, p in zip(family, tests, ps, strict=True)
    ]


def _explored(
    sample: Sample, test: SampleTests | None, q: float | None, planned: float, aims: Aims
) -> Judgement:
    """One sample's judgement; `planned`: the level at which a change is visible."""
    said = _MetricDecision("open", reason="one block")
    if q is not None:
        within = test is not None and test.within <= aims.level
        said = _said(sample, changed=q <= aims.level, within=within)
    spread = None if test is None else Spread(sd=test.sd, freedom=len(sample.logs) - 1)
    metric = MetricTests(sample=sample, spread=spread, tested=test, p=q)
    judged = _figures(sample, metric, q=q, said=said, aims=aims)
    if test is None:
        return judged
    level = planned / sample.ways
    return replace(judged, visible=power.visible(test.sd, len(sample.logs), level, aims.power))
