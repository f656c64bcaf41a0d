"""Weights that give values a wanted mean, and change their distribution as little as can be."""

import math
from collections.abc import Sequence

STEEPEST = 700.0
"""The largest exponent; beyond it a weight is 0 in double precision."""
STEPS = 100


def weights(values: Sequence[float], mean: float) -> list[float]:
    """The weight of each value, in sum 1, by which their mean is as wanted.

    Of all such weights these have the least relative entropy to equal ones: exponentially tilted
    (Csiszár, "I-divergence geometry of probability distributions", Annals of Probability 3, 1975,
    theorem 3.1). A mean beyond the values is that of the nearest of them. No values: no weights.
    """
    if not values:
        return []
    low, high = min(values), max(values)
    if low == high:
        return [1 / len(values)] * len(values)
    if not low < mean < high:
        nearest = low if mean <= low else high
        ties = list(values).count(nearest)
        return [1 / ties if value == nearest else 0.0 for value in values]
    scaled = [(value - low) / (high - low) for value in values]
    wanted = (mean - low) / (high - low)
    least, most = -STEEPEST, STEEPEST
    for _ in range(STEPS):
        middle = (least + most) / 2
        of_all = zip(scaled, _tilted(scaled, middle), strict=True)
        if sum(value * weight for value, weight in of_all) < wanted:
            least = middle
        else:
            most = middle
    return _tilted(scaled, (least + most) / 2)


def _tilted(scaled: Sequence[float], slope: float) -> list[float]:
    top = max(slope * value for value in scaled)
    raw = [math.exp(slope * value - top) for value in scaled]
    whole = sum(raw)
    return [weight / whole for weight in raw]
