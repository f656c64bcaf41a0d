"""Designs of arms that mix factors, and the contrasts of logarithms that tell effects.

A factor has two values, 0 and 1. The effect of a factor is what its change from 0 to 1 adds to the
logarithm of a metric, as a mean over both values of every other factor. The interaction of two is
what the change of one adds to the effect of the other. Both are sums of logarithms with fixed
weights, and so each block has one of each (Box, Hunter & Hunter, Statistics for Experimenters, 2nd
ed., 5 and 6).
Reasons stand in docs/attribute.md.
"""

from __future__ import annotations

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
Two = tuple[int, int]
"""Two factors by their places, the earlier first."""

GENERATORS = {
    8: "+++-+--",
    12: "++-+++---+-",
    16: "++++-+-++--+---",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
}
"""First rows by the number of runs (Plackett & Burman, Biometrika 33, 1946, table 1)."""
SCREENED_MAX = max(GENERATORS) - 1
NOTHING = 1e-9
"""Weights and shares up to this are what is left of rounding."""
WHOLLY = 1 - 1e-6


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """An effect, or an interaction, and what the same arms cannot tell from it."""

    factors: tuple[int, ...]  # one place; of an interaction two
    weights: Weights
    aliases: tuple[Two, ...] = ()  # interactions that are in it in full, whatever their sign
    partly: float = 0.0  # the largest share of any other interaction in it


# --- Designs ---------------------------------------------------------------------------------


def one_at_a_time(factors: int) -> list[tuple[int, ...]]:
    """Rows from no factor changed to all, each with one more, in their order."""
    return [(1,) * changed + (0,) * (factors - changed) for changed in range(factors + 1)]


def full(factors: int) -> list[tuple[int, ...]]:
    """Rows of all combinations, the first factor changing fastest."""
    return [row[::-1] for row in itertools.product((0, 1), repeat=factors)]


def screening(factors: int) -> list[tuple[int, ...]]:
    """Rows of the smallest Plackett–Burman design, that of no changed factor first.

    ValueError of more than SCREENED_MAX factors.
    """
    if factors > SCREENED_MAX:
        raise ValueError(f"{factors} factors: at most {SCREENED_MAX} can be screened")
    runs = min(size for size in GENERATORS if size > factors)
    first = [int(sign == "+") for sign in GENERATORS[runs]]
    shifted = (first[-shift:] + first[:-shift] for shift in range(runs - 1))
    return [(0,) * factors, *(tuple(row[:factors]) for row in shifted)]


def folded(factors: int) -> list[tuple[int, ...]]:
    """The rows of a screening and their mirrors, each row once; effects are free of interactions.

    Box & Wilson, J. R. Stat. Soc. B 13, 1951.
    """
    rows = screening(factors)
    return list(dict.fromkeys([*rows, *(tuple(1 - value for value in row) for row in rows)]))


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
    pairs = list(itertools.combinations(range(len(weights)), 2))
    shares = weights @ _products(values, pairs) if pairs else np.zeros((len(weights), 0))
    return tuple(
        Contrast(
            factors=(place,),
            weights=_by_arm(values, row),
            aliases=tuple(
                pair
                for pair, share in zip(pairs, row_shares, strict=True)
                if abs(share) >= WHOLLY / 2
            ),
            partly=_largest([share for share in row_shares if abs(share) < WHOLLY / 2]),
        )
        for place, (row, row_shares) in enumerate(zip(weights, shares, strict=True))
    )


def interactions(values: FactorValues) -> tuple[Contrast, ...]:
    """Each interaction that balanced arms tell; those with one contrast stand in it together.

    Empty where the arms mix one with the mean or with the effect of a factor.
    """
    count = len(next(iter(values.values())))
    pairs = list(itertools.combinations(range(count), 2))
    if not pairs:
        return ()
    products = _products(values, pairs)
    if np.abs(_columns(values).T @ products).max() > NOTHING:
        return ()
    size = (products**2).sum(axis=0)
    shares = products.T @ products / size[:, np.newaxis]
    contrasts: list[Contrast] = []
    for place, pair in enumerate(pairs):
        same = [other for other, share in enumerate(shares[place]) if abs(share) >= WHOLLY]
        if same[0] < place:
            continue
        others = [share for at, share in enumerate(shares[place]) if at not in same]
        contrasts.append(
            Contrast(
                factors=pair,
                weights=_by_arm(values, products[:, place] / size[place]),
                aliases=tuple(pairs[other] for other in same if other != place),
                partly=_largest(others),
            )
        )
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


def _products(values: FactorValues, pairs: Sequence[Two]) -> npt.NDArray[np.float64]:
    """A row for each arm, a column for each pair: the product of their columns."""
    columns = _columns(values)[:, 1:]
    return np.stack([columns[:, first] * columns[:, second] for first, second in pairs], axis=1)


def _by_arm(values: FactorValues, row: npt.NDArray[np.float64]) -> Weights:
    return {
        arm: float(weight) for arm, weight in zip(values, row, strict=True) if abs(weight) > NOTHING
    }


def _largest(shares: Sequence[float]) -> float:
    """The largest size among them; what is left of rounding is none."""
    size = max((abs(share) for share in shares), default=0.0)
    return float(size) if size > NOTHING else 0.0
