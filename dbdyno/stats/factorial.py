"""Designs of arms that mix factors, and the contrasts of logarithms that tell effects.

A factor has two values, 0 and 1. The effect of a factor is what its change from 0 to 1 adds to the
logarithm of a metric, as a mean over both values of every other factor. The interaction of two is
what the change of one adds to the effect of the other. Both are sums of logarithms with fixed
weights, and so each block has one of each (Box, Hunter & Hunter, Statistics for Experimenters, 2nd
ed., 5 and 6).
Reasons stand in docs/attribute.md.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FactorValues = Mapping[str, Sequence[int]]
"""For each arm the value of each factor."""
Weights = dict[str, float]
"""An effect: for each arm the factor of its metric's logarithm."""

NOTHING = 1e-9
"""Weights up to this are what is left of rounding."""


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """An effect, or an interaction."""

    factors: tuple[int, ...]  # one place; of an interaction two
    weights: Weights


# --- Designs ---------------------------------------------------------------------------------


def one_at_a_time(factors: int) -> list[tuple[int, ...]]:
    """Rows from no factor changed to all, each with one more, in their order."""
    return [(1,) * changed + (0,) * (factors - changed) for changed in range(factors + 1)]


def full(factors: int) -> list[tuple[int, ...]]:
    """Rows of all combinations, the first factor changing fastest."""
    return [row[::-1] for row in itertools.product((0, 1), repeat=factors)]


# --- Contrasts -------------------------------------------------------------------------------


def inseparable(values: FactorValues) -> bool:
    """Whether these arms cannot tell every factor's effect from those of the others."""
    columns = _columns(values)
    return bool(np.linalg.matrix_rank(columns) < columns.shape[1])


def effects(values: FactorValues) -> tuple[Contrast, ...]:
    """The effect of each factor, by least squares over the arms. ValueError if `inseparable`."""
    if inseparable(values):
        raise ValueError("the arms cannot tell the factors apart")
    weights = np.linalg.pinv(_columns(values))[1:]
    return tuple(
        Contrast(factors=(place,), weights=_by_arm(values, row))
        for place, row in enumerate(weights)
    )


def interactions(values: FactorValues) -> tuple[Contrast, ...]:
    """Each interaction, where the arms tell all of them from the mean and from effects."""
    count = len(next(iter(values.values())))
    pairs = list(itertools.combinations(range(count), 2))
    columns = _columns(values)
    contrasts: list[Contrast] = []
    for first, second in pairs:
        product = columns[:, 1 + first] * columns[:, 1 + second]
        if np.abs(columns.T @ product).max() > NOTHING:
            return ()
        weights = _by_arm(values, product / (product @ product))
        contrasts.append(Contrast(factors=(first, second), weights=weights))
    return tuple(contrasts)


def whole(base: str, arm: str) -> Weights:
    """All that the arm has more than the base."""
    return {arm: 1.0, base: -1.0}


def remainder(whole: Weights, parts: Sequence[Weights]) -> Weights:
    """What the parts together lack of the whole; empty where that is nothing by design."""
    names = dict.fromkeys([*whole, *(name for part in parts for name in part)])
    left = {
        name: whole.get(name, 0.0) - math.fsum(part.get(name, 0.0) for part in parts)
        for name in names
    }
    return {name: weight for name, weight in left.items() if abs(weight) > NOTHING}


def by_block(weights: Weights, logs: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
    """The contrast in each block that has all its arms; `logs`: by arm and block."""
    if not weights:
        return {}
    common = set.intersection(*(set(logs.get(arm, ())) for arm in weights))
    return {
        block: math.fsum(weight * logs[arm][block] for arm, weight in weights.items())
        for block in sorted(common)
    }


def _columns(values: FactorValues) -> npt.NDArray[np.float64]:
    """A row for each arm: 1 for the mean, then -½ or ½ for each factor."""
    rows = np.asarray([list(row) for row in values.values()], dtype=float)
    return np.hstack([np.ones((len(rows), 1)), rows - 0.5])


def _by_arm(values: FactorValues, row: npt.NDArray[np.float64]) -> Weights:
    return {
        arm: float(weight) for arm, weight in zip(values, row, strict=True) if abs(weight) > NOTHING
    }
