"""From log ratios to words: which changes are there, which are not, and what could not be told.

One family of tests goes in, one judgement for each comes out; docs/method.md has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dbdyno.model.verdict import Aims, Judgement, Word
from dbdyno.stats import interval, power, significance, vectorized
from dbdyno.stats.interval import Interval
from dbdyno.stats.vectorized import Tested


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A metric of one arm in one step, by the nearest base's."""

    metric: str
    better: int  # +1 where more is better, -1 where less is; 0 neither: then "faster" means more
    logs: tuple[float, ...]  # ln(arm / nearest base) by block in which both ran
    bound: str = "exact"  # `model.Bound` of the ratio
    stood_still: int = 0  # further blocks in which it is 0 of the arm alone
    base_stood_still: int = 0  # and of the base alone
    known: Interval | None = None  # the interval of `logs`, where it is computed already

    @cached_property
    def interval(self) -> Interval | None:
        """The mean ratio of the blocks in which both ran, with its interval; None of none."""
        return interval.log_interval(self.logs) if self.known is None and self.logs else self.known

    @property
    def blocks(self) -> int:
        """All blocks that count; at least one."""
        return len(self.logs) + self.stood_still + self.base_stood_still

    @property
    def compares(self) -> bool:
        """Whether there is a ratio, or one of the two that stood still while the other ran."""
        return bool(self.logs) or (self.stood_still > 0) != (self.base_stood_still > 0)

    @property
    def stood(self) -> bool:
        """Whether one of the two stood still in a block."""
        return self.stood_still + self.base_stood_still > 0

    @property
    def more(self) -> bool:
        """Whether the arm has more of the metric; it never has where it stood still."""
        return self.base_stood_still > 0 if self.stood else math.fsum(self.logs) > 0

    @property
    def sides(self) -> tuple[int, int]:
        """In how many blocks the arm has less of it, and more; ties are in neither."""
        less, more = (sum(sign * log > 0 for log in self.logs) for sign in (-1, 1))
        return less + self.stood_still, more + self.base_stood_still


def decide(family: Sequence[Sample], aims: Aims) -> list[Judgement]:
    """A judgement of each sample, in their order; `family` is what shares the chance of error.

    Changed is what has a q (Benjamini-Hochberg over the family) up to `aims.level`. Within the
    margin is what two one-sided tests at that level say. ValueError of a sample without blocks.
    """
    planned = _planned(family, aims)
    judged = _judged(family, [_tested(sample.logs, aims) for sample in family], aims)
    return [
        replace(one, blocks_needed=_blocks_needed(sample, one.sd, planned, aims))
        if one.word == "cannot tell"
        else one
        for sample, one in zip(family, judged, strict=True)
    ]


def _tested(logs: Sequence[float], aims: Aims) -> Tested | None:
    """The tests of one sample; None under two blocks in which both ran."""
    if len(logs) < 2:
        return None
    _, sd = interval.mean_and_sd(logs)
    p, p_sign = significance.t_p(logs), significance.sign_flip_p(logs)
    within = significance.equivalence_p(logs, aims.margin)
    if sd is None or p is None or p_sign is None or within is None:
        return None
    return Tested(sd=sd, p=p, p_sign=p_sign, within=within)


def _judged(
    family: Sequence[Sample], tests: Sequence[Tested | None], aims: Aims
) -> list[Judgement]:
    """The judgements of a family by its tests, but for the blocks that would settle them."""
    ps = [_p(sample, test) for sample, test in zip(family, tests, strict=True)]
    qs = iter(significance.adjusted([p for p in ps if p is not None]))
    planned = _planned(family, aims)
    return [
        _judgement(sample, test, None if p is None else next(qs), planned, aims)
        for sample, test, p in zip(family, tests, ps, strict=True)
    ]


def _planned(family: Sequence[Sample], aims: Aims) -> float:
    """The level at which a change is planned for: as if it were the only one of the family."""
    return aims.level / max(sum(sample.blocks > 1 for sample in family), 1)


def _p(sample: Sample, test: Tested | None) -> float | None:
    """The p that a sample brings into its family; None of a single block.

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


def _ways(sample: Sample) -> int:
    """Among how many tests the level of a sample is shared."""
    return 2 if sample.stood and len(sample.logs) > 1 else 1


def _ratio(sample: Sample) -> float:
    """The mean ratio of the blocks in which both ran; 0 or infinite where there are none."""
    if sample.interval is not None:
        return sample.interval.value
    if not sample.stood:
        raise ValueError(f"no block has `{sample.metric}` of both")
    return math.inf if sample.more else 0.0


def _judgement(
    sample: Sample, test: Tested | None, q: float | None, planned: float, aims: Aims
) -> Judgement:
    """One sample's judgement; `planned`: the level at which a change is visible."""
    said = Judgement(
        metric=sample.metric,
        blocks=len(sample.logs),
        ratio=_ratio(sample),
        low=None,
        high=None,
        p=None,
        p_sign=None,
        q=q,
        sd=None,
        margin=aims.margin,
        word="one block" if q is None else _word(sample, q, test, aims),
        visible=None,
        stood_still=sample.stood_still,
        base_stood_still=sample.base_stood_still,
        p_still=significance.sign_p(*sample.sides) if sample.stood and q is not None else None,
    )
    if test is None or sample.interval is None:
        return said
    level = planned / _ways(sample)
    return replace(
        said,
        low=sample.interval.low,
        high=sample.interval.high,
        p=test.p,
        p_sign=test.p_sign,
        sd=test.sd,
        visible=power.visible(test.sd, len(sample.logs), level, aims.power),
    )


def _word(sample: Sample, q: float, test: Tested | None, aims: Aims) -> Word:
    """What is said of a sample whose p became this q.

    Where one stood still no change is within the margin, and nothing is the same.
    """
    changed, more = q <= aims.level, sample.more
    within = test is not None and not sample.stood and test.within <= aims.level
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


def _blocks_needed(sample: Sample, sd: float | None, planned: float, aims: Aims) -> int | None:
    """Further blocks after which a change as large as the margin would be found, or its absence.

    Both with `aims.power`, at the spread as seen; the change at the level `planned`, which is what
    Benjamini-Hochberg asks of the only one that differs. At least 1; None beyond BLOCKS_MAX in all.
    """
    if sample.stood:
        return _blocks_needed_of_signs(sample, planned, aims)
    if sd is None:
        return None
    changed = power.blocks_for(aims.margin, sd, planned, aims.power)
    unchanged = power.blocks_for_equivalence(aims.margin, sd, aims.level, aims.power)
    if changed is None or unchanged is None:
        return None
    return max(changed, unchanged, len(sample.logs) + 1) - len(sample.logs)


def _blocks_needed_of_signs(sample: Sample, planned: float, aims: Aims) -> int | None:
    """Further blocks after which a sign test finds which of the two stands still, as before.

    None where each stood still, or where as many blocks as not fell to the other side.
    """
    less, more = sample.sides
    if sample.stood_still and sample.base_stood_still:
        return None
    share = (more if sample.more else less) / (less + more)
    blocks = power.blocks_for_signs(share, planned / _ways(sample), aims.power)
    return None if blocks is None else max(blocks, sample.blocks + 1) - sample.blocks


# --- Many at once ----------------------------------------------------------------------------


def explore(family: Sequence[Sample], aims: Aims) -> list[Judgement]:
    """What `decide` says of a family of thousands, in a hundredth of its time.

    For tests that explore: how many blocks would settle one is not asked, `blocks_needed` is None.
    """
    tests: list[Tested | None] = [None] * len(family)
    by_count: dict[int, list[int]] = {}
    for place, sample in enumerate(family):
        by_count.setdefault(len(sample.logs), []).append(place)
    for count, places in by_count.items():
        if count < 2:
            continue
        found = vectorized.tests([family[place].logs for place in places], aims.margin)
        for place, test in zip(places, found, strict=True):
            tests[place] = test
    return _judged(family, tests, aims)
