"""Comparisons drawn from a known model, put through the lab's own decision and planner.

What comes out is how often the lab errs: false alarms, false ones among what it reports, changes
that it finds beside those that it promised to find. tests/test_simulation.py holds a few hundred
comparisons to what docs/method.md says, `make calibrate` many thousands (tools/calibrate.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from dbdyno import pilot, stats
from dbdyno.decision import Sample, decide
from dbdyno.verdict import BETTER, WORSE, Aims, Judgement

Numbers = npt.NDArray[np.float64]
Random = np.random.Generator

METRICS: Mapping[str, int] = {"qps": 1, "server_cpu_per_op": -1}
"""The primary metrics and their directions."""
MEASURED_SD = (0.026, 0.016)
"""Of their log ratios between blocks, on two shared cores (a point select; steps of 20 s)."""
STEP_MINUTES = 1.0
FIXED_MINUTES = 1.0
"""What a step and the rest of a block take: they only matter where time is short."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """Log ratios of two arms: what varies from block to block where nothing differs."""

    steps: int
    sd: tuple[float, float] = MEASURED_SD  # by metric, of the median step
    unlike: float = 0.4  # standard deviation of ln sd between steps
    shared: float = 0.3  # of a step's variance: what all steps of a block have in common
    tied: float = -0.5  # correlation of throughput and CPU per operation of a step in a block

    @property
    def tests(self) -> int:
        """Of one comparison."""
        return self.steps * len(METRICS)


@dataclass(frozen=True, kw_only=True)
class Share:
    """So many of so many."""

    count: int
    total: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval, as far as the number of draws tells."""
        return stats.share_interval(self.count, self.total)


# --- Draws -----------------------------------------------------------------------------------


def spreads(model: Model, random: Random) -> Numbers:
    """Each step's standard deviations: steps by metrics."""
    by_step = np.exp(random.normal(0, model.unlike, (model.steps, 1)))
    return by_step * np.asarray(model.sd)


def draw(model: Model, sd: Numbers, blocks: int, random: Random) -> Numbers:
    """Log ratios of arms that do not differ: steps by metrics by blocks."""
    common = _tied(random.normal(size=(1, len(METRICS), blocks)), model.tied)
    own = _tied(random.normal(size=(model.steps, len(METRICS), blocks)), model.tied)
    noise = math.sqrt(model.shared) * common + math.sqrt(1 - model.shared) * own
    return sd[:, :, None] * noise


def _tied(draws: Numbers, correlation: float) -> Numbers:
    """The same draws, the second metric's correlated with the first's."""
    second = correlation * draws[:, 0] + math.sqrt(1 - correlation**2) * draws[:, 1]
    return np.stack([draws[:, 0], second], axis=1)


def shift(effect: float) -> Numbers:
    """What a slowdown by this share adds to the log ratios of both metrics."""
    return -math.log1p(effect) * np.array(list(METRICS.values()), dtype=float)


# --- The decision ----------------------------------------------------------------------------


def judged(logs: Sequence[Numbers], aims: Aims) -> list[Judgement]:
    """The lab's own judgements; `logs`: of each step metrics by blocks, as many as it has."""
    return decide(
        [
            Sample(metric=metric, better=better, logs=tuple(its.tolist()))
            for step in logs
            for (metric, better), its in zip(METRICS.items(), step, strict=True)
        ],
        aims,
    )


def called(logs: Sequence[Numbers], aims: Aims) -> Numbers:
    """What `judged` calls changed: +1 faster, -1 slower, else 0; steps by metrics.

    The same sums without words, intervals and plans, so that thousands can be drawn; a test holds
    it to `judged`.
    """
    blocks = np.array([step.shape[-1] for step in logs])[:, None]
    means = np.array([step.mean(axis=-1) for step in logs])
    errors = np.array([step.std(axis=-1, ddof=1) for step in logs]) / np.sqrt(blocks)
    ps = 2 * stdtr(blocks - 1, -np.abs(means) / errors)
    qs = np.reshape(stats.adjusted(ps.ravel().tolist()), ps.shape)
    found: Numbers = np.where(qs <= aims.level, np.sign(means) * list(METRICS.values()), 0.0)
    return found


def sign(judgement: Judgement) -> int:
    """+1 of what is called faster, -1 of slower, else 0."""
    return (judgement.word in BETTER) - (judgement.word in WORSE)


# --- Intervals -------------------------------------------------------------------------------


def coverage(blocks: int, trials: int, random: Random, *, tail: float | None = None) -> Share:
    """How often the 95 % interval of a ratio has the true one, 0.97, within.

    `tail`: the degrees of freedom of the noise, drawn from Student's t; None: normal noise.
    """
    shape = (trials, blocks)
    noise = random.normal(size=shape) if tail is None else random.standard_t(tail, shape)
    base = 1_000 * np.exp(np.cumsum(random.normal(0, 0.05, shape), axis=1))  # the host drifts
    other = 0.97 * base * np.exp(0.02 * noise)
    count = 0
    for each_base, each_other in zip(base.tolist(), other.tolist(), strict=True):
        interval = stats.ratio_interval(each_base, each_other)
        assert interval.low is not None and interval.high is not None
        count += interval.low <= 0.97 <= interval.high
    return Share(count=count, total=trials)


# --- A fixed number of blocks ----------------------------------------------------------------


def false_alarms(model: Model, blocks: int, trials: int, random: Random, aims: Aims) -> Share:
    """Comparisons in which anything is called changed though nothing differs."""
    alarmed = 0
    for _ in range(trials):
        logs = draw(model, spreads(model, random), blocks, random)
        alarmed += bool(called(logs, aims).any())
    return Share(count=alarmed, total=trials)


@dataclass(frozen=True, kw_only=True)
class Reported:
    """What comparisons reported in which some steps differ."""

    found: Share  # of the steps that differ: called so, in the true direction, by either metric
    false: Share  # of all that was reported
    false_mean: float  # mean over comparisons of the false share of each; 0 where none is reported


def reported(
    model: Model, blocks: int, trials: int, random: Random, aims: Aims, *, slower: int, effect: float
) -> Reported:
    """Comparisons in which the first `slower` steps are slower by `effect` in both metrics."""
    found = wrong = right = 0
    shares = []
    truth = np.zeros((model.steps, 1))
    truth[:slower] = -1
    for _ in range(trials):
        logs = draw(model, spreads(model, random), blocks, random)
        logs[:slower] += shift(effect)[:, None]
        words = called(logs, aims)
        false = int(((words != 0) & (words != truth)).sum())
        true = int(((words != 0) & (words == truth)).sum())
        found += int(((words == truth).any(axis=1) & (truth[:, 0] != 0)).sum())
        wrong, right = wrong + false, right + true
        shares.append(false / max(false + true, 1))
    return Reported(
        found=Share(count=found, total=trials * slower),
        false=Share(count=wrong, total=max(wrong + right, 1)),
        false_mean=float(np.mean(shares)),
    )


# --- After a pilot ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Piloted:
    """What comparisons came to whose number of blocks a pilot fixed."""

    promised: float  # mean power, as the planner says
    found: Share  # of single steps that are slower, by the sharper metric alone
    found_either: Share  # the same where both metrics are
    alarms: Share  # of comparisons in which nothing differs
    blocks: float  # mean number of fresh ones of a step
    blocks_if_known: float  # what it would take were the noise known


def piloted(
    model: Model, trials: int, random: Random, aims: Aims, *, minutes_max: float | None = None
) -> Piloted:
    """Comparisons of `auto`: three blocks, the planner, fresh blocks by step, the decision.

    Each step in turn is made slower, all others as they are, so a comparison tells of as many.
    """
    alarms = sharper = either = 0
    promised: list[float] = []
    counts: list[int] = []
    for _ in range(trials):
        sd = spreads(model, random)
        sizing = pilot.size(
            seen(draw(model, sd, pilot.PILOT_BLOCKS, random)),
            aims,
            fixed_minutes=FIXED_MINUTES,
            minutes_max=minutes_max,
            alone=True,
        )
        drawn = draw(model, sd, sizing.fresh, random)
        logs = [step[:, : its.blocks] for step, its in zip(drawn, sizing.steps, strict=True)]
        alarms += bool(called(logs, aims).any())
        promised += [step.power for step in sizing.steps]
        counts += [step.blocks for step in sizing.steps]
        for place in range(model.steps):
            sharper += called(_slower(logs, place, aims, [False, True]), aims)[place, 1] < 0
            either += (called(_slower(logs, place, aims, [True, True]), aims)[place] < 0).any()
    total = trials * model.steps
    return Piloted(
        promised=float(np.mean(promised)),
        found=Share(count=sharper, total=total),
        found_either=Share(count=either, total=total),
        alarms=Share(count=alarms, total=trials),
        blocks=float(np.mean(counts)),
        blocks_if_known=0,
    )


def seen(logs: Numbers) -> list[pilot.Seen]:
    """What a pilot saw, as the planner takes it; `logs`: steps by metrics by blocks."""
    return [
        pilot.Seen(
            workload="w",
            step=f"s{number}",
            arm="arm",
            logs={
                metric: tuple(its.tolist()) for metric, its in zip(METRICS, step, strict=True)
            },
            minutes=STEP_MINUTES,
        )
        for number, step in enumerate(logs)
    ]


def _slower(logs: Sequence[Numbers], place: int, aims: Aims, which: Sequence[bool]) -> list[Numbers]:
    """The same with one step slower by the effect, in these metrics."""
    moved = list(logs)
    moved[place] = moved[place] + (shift(aims.effect) * np.array(which))[:, None]
    return moved
