"""Where the scatter of an arm beside the base comes from, and what would lessen it.

The seconds and turns of both are paired in their order; each pair's log ratio is a value that lies
in a turn, a block (a server start each) and a comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from dbdyno.analysis.compare.arm_vs_base import Contest
from dbdyno.model import Segment, StepRun
from dbdyno.model.job import settling_s
from dbdyno.model.noise_budget import Component, NoiseBudget, Prospect, Source, Way
from dbdyno.stats import noise_budget as arithmetic
from dbdyno.stats.noise_budget import Cost, Design, Noise, Place, Variance

BLOCKS_MIN = 3
"""With fewer, nothing can be said of server starts."""
LONG_TURN_SEGMENTS = 1.5
"""With so many in each on average, turns have seconds that are told by themselves."""
CHANGE = 2.0
"""Steps and turns of half and of twice the length are what is foretold."""
SECONDS_PER_MINUTE = 60.0


def budgets(
    contests: Sequence[Contest], groups: Sequence[Sequence[int]], minutes: float | None
) -> tuple[NoiseBudget, ...]:
    """The budget of each primary metric of each step that has one.

    `groups`: the blocks of each comparison; `minutes`: what a block takes; without it nothing is
    foretold. A step has none where operations are not told by the second, or blocks are too few.
    """
    counted_s = sum(_counted_s(contest) for contest in contests)
    beside_s = (
        None
        if minutes is None
        else max(minutes * SECONDS_PER_MINUTE - counted_s, 0.0) / max(len(contests), 1)
    )
    budgets = (
        _budget(contest, metric, groups, beside_s)
        for contest in contests
        for metric in contest.primary
    )
    return tuple(budget for budget in budgets if budget is not None)


def _counted_s(contest: Contest) -> float:
    """The time of both arms' windows in a block, with the settling after each resumption."""
    runs = [run for run in (*contest.faced.runs, *contest.faced.base_runs) if run.segments]
    return 2 * fmean(_lasts_s(run) for run in runs) if runs else 0.0


def _lasts_s(run: StepRun) -> float:
    seconds, turns = _seconds(run.segments), _turns(run.segments)
    return seconds + (turns * settling_s(seconds / turns) if turns else 0.0)


def _seconds(segments: Sequence[Segment]) -> float:
    """How long they are together."""
    return math.fsum(segment.seconds for segment in segments)


def _turns(segments: Sequence[Segment]) -> int:
    """How many turns they are of; 0 where there were none."""
    return sum({segment.turn: segment.turns for segment in segments}.values())


def _budget(
    contest: Contest, metric: str, groups: Sequence[Sequence[int]], beside_s: float | None
) -> NoiseBudget | None:
    pairs = [
        (run, base)
        for run, base in zip(contest.faced.runs, contest.faced.base_runs, strict=True)
        if run.segments and base.segments
    ]
    values = dict(_values(pairs, groups, cpu=metric != contest.headline))
    blocks = {place[1] for place in values}
    if len(blocks) < BLOCKS_MIN:
        return None
    segments = pairs[0][0].segments
    strata = _strata(values, segments)
    components = dict(zip(strata, arithmetic.components(values), strict=True))
    noise = _noise(components, segments)
    seconds = fmean(_seconds(run.segments) for run, _ in pairs)
    turns = fmean(_turns(run.segments) for run, _ in pairs)
    design = Design(
        blocks=len(groups[0]),
        turns=turns or seconds,
        turn_s=seconds / turns if turns else 1.0,
    )
    cost = (
        None
        if beside_s is None
        else Cost(block_s=beside_s, turn_s=settling_s(seconds / turns) if turns else 0.0)
    )
    best = None if cost is None else arithmetic.best_turns(design, noise, cost)
    return NoiseBudget(
        workload=contest.where.workload,
        step=contest.where.step,
        metric=metric,
        blocks=design.blocks,
        seconds=seconds,
        turns=turns or None,
        components=tuple(_shown(components, segments)),
        error=arithmetic.error(design, noise),
        prospects=() if cost is None else tuple(_prospects(design, noise, cost, components)),
        best_seconds=None if best is None else best * design.turn_s,
    )


# --- Values and their strata -----------------------------------------------------------------


def _values(
    pairs: Iterable[tuple[StepRun, StepRun]], groups: Sequence[Sequence[int]], *, cpu: bool
) -> Iterable[tuple[Place, float]]:
    """Log ratios by comparison, block, turn and number."""
    group = {block: number for number, blocks in enumerate(groups) for block in blocks}
    for run, base in pairs:
        if run.block not in group:
            continue
        for number, (own, other) in enumerate(zip(run.segments, base.segments, strict=False)):
            value, of_base = (own.cpu_us, other.cpu_us) if cpu else (own.rate, other.rate)
            if value and of_base:
                yield (group[run.block], run.block, own.turn, number), math.log(value / of_base)


def _strata(values: dict[Place, float], segments: Sequence[Segment]) -> tuple[Source, ...]:
    """The strata, innermost first; drops missing strata from `values`.

    `segments`: of one of the runs, which are all cut alike.
    """
    turns = {segment.turn for segment in segments if segment.turn}
    long = bool(turns) and len(segments) >= LONG_TURN_SEGMENTS * len(turns)
    several = len({place[0] for place in values}) > 1
    kept = {
        (*place[: int(several)], place[1], *place[2 : 2 + long], place[3]): value
        for place, value in values.items()
    }
    values.clear()
    values.update(kept)
    inner: tuple[Source, ...] = ("second", "turn") if long else ("turn" if turns else "second",)
    outer: tuple[Source, ...] = ("start", "hour") if several else ("start",)
    return inner + outer


def _each(source: Source, segments: Sequence[Segment]) -> float:
    """By what a stratum's variance is multiplied to be that of a single turn: turns are taken
    together where they are short."""
    turns = [segment.turns for segment in segments]
    return fmean(turns) if source == "turn" and min(turns) > 0 else 1.0


def _shown(
    variances: Mapping[Source, Variance | None], segments: Sequence[Segment]
) -> Iterable[Component]:
    for source, variance in variances.items():
        if variance is None:
            continue
        low, high = _sd(variance.low, source, segments), _sd(variance.high, source, segments)
        sd = _sd(variance.value, source, segments) if variance.value > 0 else None
        yield Component(source=source, sd=sd, low=low, high=high)


def _sd(variance: float | None, source: Source, segments: Sequence[Segment]) -> float | None:
    return None if variance is None else math.sqrt(variance * _each(source, segments))


def _noise(variances: Mapping[Source, Variance | None], segments: Sequence[Segment]) -> Noise:
    """The variances as far as they are seen."""
    seen = {
        source: max(variance.value, 0.0) * _each(source, segments)
        for source, variance in variances.items()
        if variance is not None
    }
    return Noise(
        hour=seen.get("hour", 0.0),
        start=seen.get("start", 0.0),
        turn=seen.get("turn", 0.0),
        second=seen.get("second", 0.0),
    )


# --- What would lessen it ---------------------------------------------------------------------


def _prospects(
    design: Design, noise: Noise, cost: Cost, variances: Mapping[Source, Variance | None]
) -> Iterable[Prospect]:
    """The prospects of spending the same minutes otherwise, as far as the strata show."""
    ways: dict[Way, Design] = {
        "blocks": arithmetic.with_turns(design, design.turns / CHANGE, cost),
        "seconds": arithmetic.with_turns(design, design.turns * CHANGE, cost),
    }
    if "turn" in variances and "second" in variances:
        ways["shorter turns"] = arithmetic.with_turn_s(design, design.turn_s / CHANGE, cost)
        ways["longer turns"] = arithmetic.with_turn_s(design, design.turn_s * CHANGE, cost)
    for way, other in ways.items():
        yield _prospect(way, other, noise, in_turns="turn" in variances)
    if "turn" in variances and "second" in variances:
        yield _prospect("placement", design, replace(noise, turn=0.0), in_turns=True)


def _prospect(way: Way, design: Design, noise: Noise, *, in_turns: bool) -> Prospect:
    return Prospect(
        way=way,
        error=arithmetic.error(design, noise),
        blocks=design.blocks,
        seconds=design.seconds,
        turn_s=design.turn_s if in_turns else None,
    )
