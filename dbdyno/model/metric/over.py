"""How a figure is taken over blocks: the only place where a column's figure is computed."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

Over = Literal["ratio", "sum", "largest", "share"]
"""`ratio`: the geometric mean, compared by ratios. `sum`: the arithmetic mean, compared by
differences, so that parts add up to their whole. `largest`: of the blocks, `share`: the arithmetic
mean of shares; both are not compared."""


def taken(values: Iterable[float | None], over: Over = "sum") -> float | None:
    """One figure of the blocks that have one; None where none has.

    What is negative in a block, or 0 where it is compared by ratios, has no geometric mean.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    if over == "largest":
        return max(known)
    if over == "ratio" and min(known) >= 0:
        return geometric_mean(known)
    return math.fsum(known) / len(known)


def over_of(values: Iterable[float | None]) -> Over:
    """How figures that have ratios are taken: one that is nothing in a block has none."""
    return "ratio" if all(value > 0 for value in values if value is not None) else "sum"


def geometric_mean(values: Sequence[float]) -> float:
    """The n-th root of the product; 0 where one of them is 0. Not empty, none negative."""
    if not values or min(values) < 0:
        raise ValueError("a geometric mean needs numbers that are not negative")
    if min(values) == 0:
        return 0.0
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))
