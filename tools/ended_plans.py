"""Plans that ended, and the figures beside their words: how often these hold the truth.

Comparisons are walked from look to look (simulation.py) until their first step is decided or no
look is left; there the lab's own code judges them. All figures are of that step's throughput.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbdyno.model.looks import Look
from dbdyno.model.verdict import CHANGED, Aims, Judgement
from dbdyno.stats import interval
from dbdyno.stats.decision import decide
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.sample import Sample
from simulation import (
    METRICS,
    Flags,
    Model,
    Numbers,
    Random,
    Share,
    batches,
    draw,
    share,
    shift,
    walk,
)

AIMS = Aims()
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One way to tell a ratio and its interval, over plans that ended."""

    held: Share  # intervals that contain the true ratio, of all plans
    held_decided: Share  # the same of decided plans
    beyond: Share  # estimates further than the true ratio to its own side, of all plans
    size: float  # the median estimate of plans that were called changed, by the true log ratio


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What came of plans."""

    decided: Share
    shown: Figures  # as reports have them
    plain: Figures  # the mean and its 95 % t interval at the same look


def ended(
    model: Model, looks: Sequence[Look], trials: int, random: Random, *, goes_on: bool = False
) -> Ended:
    """Plans that end when their first step is decided; `goes_on`: with the last look all the same.

    Such a plan has other steps, or somebody who asked for more blocks.
    """
    truth = shift(model.effect)[0] * model.moved[0] if model.slower else 0.0
    blocks = looks[-1].blocks
    judgements: list[Judgement] = []
    plain: list[tuple[float, float, float]] = []
    for count in batches(model, trials, blocks):
        logs, _ = draw(model, count, blocks, random)
        last = np.full(count, len(looks)) if goes_on else _taken(logs, looks)
        for own, number in zip(logs, last.tolist(), strict=True):
            (first, *_), *_ = judged(own, looks[:number], AIMS)
            seen = looks[number - 1].blocks if first.rests_on is None else first.rests_on.blocks
            judgements.append(first)
            plain.append(_plain(own[0, 0, :seen]))
    shown = [tuple(math.log(end or math.nan) for end in judgement.told) for judgement in judgements]
    words = [judgement.word for judgement in judgements]
    decided = np.array([judgement.rests_on is not None for judgement in judgements])
    changed = np.array([word in CHANGED for word in words])
    return Ended(
        decided=share(decided),
        shown=_figures(np.array(shown), truth, decided, changed),
        plain=_figures(np.array(plain), truth, decided, changed),
    )


def _taken(logs: Numbers, looks: Sequence[Look]) -> npt.NDArray[np.int64]:
    """How many looks each comparison takes until its first step is decided; all where it is not."""
    found = np.full(len(logs), len(looks))
    waiting = np.ones(len(logs), dtype=bool)
    for place, said in enumerate(walk(logs, looks, AIMS), start=1):
        now = waiting & said.told[:, 0]
        found[now] = place
        waiting &= ~now
    return found


def judged(logs: Numbers, looks: Sequence[Look], aims: Aims) -> list[tuple[Judgement, ...]]:
    """The lab's own judgements of a comparison, steps by metrics by blocks, after these looks."""
    steps = len(logs)
    units = [*logs, logs.mean(axis=0)] if steps > 1 else [*logs]
    done = looks[-1].blocks
    family = [
        Unit(
            samples=tuple(_samples(unit, done)),
            looks=tuple((look, tuple(_samples(unit, look.blocks))) for look in looks),
            whole=place == steps,
        )
        for place, unit in enumerate(units)
    ]
    return decide(family, aims, done=done)


def _samples(logs: Numbers, blocks: int) -> Iterator[Sample]:
    for (metric, better), values in zip(METRICS.items(), logs, strict=True):
        yield Sample(metric=metric, better=better, logs=tuple(values[:blocks].tolist()))


def _plain(logs: Numbers) -> tuple[float, float, float]:
    found = interval.log_interval(logs.tolist(), CONFIDENCE)
    assert found.low is not None and found.high is not None
    return math.log(found.value), math.log(found.low), math.log(found.high)


def _figures(told: Numbers, truth: float, decided: Flags, changed: Flags) -> Figures:
    """`told`: estimate, low and high end of each plan, as log ratios."""
    estimates, lows, highs = told.T
    held = (lows <= truth) & (truth <= highs)
    side = -1.0 if truth < 0 else 1.0
    sizes = estimates[changed] / truth if truth else np.array([])
    return Figures(
        held=share(held),
        held_decided=share(held[decided]),
        beyond=share(side * (estimates - truth) > 0),
        size=float(np.median(sizes)) if sizes.size else math.nan,
    )
