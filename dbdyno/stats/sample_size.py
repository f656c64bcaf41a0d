"""From a pilot's noise to the number of fresh blocks: how many each step gets, and what they find.

The pilot measures noise and nothing else: verdicts are taken on the fresh blocks alone, so the
number of blocks does not depend on what is judged, and the error rate is that of a plan with a
fixed number (Stein 1945, Annals of Mathematical Statistics 16; docs/method.md, "How many blocks").
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev

from dbdyno.model.verdict import PILOT_BLOCKS, Aims, Sized, Sizing
from dbdyno.stats import power

FRESH_MIN = 3
"""Fresh blocks that every step gets, even where `minutes_max` is passed by it."""
FRESH_MAX = 100
"""Fresh blocks that a step gets at most; a plan that wants more of them says how many."""

LENT_SHARE = 0.5
"""Of the degrees of freedom that an arm's other steps lend to one: so many count. How alike steps
are is itself a guess from few blocks, and the sharper metric is chosen by the same numbers; where
all counted, 5 to 9 of 100 promises were too many, and with half the promise holds within 5
(docs/method.md, "Simulations")."""

WHOLE_TESTS = 2
"""Of the whole of a workload: by throughput and by CPU."""

Step = tuple[str, str]  # workload and step


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the pilot saw of one arm in one step."""

    workload: str
    step: str
    arm: str
    logs: Mapping[str, tuple[float, ...]]  # by primary metric: ln(arm / nearest base) by block
    minutes: float  # what the step costs a block, all arms together


@dataclass(frozen=True, kw_only=True)
class Piloted:
    """What the pilot came to, as `size` takes it."""

    seen: tuple[Seen, ...]  # of each step that fresh blocks measure and each arm beside the base
    fixed_minutes: float  # of a block without these steps


@dataclass(frozen=True, kw_only=True)
class _Noise:
    """What is known of the variance of one metric's log ratios, and the level of its test."""

    variance: float
    freedom: float
    level: float


Noises = Mapping[Step, Mapping[str, Sequence[_Noise]]]  # by step and arm, of the primary metrics


def size(
    seen: Sequence[Seen],
    aims: Aims,
    *,
    fixed_minutes: float,
    minutes_max: float | None,
    alone: bool,
) -> Sizing:
    """How many fresh blocks each step gets.

    Enough that the sharper of its primary metrics finds `aims.effect` with `aims.power`, in every
    arm, as if nothing else differed: at `aims.level` by the tests of the arm's family. The variance
    is that of the pilot's blocks, drawn towards those of the arm's other steps (`stats.moderated`);
    power is averaged over what it may be in truth (`stats.assured_power`). An arm of which
    the pilot has fewer than two blocks of a step asks for none there; a step without any other gets
    FRESH_MIN, and no power is promised.

    `minutes_max`: what the plan's leaves to the fresh blocks. Where that is too short, the steps
    that need most get equally many, and what the others leave is theirs; FRESH_MIN and FRESH_MAX
    hold in any case. `fixed_minutes`: of a block without its steps. `alone`: a block can do some
    steps and not others; else all get as many as the step that needs most.
    """
    minutes = {(one.workload, one.step): one.minutes for one in seen}
    noises = _noises(seen, aims)
    needed = {step: _needed(noises.get(step, {}), aims) for step in minutes}
    wanted = {step: FRESH_MAX if count is None else count for step, count in needed.items()}
    most = max(wanted.values(), default=FRESH_MIN)
    if not alone:
        wanted = dict.fromkeys(minutes, most)
    left = math.inf if minutes_max is None else minutes_max
    for limit in range(most, FRESH_MIN - 1, -1):
        blocks = {step: min(count, limit) for step, count in wanted.items()}
        cost = _cost(blocks, minutes, fixed_minutes)
        if cost <= left:
            break
    return Sizing(
        pilot=PILOT_BLOCKS,
        fresh=max(blocks.values(), default=FRESH_MIN),
        steps=tuple(
            Sized(
                workload=step[0],
                step=step[1],
                sd=_spread(one for one in seen if (one.workload, one.step) == step),
                blocks=count,
                power=_power(noises.get(step, {}), count, aims),
                capped=(least := needed[step]) is None or count < least,
            )
            for step, count in blocks.items()
        ),
        minutes=cost,
    )


def _cost(blocks: Mapping[Step, int], minutes: Mapping[Step, float], fixed_minutes: float) -> float:
    """What blocks take in which each step is done so often, in minutes."""
    steps = math.fsum(minutes[step] * count for step, count in blocks.items())
    return fixed_minutes * max(blocks.values(), default=0) + steps


# --- What the pilot leaves open --------------------------------------------------------------


def _noises(seen: Sequence[Seen], aims: Aims) -> Noises:
    """What is known of each step's noise, by arm."""
    found: dict[Step, dict[str, list[_Noise]]] = {}
    for arm in dict.fromkeys(one.arm for one in seen):
        known = list(_variances([one for one in seen if one.arm == arm]))
        for step, variance, freedom in known:
            noise = _Noise(variance=variance, freedom=freedom, level=aims.level / _tests(known))
            found.setdefault(step, {}).setdefault(arm, []).append(noise)
    return found


def _tests(known: Sequence[tuple[Step, float, float]]) -> int:
    """The tests of an arm's family: of its steps, and of the whole of a workload of several."""
    steps = Counter(workload for workload, _ in {step for step, _, _ in known})
    return len(known) + sum(WHOLE_TESTS for count in steps.values() if count > 1)


def _variances(seen: Sequence[Seen]) -> Iterator[tuple[Step, float, float]]:
    """Of each step and metric of one arm: its variance and degrees of freedom, moderated.

    Steps of a metric that the pilot saw equally often are moderated together.
    """
    alike: dict[tuple[str, int], list[tuple[Step, float]]] = {}
    for one in seen:
        for metric, logs in one.logs.items():
            if (sd := _sd(logs)) is not None:
                step = (one.workload, one.step)
                alike.setdefault((metric, len(logs)), []).append((step, sd * sd))
    for (_, count), steps in alike.items():
        own = count - 1
        variances, all_in_all = power.moderated([variance for _, variance in steps], own)
        for (step, _), variance in zip(steps, variances, strict=True):
            yield step, variance, own + LENT_SHARE * (all_in_all - own)


def _sd(logs: Sequence[float]) -> float | None:
    """The standard deviation of the blocks; None where there are fewer than two."""
    return stdev(logs) if len(logs) > 1 else None


def _power(arms: Mapping[str, Sequence[_Noise]], blocks: int, aims: Aims) -> float:
    """With which so many blocks find the effect in every arm, each by its sharpest metric."""
    return min((_sharpest(noises, blocks, aims) for noises in arms.values()), default=0.0)


def _sharpest(noises: Sequence[_Noise], blocks: int, aims: Aims) -> float:
    return max(
        power.assured_power(aims.effect, noise.variance, noise.freedom, blocks, noise.level)
        for noise in noises
    )


def _needed(arms: Mapping[str, Sequence[_Noise]], aims: Aims) -> int | None:
    """The fewest blocks that find the effect; None: more than FRESH_MAX."""
    if not arms:
        return FRESH_MIN
    counts = range(FRESH_MIN, FRESH_MAX + 1)
    place = bisect_left(counts, True, key=lambda count: _power(arms, count, aims) >= aims.power)
    return counts[place] if place < len(counts) else None


def _spread(arms: Iterator[Seen]) -> dict[str, float]:
    """The standard deviation by metric, as the blocks have it; of several arms the largest."""
    found: dict[str, float] = {}
    for one in arms:
        for metric, logs in one.logs.items():
            if (sd := _sd(logs)) is not None:
                found[metric] = max(sd, found.get(metric, 0.0))
    return found
