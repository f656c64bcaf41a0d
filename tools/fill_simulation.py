"""Comparisons whose blocks begin from golden copies: what a fill drew stays in all of its blocks.

The model is simulation.py's with one step. Beside the noise of each block, each fill moves the
ratio of both metrics, to opposite sides, by a draw of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dbdyno.model.looks import Look
from dbdyno.model.plan import fill_of
from dbdyno.model.verdict import Aims
from dbdyno.stats import fills
from simulation import (
    DIRECTIONS,
    Model,
    Numbers,
    Random,
    Share,
    Tests,
    batches,
    draw,
    shift,
    tests,
    walk,
)


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """A calibration beside the result, with so many fills and blocks of each."""

    fills: int = 6
    blocks_each: int = 10


@dataclass(frozen=True, kw_only=True)
class Filled:
    """How blocks begin, and what is known of the scatter between fills."""

    sd: float  # of the log ratio between fills
    fills: int = 1
    calibrated: Calibrated | None = None


def alarms(how: Filled, looks: Sequence[Look], trials: int, random: Random, aims: Aims) -> Share:
    """In how many comparisons a look says that anything changed though nothing differs."""
    blocks, alarmed = looks[-1].blocks, 0
    for count in batches(Model(steps=1), trials, blocks):
        logs = filled(how, count, blocks, random)
        seen = np.zeros(count, dtype=bool)
        for said in walk(logs, looks, aims, judged=judged(how, count, random)):
            seen |= (said.changed != 0).any(axis=(1, 2))
        alarmed += int(seen.sum())
    return Share(count=alarmed, total=trials)


def found(
    how: Filled, effect: float, looks: Sequence[Look], trials: int, random: Random
) -> tuple[Share, float]:
    """How often a slowdown by `effect` is found, and after how many blocks on average, or none."""
    blocks = looks[-1].blocks
    logs = filled(how, trials, blocks, random) + shift(effect)[:, None]
    waiting, taken = np.ones(trials, dtype=bool), np.full(trials, blocks)
    for said in walk(logs, looks, Aims(), judged=judged(how, trials, random)):
        now = waiting & said.slower[:, 0]
        taken[now] = said.blocks
        waiting &= ~now
    return Share(count=int((~waiting).sum()), total=trials), float(taken.mean())


def filled(how: Filled, trials: int, blocks: int, random: Random) -> Numbers:
    """Log ratios as `draw` has them, with what their fills add."""
    logs, _ = draw(Model(steps=1, unlike=0.0), trials, blocks, random)
    offsets = how.sd * random.normal(size=(trials, how.fills))
    of = [fill_of(block, offsets.shape[-1]) - 1 for block in range(1, logs.shape[-1] + 1)]
    moved: Numbers = logs + offsets[:, None, None, of] * DIRECTIONS[:, None]
    return moved


def judged(how: Filled, trials: int, random: Random) -> Callable[[Numbers], Tests]:
    """What dyno makes of the log ratios of some blocks: by block, by fill, or widened."""
    if how.calibrated is not None:
        its = how.calibrated
        other = filled(
            Filled(sd=how.sd, fills=its.fills), trials, its.fills * its.blocks_each, random
        )
        shape = (*other.shape[:-1], its.blocks_each, its.fills)
        variance = other.reshape(shape).mean(axis=-2).var(axis=-1, ddof=1)
        return partial(_widened, between=variance, freedom=its.fills - 1)
    if how.fills >= fills.OUTER_MIN:
        return partial(_by_fill, fills=how.fills)
    return partial(tests, fills=how.fills)


def _by_fill(logs: Numbers, fills: int) -> Tests:
    """The tests of the fills' means."""
    of = np.array([fill_of(block, fills) for block in range(1, logs.shape[-1] + 1)])
    means = [logs[..., of == fill].mean(axis=-1) for fill in np.unique(of)]
    return tests(np.stack(means, axis=-1), widen=False)


def _widened(logs: Numbers, between: Numbers, freedom: int) -> Tests:
    """The tests of blocks with a variance that all of them share, as `stats.fills.widened`."""
    its = tests(logs)
    own = its.error**2
    error = own + between
    return Tests(
        mean=its.mean,
        error=np.sqrt(error),
        freedom=error**2 / (own**2 / its.freedom + between**2 / freedom),
        count=its.count,
        withheld=its.withheld,
    )
