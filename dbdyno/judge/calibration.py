"""The comparison of the base with its A/A arm: how often verdicts err on this host.

Nothing differs between the two, so whatever is said to have changed is a false alarm, and how far
apart they seem is the noise that every other comparison has, too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.judge import fills, looks
from dbdyno.judge.arm_vs_base import ArmInStep
from dbdyno.judge.verdicts import FamilyVerdicts, judge
from dbdyno.model.verdict import CHANGED, Aims, Calibration, Judgement, Noise
from dbdyno.stats import interval, power, significance
from dbdyno.stats.interval import Spread

SPREAD_QUANTILE = 0.975
"""Of what comparisons saw though nothing differs."""
UNIFORM_MIN = 8
"""With fewer p values nothing can be said of how they are distributed."""


def calibration(
    arm: str, contests: Sequence[ArmInStep], aims: Aims, *, blocks_each: int | None
) -> Calibration | None:
    """The base's A/A arm `arm` by the whole procedure, in comparisons of so many blocks each.

    `blocks_each` None: all blocks are one comparison. Blocks that make no whole comparison are left
    out. None where there is no comparison of at least two blocks.
    """
    groups = comparisons(contests, blocks_each)
    if not groups:
        return None
    judged = [
        judge(arm, [contest.within(blocks) for contest in contests], aims, looks.once(blocks))
        for blocks in groups
    ]
    tests = [
        judgement.p
        for result in judged
        for judgement in _judgements(result)
        if judgement.p is not None
    ]
    rejected = sum(p <= aims.level for p in tests)
    false = [
        sum(verdict.word in CHANGED for verdict in result.verdicts.values())
        + sum(whole.judgement.word in CHANGED for whole in result.overall if whole.steps > 1)
        for result in judged
    ]
    wrong = sum(count > 0 for count in false)
    rate_low, rate_high = interval.share_interval(rejected, len(tests))
    false_low, false_high = interval.share_interval(wrong, len(groups))
    return Calibration(
        arm=arm,
        comparisons=len(groups),
        blocks_each=len(groups[0]),
        tests=len(tests),
        rejected=rejected,
        rate=rejected / len(tests) if tests else 0.0,
        rate_low=rate_low,
        rate_high=rate_high,
        false_verdicts=sum(false),
        comparisons_false=wrong,
        false_low=false_low,
        false_high=false_high,
        p_uniform=uniform_p([p for result in judged for p in _plain_ps(result)]),
        noise=tuple(_noises(contests, groups, aims)),
        fills=tuple(fills.noises(contests)),
    )


def comparisons(contests: Sequence[ArmInStep], blocks_each: int | None) -> list[tuple[int, ...]]:
    """The blocks of each comparison, in their order."""
    blocks = sorted({run.block for contest in contests for run in contest.faced.runs})
    each = blocks_each or len(blocks)
    if each < 2:
        return []
    whole = len(blocks) // each
    return [tuple(blocks[at * each : (at + 1) * each]) for at in range(whole)]


def _judgements(judged: FamilyVerdicts) -> Iterable[Judgement]:
    """All tests of a comparison that are no other one's repetition."""
    yield from (
        judgement for verdict in judged.verdicts.values() for judgement in verdict.judgements
    )
    yield from (whole.judgement for whole in judged.overall if whole.steps > 1)


def _plain_ps(judged: FamilyVerdicts) -> Iterable[float]:
    """The p values of independent blocks, which alone are uniform where nothing differs."""
    for judgement in _judgements(judged):
        units = judgement.fills or judgement.blocks
        if judgement.sd and judgement.p is not None:
            spread = Spread(sd=judgement.sd, freedom=units - 1)
            yield 2 * significance.lower_p(-abs(math.log(judgement.so_far.value)), spread, units)


def _noises(
    contests: Sequence[ArmInStep], groups: Sequence[Sequence[int]], aims: Aims
) -> Iterable[Noise]:
    """The noise of each primary metric of each step, where two blocks have it."""
    seen = [
        (contest, name, logs)
        for contest in contests
        for name in contest.primary
        if len(logs := contest.logs(name)) > 1
    ]
    level = aims.level / max(len(seen), 1)
    for contest, name, logs in seen:
        _, sd = interval.mean_and_sd(tuple(logs.values()))
        assert sd is not None
        low, high = interval.sd_interval(sd, len(logs) - 1)
        yield Noise(
            workload=contest.where.workload,
            step=contest.where.step,
            metric=name,
            blocks=len(logs),
            sd=sd,
            sd_low=low,
            sd_high=high,
            visible=power.visible(sd, len(groups[0]), level, aims.power),
            largest=_largest(logs, groups),
        )


def _largest(logs: Mapping[int, float], groups: Sequence[Sequence[int]]) -> float:
    """How far off, as a share, comparisons were: the quantile's place in their order, upwards."""
    means = [
        math.fsum(known) / len(known)
        for blocks in groups
        if (known := [logs[block] for block in blocks if block in logs])
    ]
    sizes = sorted(math.expm1(abs(mean)) for mean in means)
    return sizes[math.ceil(SPREAD_QUANTILE * len(sizes)) - 1] if sizes else 0.0


def uniform_p(ps: Sequence[float]) -> float | None:
    """p of a Kolmogorov-Smirnov test that they are uniform; None under UNIFORM_MIN of them.

    By the asymptotic distribution with Stephens' correction for few (1970, JRSS B 32). The tests of
    a step depend on each other, so that a small p alone is no proof.
    """
    from scipy.special import kolmogorov

    count = len(ps)
    if count < UNIFORM_MIN:
        return None
    ordered = sorted(ps)
    far = max(max((rank + 1) / count - p, p - rank / count) for rank, p in enumerate(ordered))
    root = math.sqrt(count)
    return float(kolmogorov((root + 0.12 + 0.11 / root) * far))
