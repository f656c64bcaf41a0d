"""Comparisons drawn from a known model, put through the lab's own decision.

What comes out is how often the lab errs: false alarms, false ones among what it reports, changes
that it finds. tests/test_simulation.py holds a few hundred
comparisons to what docs/method.md says, `make calibrate` many thousands (tools/calibrate.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from dbdyno.analysis.compare.arm_vs_base import Contest, Where, contest
from dbdyno.analysis.compare.pairing import facing
from dbdyno.analysis.compare.verdicts import judge
from dbdyno.model import Ending, StepFacts, StepRun
from dbdyno.model.verdict import BETTER, CHANGED, WORSE, Aims, Judgement
from dbdyno.stats import interval, significance
from dbdyno.stats.decision import Sample, decide

Numbers = npt.NDArray[np.float64]
Random = np.random.Generator

METRICS: Mapping[str, int] = {"qps": 1, "cpu_per_op": -1}
"""The primary metrics and their directions."""
MEASURED_SD = (0.026, 0.016)
"""Of their log ratios between blocks, on two shared cores (a point select; steps of 20 s)."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """Log ratios of two arms: what differs in truth, and what varies from block to block."""

    steps: int
    sd: tuple[float, float] = MEASURED_SD  # by metric, of the median step
    unlike: float = 0.4  # standard deviation of ln sd between steps
    shared: float = 0.3  # of a step's variance: what all steps of a block have in common
    tied: float = -0.5  # correlation of throughput and CPU per operation of a step in a block
    slower: int = 0  # so many of the steps are slower in truth …
    effect: float = 0.0  # … by this share, in both metrics


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
        return interval.share_interval(self.count, self.total)


# --- Draws -----------------------------------------------------------------------------------


def spreads(model: Model, random: Random) -> Numbers:
    """Each step's standard deviations: steps by metrics."""
    found: Numbers = np.exp(random.normal(0, model.unlike, (model.steps, 1))) * model.sd
    return found


def draw(model: Model, sd: Numbers, blocks: int, random: Random) -> Numbers:
    """Log ratios of a comparison: steps by metrics by blocks."""
    common = _tied(random.normal(size=(1, len(METRICS), blocks)), model.tied)
    own = _tied(random.normal(size=(model.steps, len(METRICS), blocks)), model.tied)
    noise = math.sqrt(model.shared) * common + math.sqrt(1 - model.shared) * own
    found: Numbers = sd[:, :, None] * noise
    found[: model.slower] += shift(model.effect)[:, None]
    return found


def _tied(draws: Numbers, correlation: float) -> Numbers:
    """The same draws, the second metric's correlated with the first's."""
    second = correlation * draws[:, 0] + math.sqrt(1 - correlation**2) * draws[:, 1]
    return np.stack([draws[:, 0], second], axis=1)


def shift(effect: float) -> Numbers:
    """What a slowdown by this share adds to the log ratios of both metrics."""
    return -math.log1p(effect) * np.array(list(METRICS.values()), dtype=float)


# --- The decision ----------------------------------------------------------------------------


def judged(logs: Iterable[Numbers], aims: Aims) -> list[Judgement]:
    """The lab's own judgements, of the steps and the whole of several; `logs`: as in `family`."""
    return decide(
        [
            Sample(metric=metric, better=better, logs=tuple(its.tolist()))
            for step in family(logs)
            for (metric, better), its in zip(METRICS.items(), step, strict=True)
        ],
        aims,
    )


def family(logs: Iterable[Numbers]) -> list[Numbers]:
    """All that an arm is judged by: its steps (each metrics by as many blocks as it has), and where
    they are several the whole of them, in the blocks that all have.
    """
    steps = list(logs)
    common = min(step.shape[-1] for step in steps)
    whole: Numbers = np.mean([step[:, :common] for step in steps], axis=0)
    return [*steps, whole] if len(steps) > 1 else steps


def called(logs: Iterable[Numbers], aims: Aims) -> Numbers:
    """What `judged` calls changed: +1 faster, -1 slower, else 0; of steps and whole, by metrics.

    The same sums without words, intervals and plans, so that thousands can be drawn; a test holds
    it to `judged`.
    """
    steps = family(logs)
    blocks = np.array([step.shape[-1] for step in steps])[:, None]
    means = np.array([step.mean(axis=-1) for step in steps])
    errors = np.array([step.std(axis=-1, ddof=1) for step in steps]) / np.sqrt(blocks)
    ps = 2 * stdtr(blocks - 1, -np.abs(means) / errors)
    qs = np.reshape(significance.adjusted(ps.ravel().tolist()), ps.shape)
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
        seen = interval.ratio_interval(each_base, each_other)
        assert seen.low is not None and seen.high is not None
        count += bool(seen.low <= 0.97 <= seen.high)
    return Share(count=count, total=trials)


# --- A fixed number of blocks ----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Reported:
    """What comparisons with a fixed number of blocks reported."""

    alarms: Share  # of comparisons: with anything false
    found: Share  # of the steps that differ: called so, in the true direction, by either metric
    false: Share  # of all that was reported
    false_mean: float  # mean over comparisons of the false share of each; 0 where none is reported


def reported(model: Model, blocks: int, trials: int, random: Random, aims: Aims) -> Reported:
    """Comparisons of so many blocks, all steps in each."""
    truth = np.zeros((model.steps + 1, 1))
    truth[: model.slower] = -1
    truth[-1] = -1 if model.slower else 0  # the whole is slower, too, if by little
    alarms = found = wrong = right = 0
    shares = []
    for _ in range(trials):
        words = called(draw(model, spreads(model, random), blocks, random), aims)
        false = int(((words != 0) & (words != truth)).sum())
        true = int(((words != 0) & (words == truth)).sum())
        alarms += bool(false)
        found += int((words == truth)[: model.slower].any(axis=1).sum())
        wrong, right = wrong + false, right + true
        shares.append(false / max(false + true, 1))
    return Reported(
        alarms=Share(count=alarms, total=trials),
        found=Share(count=found, total=trials * model.slower),
        false=Share(count=wrong, total=wrong + right),
        false_mean=float(np.mean(shares)),
    )


# --- Arms that stand still -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Two arms that are the same, and do nothing at all in some of their runs."""

    steps: int
    often: float  # the share of the runs of a step, of either arm, in which nothing is done


def stood_alarms(standing: Standing, blocks: int, trials: int, random: Random, aims: Aims) -> Share:
    """In how many comparisons the lab calls a step, or the whole of several, changed.

    By runs, as a result folder has them: what does nothing has a throughput of 0 and no CPU.
    """
    model = Model(steps=standing.steps)
    alarms = 0
    for _ in range(trials):
        logs = draw(model, spreads(model, random), blocks, random)
        still = random.random((2, standing.steps, blocks)) < standing.often
        contests = [
            _contest(number, logs[number], still[:, number]) for number in range(standing.steps)
        ]
        judged = judge("other", contests, aims)
        words = [one.word for one in judged.verdicts.values()]
        words += [one.judgement.word for one in judged.overall]
        alarms += not CHANGED.isdisjoint(words)
    return Share(count=alarms, total=trials)


def _contest(step: int, logs: Numbers, still: npt.NDArray[np.bool_]) -> Contest:
    """A step; `logs`: metrics by blocks, `still`: whether the base and the other did nothing."""
    ones = np.ones_like(logs[0])
    base, other = (
        [
            _run(arm, step, block, rate, None if none else cpu)
            for block, (none, rate, cpu) in enumerate(
                zip(nothing.tolist(), np.where(nothing, 0.0, rates).tolist(), cpus, strict=True)
            )
        ]
        for arm, nothing, rates, cpus in (
            ("base", still[0], ones, ones.tolist()),
            ("other", still[1], np.exp(logs[0]), np.exp(logs[1]).tolist()),
        )
    )
    found = contest(Where("w", step, f"s{step}"), facing(other, base))
    assert found is not None
    return found


def _run(arm: str, step: int, block: int, rate: float, cpu: float | None) -> StepRun:
    return StepRun(
        facts=StepFacts(workload="w", ordinal=step, step=f"s{step}", measured=True, headline="qps"),
        arm=arm,
        block=block,
        ending=Ending(status="ok"),
        metrics={"qps": rate, "server_cpu_per_op": cpu},
    )
