"""Comparisons drawn from a known model, judged as the lab judges, at one look after the other.

What comes out is how often the lab errs: false alarms, false ones among what it reports, changes
that it finds, and after how many blocks. tests/test_simulation.py holds thousands of comparisons to
what docs/error-rates.md says, `make calibrate` many more (tools/calibrate.py).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from dbdyno.model.looks import Look
from dbdyno.model.plan import fill_of
from dbdyno.model.verdict import DRIFT_MAX, Aims
from dbdyno.stats import dependence, interval, moderation, significance
from dbdyno.stats.interval import ROUNDING_MAX

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Random = np.random.Generator
Lending = Callable[[Numbers], tuple[Numbers, Numbers]]
"""The degrees of freedom lent and the variances, as `moderation.lend`."""

METRICS: Mapping[str, int] = {"qps": 1, "cpu_per_op": -1}
"""The primary metrics and their directions."""
DIRECTIONS = np.array(list(METRICS.values()), dtype=float)
MEASURED_SD = (0.026, 0.016)
"""Of their log ratios between blocks, on two shared cores (a point select; steps of 20 s)."""
LEVEL = Aims().level
STALLED_SHARE, STALLED_SDS = 0.05, 5.0
"""Of stalls: in so many blocks either arm is off by so many standard deviations."""
HEAVY_TAIL = 3
"""Degrees of freedom of heavy tails, Student's t of unit variance."""
LOUD_SHARE = 0.2
"""The loudest steps, of which intervals are looked at by themselves."""
BATCH_NUMBERS = 4_000_000
"""So many log ratios are judged at once, or one comparison's."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """Log ratios of two arms: what differs in truth, and what varies from block to block."""

    steps: int
    sd: tuple[float, float] = MEASURED_SD  # by metric, of the median step
    unlike: float = 0.4  # standard deviation of ln sd between steps
    shared: float = 0.3  # of a step's variance: what all steps of a block have in common
    tied: float = -0.5  # correlation of throughput and CPU per operation of a step in a block
    noise: Literal["normal", "heavy tails", "stalls"] = "normal"
    loudest: float = 1.0  # the last step is so many times as loud
    slower: int = 0  # so many of the steps are slower in truth …
    effect: float = 0.0  # … by this share …
    moved: tuple[bool, bool] = (True, True)  # … in these metrics


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


def share(flags: Flags) -> Share:
    """How many of them are true."""
    return Share(count=int(flags.sum()), total=flags.size)


# --- Draws -----------------------------------------------------------------------------------


def draw(model: Model, trials: int, blocks: int, random: Random) -> tuple[Numbers, Numbers]:
    """Log ratios (comparisons by steps by metrics by blocks), and the standard deviations."""
    spread = random.normal(0, model.unlike, (trials, model.steps, 1))
    sd: Numbers = np.exp(spread) * model.sd
    sd[:, -1] *= model.loudest
    shape = (trials, model.steps, 1, blocks)
    common = _tied(random.normal(size=(trials, 1, 2, blocks)), model.tied)
    noise = _tied(random.normal(size=(trials, model.steps, 2, blocks)), model.tied)
    noise *= math.sqrt(1 - model.shared)
    noise += math.sqrt(model.shared) * common
    if model.noise == "heavy tails":
        noise /= np.sqrt(random.chisquare(HEAVY_TAIL, shape) / (HEAVY_TAIL - 2))
    elif model.noise == "stalls":
        stalled = random.random(shape) < STALLED_SHARE
        slow = np.where(random.random(shape) < 0.5, -STALLED_SDS, STALLED_SDS)
        noise += stalled * slow * DIRECTIONS[:, None]
    found = sd[..., None] * noise
    change = shift(model.effect) * model.moved
    found[:, : model.slower] += change[:, None]
    return found, sd


def _tied(draws: Numbers, correlation: float) -> Numbers:
    """The same draws, the second metric's correlated with the first's."""
    draws[:, :, 1] *= math.sqrt(1 - correlation**2)
    draws[:, :, 1] += correlation * draws[:, :, 0]
    return draws


def shift(effect: float) -> Numbers:
    """What a slowdown by this share adds to the log ratios of both metrics."""
    return -math.log1p(effect) * DIRECTIONS


# --- The tests -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Tests:
    """What some blocks say: comparisons by units by metrics; the last of several is the whole."""

    mean: Numbers
    error: Numbers  # standard error of the mean, borrowed but of the whole
    freedom: Numbers
    count: int  # blocks
    withheld: Flags | bool = False  # for blocks that depend on each other

    @property
    def p(self) -> Numbers:
        """Two-sided, by t; without any scatter 0 of a change and 1 of none."""
        found: Numbers = 2 * stdtr(self.freedom, -_by(np.abs(self.mean), self.error))
        return np.where(self.withheld, 1.0, found)

    def within(self, margin: float) -> Numbers:
        """p of two one-sided tests that the change lies within the margin."""
        room = math.log1p(margin) - np.abs(self.mean)
        found: Numbers = stdtr(self.freedom, -_by(room, self.error))
        return np.where(self.withheld, 1.0, found)

    def covers(self, truth: Numbers | float) -> Flags:
        """Whether 95 % intervals have the true mean within."""
        reach = stdtrit(self.freedom, 0.975) * self.error
        found: Flags = np.abs(self.mean - truth) <= reach
        return found


def _by(values: Numbers, errors: Numbers) -> Numbers:
    """In standard errors; without any scatter 0 stays 0, and all else is infinitely far."""
    far = np.where(np.abs(values) <= ROUNDING_MAX, 0.0, np.copysign(np.inf, values))
    scatters = errors > ROUNDING_MAX
    return np.where(scatters, values / np.where(scatters, errors, 1.0), far)


def tests(
    logs: Numbers, lend: Lending = moderation.lend, *, widen: bool = True, fills: int = 1
) -> Tests:
    """The tests of the steps, and of several steps together.

    `widen` False: as if nobody asked whether blocks depend on each other. `fills`: golden copies
    that blocks begin from by turns.
    """
    steps, blocks = logs.shape[1], logs.shape[-1]
    copies = tuple(fill_of(block, fills) for block in range(1, blocks + 1))
    withheld = np.zeros((len(logs), 1, 1), dtype=bool)
    by_metric = np.ascontiguousarray(np.swapaxes(logs, 1, 2))
    lent, variance = (np.swapaxes(its, 1, 2) for its in lend(by_metric))
    if widen:
        series = (len(logs), -1, blocks)
        kinds = dependence.weighed(logs.reshape(series), copies, lent.reshape(series[:2]))
        variance = variance * kinds.widening.reshape(variance.shape)
        withheld = withheld | (kinds.drift > DRIFT_MAX)[:, None, None]
    mean, freedom = logs.mean(axis=-1), blocks - 1 + lent
    if steps > 1:
        whole = logs.mean(axis=1, keepdims=True)
        own = whole.var(axis=-1, ddof=1)
        withheld = np.repeat(withheld, steps + 1, axis=1)
        if widen:
            kinds = dependence.weighed(whole[:, 0], copies)
            own *= kinds.widening[:, None]
            withheld[:, steps, 0] = kinds.drift > DRIFT_MAX
        mean = np.concatenate([mean, whole.mean(axis=-1)], axis=1)
        variance = np.concatenate([variance, own], axis=1)
        freedom = np.concatenate([freedom, np.full_like(own, blocks - 1)], axis=1)
    return Tests(
        mean=mean,
        error=np.sqrt(variance / blocks),
        freedom=freedom,
        count=blocks,
        withheld=withheld,
    )


def own(logs: Numbers) -> tuple[Numbers, Numbers]:
    """Nothing is lent."""
    variance = logs.var(axis=-1, ddof=1)
    return np.zeros_like(variance), variance


def all_lent(logs: Numbers) -> tuple[Numbers, Numbers]:
    """For contrast: all that Smyth's rule lends, without the care of `moderation.lend`."""
    units, freedom = logs.shape[-2], logs.shape[-1] - 1
    variance = logs.var(axis=-1, ddof=1)
    if units < 2:
        return np.zeros_like(variance), variance
    common, known = (its[..., None] for its in moderation.prior(variance, freedom))
    lent = np.broadcast_to(np.minimum(known, (units - 1) * freedom), variance.shape)
    return lent, (lent * common + freedom * variance) / (lent + freedom)


def combined(ps: Numbers) -> Numbers:
    """`significance.combined_p` over the last axis."""
    clipped = np.minimum(ps, significance.P_MAX)
    statistic = np.tan((0.5 - clipped) * math.pi).mean(axis=-1)
    return np.where(ps.min(axis=-1) == 0, 0.0, 0.5 - np.arctan(statistic) / math.pi)


def called(ps: Numbers, level: float) -> Flags:
    """What Benjamini and Hochberg's procedure calls, on the last axis."""
    count = ps.shape[-1]
    ordered = np.sort(ps, axis=-1)
    under = ordered <= level * np.arange(1, count + 1) / count
    places = np.where(under, np.arange(1, count + 1), 0).max(axis=-1, keepdims=True)
    limits = np.take_along_axis(ordered, np.maximum(places - 1, 0), axis=-1)
    found: Flags = (places > 0) & (ps <= limits)
    return found


# --- The walk from look to look --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the lab says after a look: comparisons by units by metrics."""

    blocks: int
    changed: Numbers  # +1 faster, -1 slower, else 0
    within: Flags  # a look showed that the change is within the margin
    drifts: Flags  # by comparison: this look says nothing, as blocks depend on each other

    @property
    def told(self) -> Flags:
        """Comparisons by units: changed by a metric, or the same by both."""
        changed = self.changed != 0
        found: Flags = changed.any(axis=-1) | self.within.all(axis=-1)
        return found

    @property
    def same(self) -> Flags:
        """Of these, the same."""
        found: Flags = self.within.all(axis=-1) & ~(self.changed != 0).any(axis=-1)
        return found

    @property
    def slower(self) -> Flags:
        """Slower by a metric, and faster by none."""
        down: Flags = self.changed < 0
        up: Flags = self.changed > 0
        found: Flags = np.asarray(down.any(axis=-1) & ~up.any(axis=-1))
        return found


def walk(
    logs: Numbers,
    looks: Sequence[Look],
    aims: Aims,
    lend: Lending = moderation.lend,
    *,
    judged: Callable[[Numbers], Tests] | None = None,
) -> Iterator[Said]:
    """What the lab says after each look in turn; a test holds it to `decision.decide`.

    `judged`: the tests of the log ratios of some blocks; None: `tests`.
    """
    units: Numbers = np.ones((1, 1))  # least p so far, by its look's share
    metrics: Numbers = np.ones((1, 1, 1))
    signs: Numbers = np.zeros((1, 1, 1))  # of the mean at the look of a metric's least p
    within: Flags = np.zeros((1, 1, 1), dtype=bool)
    since: Flags = np.zeros((1, 1, 1), dtype=bool)  # the same since a metric's least p
    edge = math.log1p(aims.margin)
    for look in looks:
        seen = logs[..., : look.blocks]
        its = tests(seen, lend) if judged is None else judged(seen)
        now = np.minimum(its.p / look.share, 1.0)
        unit = np.minimum(combined(its.p) / look.share, 1.0)
        shown = np.asarray(its.within(aims.margin) <= aims.level / significance.SAME_SHARE)
        least = (now < metrics) | (signs == 0)
        within, since = within | shown, np.where(least, shown, since | shown)
        signs = np.where(least, np.sign(its.mean), signs)
        units, metrics = np.minimum(units, unit), np.minimum(metrics, now)
        changed = _named(units, metrics, aims) * signs * DIRECTIONS
        same = np.where(changed != 0, since, within) & (np.abs(its.mean) <= edge)
        drifts = np.broadcast_to(its.withheld, its.mean.shape)[:, 0, 0]
        yield Said(blocks=look.blocks, changed=changed, within=same, drifts=drifts)


def _named(units: Numbers, metrics: Numbers, aims: Aims) -> Flags:
    """The metrics that carry a change, of the units that are called."""
    said = called(units, aims.level)
    level = aims.level * said.sum(axis=-1) / said.shape[-1]
    named = (metrics == metrics.min(axis=-1, keepdims=True)) | (metrics <= level[:, None, None])
    found: Flags = said[..., None] & named
    return found


def batches(model: Model, trials: int, blocks: int) -> Iterator[int]:
    """So many comparisons at once, `trials` together."""
    most = max(1, BATCH_NUMBERS // (model.steps * len(METRICS) * blocks))
    while trials > 0:
        yield min(most, trials)
        trials -= most


# --- Questions -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Covered:
    """How often the 95 % intervals of steps have the truth within."""

    all: Share
    loudest: Share  # of the loudest fifth of all steps


def coverage(
    model: Model, blocks: int, trials: int, random: Random, lend: Lending = moderation.lend
) -> Covered:
    """Intervals of the steps of comparisons in which nothing differs."""
    hits, louds = [], []
    for count in batches(model, trials, blocks):
        logs, sd = draw(model, count, blocks, random)
        hits.append(tests(logs, lend).covers(0.0)[:, : model.steps])
        louds.append(np.broadcast_to(sd[..., :1] / model.sd[0], sd.shape))
    hit, loud = np.concatenate(hits), np.concatenate(louds)
    return Covered(all=share(hit), loudest=share(hit[loud >= np.quantile(loud, 1 - LOUD_SHARE)]))


def alarms(
    model: Model, looks: Sequence[Look], trials: int, random: Random, aims: Aims
) -> list[Share]:
    """In how many comparisons anything is called changed though nothing differs, up to each look.

    The last of them has all alarms.
    """
    assert not model.slower
    blocks = looks[-1].blocks
    counts = np.zeros(len(looks), dtype=int)
    for count in batches(model, trials, blocks):
        logs, _ = draw(model, count, blocks, random)
        alarmed = np.zeros(count, dtype=bool)
        for place, said in enumerate(walk(logs, looks, aims)):
            alarmed |= (said.changed != 0).any(axis=(1, 2))
            counts[place] += alarmed.sum()
    return [Share(count=int(its), total=trials) for its in counts]


def alarms_once(
    model: Model, blocks: int, trials: int, random: Random, lend: Lending = moderation.lend
) -> tuple[Share, Share]:
    """The same of a single look: at half of the level, as a first look has it, and at all of it."""
    assert not model.slower
    half, whole = 0, 0
    for count in batches(model, trials, blocks):
        logs, _ = draw(model, count, blocks, random)
        ps = combined(tests(logs, lend).p)
        half += int(called(2 * ps, LEVEL).any(axis=-1).sum())
        whole += int(called(ps, LEVEL).any(axis=-1).sum())
    return Share(count=half, total=trials), Share(count=whole, total=trials)


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What came of the first step, which is looked at until it is decided or looks end."""

    slower: Share
    same: Share
    blocks: float  # mean number with which it was decided; the last look's where it was not


def decided(  # noqa: PLR0913 (what is drawn, and how it is judged)
    model: Model,
    looks: Sequence[Look],
    trials: int,
    random: Random,
    aims: Aims,
    judged: Callable[[Numbers], Tests] | None = None,
) -> Decided:
    """Comparisons walked through the looks; each ends for its first step with the first word."""
    blocks, slower, same, total = looks[-1].blocks, 0, 0, 0
    for count in batches(model, trials, blocks):
        logs, _ = draw(model, count, blocks, random)
        waiting, taken = np.ones(count, dtype=bool), np.full(count, blocks)
        for said in walk(logs, looks, aims, judged=judged):
            slower += int((waiting & said.slower[:, 0]).sum())
            same += int((waiting & said.same[:, 0]).sum())
            now = waiting & said.told[:, 0]
            taken[now] = said.blocks
            waiting &= ~now
        total += int(taken.sum())
    return Decided(
        slower=Share(count=slower, total=trials),
        same=Share(count=same, total=trials),
        blocks=total / trials,
    )


@dataclass(frozen=True, kw_only=True)
class Reported:
    """What comparisons of which some steps differ reported at one look."""

    found: Share  # of the steps that differ: called so, in the true direction
    false: Share  # of all that was reported
    false_mean: float  # mean over comparisons of the false share of each; 0 where none is reported


def reported(model: Model, look: Look, trials: int, random: Random, aims: Aims) -> Reported:
    """Comparisons judged once."""
    truth = np.zeros((model.steps + (model.steps > 1), 1))
    truth[: model.slower] = -1
    truth[-1] = -1 if model.slower else 0  # the whole is slower, too, if by little
    found = wrong = right = 0
    shares = []
    for count in batches(model, trials, look.blocks):
        logs, _ = draw(model, count, look.blocks, random)
        (said,) = walk(logs, [look], aims)
        false = ((said.changed != 0) & (said.changed != truth)).sum(axis=(1, 2))
        true = ((said.changed != 0) & (said.changed == truth)).sum(axis=(1, 2))
        found += int(said.slower[:, : model.slower].sum())
        wrong, right = wrong + int(false.sum()), right + int(true.sum())
        shares.append(false / np.maximum(false + true, 1))
    return Reported(
        found=Share(count=found, total=trials * model.slower),
        false=Share(count=wrong, total=max(wrong + right, 1)),
        false_mean=float(np.concatenate(shares).mean()),
    )
