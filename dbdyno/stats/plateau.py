"""Where a value left a plateau, to the second, and whether another value's did there, too.

All values are means of seconds in their order. Neighbouring seconds are alike, so variances are
long-run ones: those of a process in which each value keeps a share of the one before. The method
and its figures: docs/method.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PLACE_QUANTILE = 7.35
"""95 % of the likelihood ratio of a change's place: (1 - exp(-x/2))^2 (Hansen, Econometrica 68,
2000, table 1), in long-run variances (Bai, Review of Economics and Statistics 79, 1997)."""
KEPT_MAX = 0.9
"""Of the value before: more could not be told from a plateau that changes."""
SURE = 4.0
"""Standard errors between two plateaus, from which on they count as two. A dozen values are asked
at each change of the rate, and their noise is not normal."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a plateau changed: how many values lie before it, with the bounds of 95 %."""

    at: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Plateaus:
    """Two plateaus, and how far apart they are."""

    before: float
    after: float
    errors: float  # standard errors of their difference


def place(values: Sequence[float] | Numbers) -> Place:
    """The place in which two plateaus explain the values best; of three values or more."""
    series = np.asarray(values, dtype=float)
    count = len(series)
    before = np.arange(1, count)
    sums = np.cumsum(series)[:-1]
    gaps = sums / before - (series.sum() - sums) / (count - before)
    gains = before * (count - before) / count * gaps * gaps
    at = int(gains.argmax()) + 1
    noise = _long_run_variance(series, at)
    sure = np.flatnonzero(gains >= gains.max() * (1 - 1e-9) - PLACE_QUANTILE * noise) + 1
    return Place(at=at, first=int(sure[0]), last=int(sure[-1]))


def plateaus(values: Sequence[float] | Numbers, at: int) -> Plateaus:
    """The plateaus before and after the place `at`, which has values on both sides."""
    series = np.asarray(values, dtype=float)
    before, after = float(series[:at].mean()), float(series[at:].mean())
    noise = math.sqrt(_long_run_variance(series, at) * (1 / at + 1 / (len(series) - at)))
    gap = abs(after - before)
    errors = gap / noise if noise else math.inf
    return Plateaus(before=before, after=after, errors=errors if gap else 0.0)


def _long_run_variance(values: Numbers, at: int) -> float:
    """The variance of a sum of values by their number, about the plateaus before and after `at`.

    The share that a value keeps of the one before is raised by what its estimate lacks in few
    values (Marriott & Pope, Biometrika 41, 1954).
    """
    rest = np.concatenate((values[:at] - values[:at].mean(), values[at:] - values[at:].mean()))
    squares = float(rest @ rest)
    freedom = len(rest) - 2
    if not squares or freedom < 1:
        return 0.0
    kept = float(rest[1:] @ rest[:-1]) / squares
    kept = min(max(kept + (1 + 3 * kept) / len(rest), 0.0), KEPT_MAX)
    return squares / freedom * (1 + kept) / (1 - kept)
