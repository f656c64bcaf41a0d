"""How long a window has to be, so that its operations are enough for what their rate is to say."""

from dataclasses import dataclass

QUANTILE = 1.96
"""Of the standard errors that an interval of 95 % reaches to each side."""


@dataclass(frozen=True)
class Claim:
    """What a comparison is to tell: that a change is within `margin`, from so many blocks."""

    margin: float
    blocks: int


def for_edges_s(seconds: float, edges: float, change: float) -> float:
    """The window in which the edges of both arms are half of `change`.

    `edges`: the share of both arms' operations that may lie across the edges of windows of
    `seconds`. More blocks do not help: the error is the same in all.
    """
    return 2 * seconds * edges / change


def for_scatter_s(seconds: float, variance: float, claim: Claim) -> float:
    """The window in which the scatter of operations leaves an interval as wide as the margin.

    `variance`: of the mean length of an arm's operations in a window of `seconds`, by its square.
    """
    ratio_variance = 2 * variance / claim.blocks  # of two arms alike
    return seconds * QUANTILE**2 * ratio_variance / claim.margin**2
