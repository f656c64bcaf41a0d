"""How far the blocks of a comparison depend on each other, and by how much that widens intervals.

Few blocks tell little of whether they depend on each other, and a plan says its words after few. So
dyno weighs some kinds of dependence: by a weight before any block, and by how well each explains
how the residuals of all steps and metrics follow each other. An interval is as wide as what the
kinds say together. With few blocks that is mostly what is assumed (docs/method.md, "Dependent
blocks").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dbdyno.model.verdict import Dependence, OrderEffect
from dbdyno.stats import moderation
from dbdyno.stats.interval import ROUNDING_MAX, Spread
from dbdyno.stats.sample import OrderPattern, Sample

Numbers = npt.NDArray[np.float64]
Copies = tuple[int, ...]
"""By block the number of the golden copy that it begins from."""


@dataclass(frozen=True, kw_only=True)
class DependenceKind:
    """A way in which the blocks of a comparison may depend on each other."""

    weight: float  # before any block is seen, by that of the others
    kept: float = 0.0  # of its noise, by the next block: a chain of the first order
    # Standard deviations, by that of the noise that they are added to:
    step: float = 0.0  # of a random walk
    copy: float = 0.0  # between golden copies

    @property
    def drifts(self) -> bool:
        """Whether blocks depend on each other in time, so that more of them tell little more."""
        return self.kept > 0 or self.step > 0

    def covariance(self, copies: Copies) -> Numbers:
        """Of the log ratios of blocks that begin from these copies, but for a scale."""
        at = np.arange(len(copies))
        away, since = np.abs(at[:, None] - at), np.minimum(at[:, None], at) + 1.0
        same = np.equal.outer(copies, copies)
        covariance: Numbers = self.kept**away + self.step**2 * since + self.copy**2 * same
        return covariance


KINDS = (
    DependenceKind(weight=0.70),
    DependenceKind(weight=0.13, kept=0.7),
    DependenceKind(weight=0.07, kept=0.9),
    DependenceKind(weight=0.10, step=0.2),
)
"""The kinds and their weights are chosen on half of the simulated plans (docs/error-rates.md)."""
COPIES = (DependenceKind(weight=0.10, copy=0.4), DependenceKind(weight=0.01, copy=2.0))
"""Beside them, where blocks begin from two or three copies by turns."""
TAIL = 0.03
"""The chance beyond an interval for which its width is that of all kinds together."""
HALVINGS = 12
"""Of the range between the kinds' variances, logarithmic, until one is found."""
EQUAL = 2 * ROUNDING_MAX
"""Log ratios that lie no further apart do not scatter."""
FOLLOWED_MIN = 12
"""Blocks from which an effect of the order of the arms is looked for."""
LEVEL = 0.05
"""Of all tests of a sample's log ratios against the order of the arms."""


# --- Kinds of dependence ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Form:
    """What a kind makes of the log ratios of some blocks."""

    whitens: Numbers  # contrasts of blocks to independent ones of one variance
    log_size: float  # of the covariance of the contrasts, ln of its determinant
    of_mean: float  # variance of the mean, but for the scale
    log_weight: float
    drifts: bool


@lru_cache(maxsize=64)
def _forms(copies: Copies, kinds: tuple[DependenceKind, ...]) -> tuple[_Form, ...]:
    """Of each kind; contrasts are cosines, which with the mean are all there is of blocks."""
    blocks = len(copies)
    waves = np.arange(1, blocks)[:, None] * (np.arange(blocks) + 0.5) / blocks
    contrasts = math.sqrt(2 / blocks) * np.cos(np.pi * waves)
    forms = []
    for way in kinds:
        covariance = way.covariance(copies)
        root = np.linalg.cholesky(contrasts @ covariance @ contrasts.T)
        forms.append(
            _Form(
                whitens=np.linalg.solve(root, contrasts),
                log_size=2 * float(np.log(np.diag(root)).sum()),
                of_mean=float(covariance.mean()),
                log_weight=math.log(way.weight),
                drifts=way.drifts,
            )
        )
    return tuple(forms)


@dataclass(frozen=True, kw_only=True)
class KindWeights:
    """What the kinds say of the blocks of comparisons."""

    drift: Numbers  # how likely blocks depend on each other in time: by comparison
    widening: Numbers  # by how much variances of means grow: by comparison and series


def weighed(values: Numbers, copies: Copies, lent: Numbers | float = 0.0) -> KindWeights:
    """What the kinds say of `values`: … by series by blocks, at least two.

    Of a kind with the covariance C of contrasts y, a scale of its own for each series and d = n - 1
    (REML: Patterson & Thompson, Biometrika 58, 1971):

        likelihood = |C|^-½ · (y' C⁻¹ y)^(-d/2),   variance of the mean V = 1'C1 / n² · y' C⁻¹ y / d

    Series that share their noise count as fewer, by how far they do (`moderation.shared`). `lent`:
    degrees of freedom, by series.
    """
    forms = _forms(copies, KINDS + (COPIES if len(set(copies)) > 1 else ()))
    series, blocks = values.shape[-2:]
    freedom = blocks - 1
    whitened = [((values @ form.whitens.T) ** 2).sum(axis=-1) for form in forms]
    squares = np.maximum(np.stack(whitened, axis=-1), ROUNDING_MAX**2)
    sizes = np.array([form.log_size for form in forms])
    likelihood = (-sizes / 2 - freedom / 2 * np.log(squares)).mean(axis=-2)
    counted = series / (1 + (series - 1) * moderation.shared(values)) if series > 1 else 1.0
    logs = np.asarray(counted)[..., None] * likelihood + np.array(
        [form.log_weight for form in forms]
    )
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    variances = np.array([form.of_mean for form in forms]) * squares / freedom
    own = np.maximum(values.var(axis=-1, ddof=1) / blocks, ROUNDING_MAX**2)
    return KindWeights(
        drift=weights[..., [form.drifts for form in forms]].sum(axis=-1),
        widening=_together(weights, variances, freedom + np.asarray(lent)) / own,
    )


def _together(weights: Numbers, variances: Numbers, freedom: Numbers) -> Numbers:
    """The variance whose t interval is left in `TAIL` of cases, each kind by its weight.

    Kinds are on the last axis; `variances` have series before it.
    """
    from scipy.special import stdtr, stdtrit

    logs, far = np.log(variances), stdtrit(freedom, TAIL / 2)[..., None]
    low, high = logs.min(axis=-1), logs.max(axis=-1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        beyond = 2 * stdtr(freedom[..., None], far * np.exp((middle[..., None] - logs) / 2))
        more = (weights[..., None, :] * beyond).sum(axis=-1) > TAIL
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    variance: Numbers = np.exp((low + high) / 2)
    return variance


# --- The order of the arms -------------------------------------------------------------------


def followed(logs: Sequence[float], pattern: OrderPattern, level: float) -> OrderEffect | None:
    """By how much log ratios follow a pattern, by least squares; None where that may be chance.

    Two-sided t test of the slope at `level`, with two degrees of freedom less than blocks. None,
    too, of a pattern that is the same in all blocks.
    """
    from scipy.special import stdtr

    values, x = np.asarray(logs), np.asarray(pattern.values)
    away, free = x - x.mean(), len(x) - 2
    squares = float(away @ away)
    if squares <= ROUNDING_MAX:
        return None
    slope = float(away @ values) / squares
    left = values - values.mean() - slope * away
    error = math.sqrt(float(left @ left) / free / squares)
    if abs(slope) <= ROUNDING_MAX or (
        error > 0 and 2 * float(stdtr(free, -abs(slope) / error)) > level
    ):
        return None
    return OrderEffect(pattern=pattern.name, by=slope, left=slope * float(x.mean()))


# --- Together --------------------------------------------------------------------------------


def widened(spreads: Sequence[Spread], samples: Sequence[Sample]) -> list[Spread]:
    """The spreads of samples with the same blocks, by how far these depend on each other.

    The variance of a mean grows by what the kinds of dependence say of all samples together, and by
    the square of what the order of the arms leaves in it. Those of fills stay as they are.
    """
    if samples[0].fills is not None:
        return list(spreads)
    scattered = [place for place, sample in enumerate(samples) if np.ptp(sample.logs) > EQUAL]
    factors, drift = np.ones(len(spreads)), 0.0
    if scattered:
        values = np.array([samples[place].logs for place in scattered])
        lent = np.array([spreads[place].lent for place in scattered])
        kinds = weighed(values, samples[0].copies or (1,) * values.shape[-1], lent)
        factors[scattered], drift = kinds.widening, float(kinds.drift)
    return [
        _widened(spread, sample, drift, factor)
        for spread, sample, factor in zip(spreads, samples, factors.tolist(), strict=True)
    ]


def _widened(spread: Spread, sample: Sample, drift: float, factor: float) -> Spread:
    level = LEVEL / max(len(sample.patterns), 1)
    tried = sample.patterns if len(sample.logs) >= FOLLOWED_MIN else ()
    patterns = [followed(sample.logs, pattern, level) for pattern in tried]
    followed_patterns = tuple(pattern for pattern in patterns if pattern is not None)
    left = len(sample.logs) * math.fsum(pattern.left**2 for pattern in followed_patterns)
    sd = math.sqrt(factor * spread.sd**2 + left)
    return replace(
        spread,
        sd=sd,
        dependence=Dependence(
            drift=drift, widened=sd / spread.sd if spread.sd else 1.0, followed=followed_patterns
        ),
    )
