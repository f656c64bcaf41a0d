"""From log ratios to words: which changes are there, which are not, and what could not be told.

One family of tests goes in, one judgement for each comes out; docs/method.md has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbdyno import batch, stats
from dbdyno.batch import Tested
from dbdyno.verdict import Aims, Judgement, Word


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A metric of one arm in one step, by the nearest base's."""

    metric: str
    better: int  # +1 where more is better, -1 where less is; 0 neither: then "faster" means more
    logs: tuple[float, ...]  # ln(arm / nearest base) by block; at least one
    bound: str = "exact"  # `model.Bound` of the ratio


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
    """The tests of one sample; None of a single block."""
    interval = stats.log_interval(logs)
    _, sd = stats.mean_and_sd(logs)
    p, p_sign = stats.t_p(logs), stats.sign_flip_p(logs)
    within = stats.equivalence_p(logs, aims.margin)
    if sd is None or p is None or p_sign is None or within is None:
        return None
    assert interval.low is not None and interval.high is not None
    return Tested(
        ratio=interval.value,
        low=interval.low,
        high=interval.high,
        sd=sd,
        p=p,
        p_sign=p_sign,
        within=within,
    )


def _judged(
    family: Sequence[Sample], tests: Sequence[Tested | None], aims: Aims
) -> list[Judgement]:
    """The judgements of a family by its tests, but for the blocks that would settle them."""
    qs = iter(stats.adjusted([test.p for test in tests if test is not None]))
    planned = _planned(family, aims)
    return [
        _alone(sample, aims) if test is None else _judgement(sample, test, next(qs), planned, aims)
        for sample, test in zip(family, tests, strict=True)
    ]


def _planned(family: Sequence[Sample], aims: Aims) -> float:
    """The level at which a change is planned for: as if it were the only one of the family."""
    return aims.level / max(sum(len(sample.logs) > 1 for sample in family), 1)


def _alone(sample: Sample, aims: Aims) -> Judgement:
    """What is said of one block: its ratio."""
    return Judgement(
        metric=sample.metric,
        blocks=1,
        ratio=stats.log_interval(sample.logs).value,
        low=None,
        high=None,
        p=None,
        p_sign=None,
        q=None,
        sd=None,
        margin=aims.margin,
        word="one block",
        visible=None,
    )


def _judgement(sample: Sample, test: Tested, q: float, planned: float, aims: Aims) -> Judgement:
    """One sample's judgement; `planned`: the level at which a change is visible."""
    return Judgement(
        metric=sample.metric,
        blocks=len(sample.logs),
        ratio=test.ratio,
        low=test.low,
        high=test.high,
        p=test.p,
        p_sign=test.p_sign,
        q=q,
        sd=test.sd,
        margin=aims.margin,
        word=_word(sample, q, test.within, aims),
        visible=stats.visible(test.sd, len(sample.logs), planned, aims.power),
    )


def _word(sample: Sample, q: float, within: float, aims: Aims) -> Word:
    """What is said of a sample whose p became this q; `within`: p of the test of equivalence."""
    changed = q <= aims.level
    more = math.fsum(sample.logs) > 0
    if sample.bound != "exact":
        # The true ratio lies on one side of what was seen: a change to that side is one all the
        # more, but how large it is, or that there is none, cannot be said.
        stands = changed and sample.bound == ("at least" if more else "at most")
        return _change(sample, more=more) if stands else "limited"
    if not changed:
        return "same" if within <= aims.level else "cannot tell"
    return _change(sample, more=more, within=within <= aims.level)


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
    if sd is None:
        return None
    changed = stats.blocks_for(aims.margin, sd, planned, aims.power)
    unchanged = stats.blocks_for_equivalence(aims.margin, sd, aims.level, aims.power)
    if changed is None or unchanged is None:
        return None
    return max(changed, unchanged, len(sample.logs) + 1) - len(sample.logs)


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
        found = batch.tests([family[place].logs for place in places], aims.margin)
        for place, test in zip(places, found, strict=True):
            tests[place] = test
    return _judged(family, tests, aims)
