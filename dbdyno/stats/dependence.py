"""How far the blocks of a comparison depend on each other, and by how much that widens intervals.

Words take blocks as independent. From `DEPENDENCE_BLOCKS_MIN` blocks on their log ratios say
whether they are: by their autocorrelation, and by whether they follow the order of the arms. Fewer
say next to nothing of either, so that independence is assumed (docs/method.md, "Dependent blocks").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dbdyno.model.verdict import DEPENDENCE_BLOCKS_MIN, Dependence, Followed
from dbdyno.stats.interval import ROUNDING_MAX, Spread
from dbdyno.stats.sample import Pattern, Sample

Numbers = npt.NDArray[np.float64]

AUTOCORRELATION_MAX = 0.95
"""More is not told from a mean that wanders off, of which no number of blocks gives an interval."""
LEVEL = 0.05
"""Of all tests of a sample's log ratios against the order of the arms."""


# --- Autocorrelation -------------------------------------------------------------------------


def autocorrelation(values: Numbers) -> Numbers:
    """Of neighbouring blocks, the mean over units; `values`: … by units by blocks.

    r = Σ e_i · e_(i+1) / Σ e_i², of residuals e. Independent blocks have r = -1/n on average (Moran
    1948, Biometrika 35); those of a chain that keeps R have about R - (1 + 4R) / n (Marriott & Pope
    1954, Biometrika 41), which is made good. A unit without any scatter has none.
    """
    blocks = values.shape[-1]
    residuals = values - values.mean(axis=-1, keepdims=True)
    squares = (residuals**2).sum(axis=-1)
    products = (residuals[..., 1:] * residuals[..., :-1]).sum(axis=-1)
    scatters = squares > blocks * ROUNDING_MAX**2
    seen = np.where(scatters, products / np.where(scatters, squares, 1.0), -1 / blocks)
    corrected: Numbers = (seen.mean(axis=-1) + 1 / blocks) / (1 - 4 / blocks)
    return corrected


def inflation(correlation: Numbers, blocks: int) -> Numbers:
    """By how much s² / n is less than the variance of the mean of blocks with this correlation.

    Of a chain of the first order, r > 0, the variance of the mean is sigma² / n times
    v = (1 + r) / (1 - r) - 2r · (1 - rⁿ) / (n · (1 - r)²) (Bayley & Hammersley 1946, J. R. Stat.
    Soc. Suppl. 8), and s² is sigma² · (n - v) / (n - 1) on average. 1 of r up to 0.
    """
    r = np.clip(correlation, 0.0, AUTOCORRELATION_MAX)
    v = (1 + r) / (1 - r) - 2 * r * (1 - r**blocks) / (blocks * (1 - r) ** 2)
    growth: Numbers = v * (blocks - 1) / (blocks - v)
    return growth


def widening(values: Numbers) -> Numbers:
    """By how much variances grow, one factor for all units; `values`: … by units by blocks."""
    blocks = values.shape[-1]
    if blocks < DEPENDENCE_BLOCKS_MIN:
        return np.ones(values.shape[:-2])
    return inflation(autocorrelation(values), blocks)


# --- The order of the arms -------------------------------------------------------------------


def followed(logs: Sequence[float], pattern: Pattern, level: float) -> Followed | None:
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
    return Followed(pattern=pattern.name, by=slope, left=slope * float(x.mean()))


# --- Together --------------------------------------------------------------------------------


def widened(spreads: Sequence[Spread], samples: Sequence[Sample]) -> list[Spread]:
    """The spreads of samples with the same blocks, by how far these depend on each other.

    The variance of a mean grows by the autocorrelation of all of them, and by the square of what
    the order of the arms leaves in it. Fewer than `DEPENDENCE_BLOCKS_MIN` blocks stay as they are.
    """
    blocks = len(samples[0].logs)
    if blocks < DEPENDENCE_BLOCKS_MIN or samples[0].fills is not None:
        return list(spreads)
    correlation = autocorrelation(np.array([sample.logs for sample in samples]))
    factor = float(inflation(correlation, blocks))
    return [
        _widened(spread, sample, float(correlation), factor)
        for spread, sample in zip(spreads, samples, strict=True)
    ]


def _widened(spread: Spread, sample: Sample, correlation: float, factor: float) -> Spread:
    level = LEVEL / max(len(sample.patterns), 1)
    patterns = [followed(sample.logs, pattern, level) for pattern in sample.patterns]
    followed_patterns = tuple(pattern for pattern in patterns if pattern is not None)
    left = len(sample.logs) * math.fsum(pattern.left**2 for pattern in followed_patterns)
    sd = math.sqrt(factor * spread.sd**2 + left)
    return replace(
        spread,
        sd=sd,
        dependence=Dependence(
            autocorrelation=correlation,
            widened=sd / spread.sd if spread.sd else 1.0,
            followed=followed_patterns,
        ),
    )
