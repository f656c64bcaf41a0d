"""A ratio, or another figure, with its interval; and that of an arm beside the base."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Bound = Literal["exact", "at least", "at most", "unknown"]
"""The bound of a number if the load generator was at its limit, or calls too slow to count.

Unknown: on both sides.
"""
OPPOSITE: Mapping[Bound, Bound] = {"at least": "at most", "at most": "at least"}
"""The bound of what another bound stands below."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A ratio, or a mean over blocks, with its 95 % t interval on logs (None with one block)."""

    value: float
    low: float | None
    high: float | None
    blocks: int
    se: float | None = None  # standard error, of the log where it is a ratio
    freedom: float | None = None  # degrees of freedom of that


@dataclass(frozen=True, kw_only=True)
class PairedEstimate(Ratio):
    """An arm beside the base in one metric of a step, paired by block: the only one there is.

    A ratio, or a difference of what adds up. Where a word rests on a look it is that look's.
    """

    kind: Literal["ratio", "difference"] = "ratio"
    at: tuple[int, ...] = ()  # the numbers of its blocks
    basis: Literal["look", "all blocks"] = "all blocks"
    bound: Bound = "exact"
    apart: bool = False  # whether both arms' own figures are of other blocks, or of no look

    def by(self, base: float) -> Ratio | None:
        """As a ratio, where the base has so much of it; None where that is nothing."""
        if self.kind == "ratio":
            return self
        if not base > 0:
            return None
        value, low, high = (
            None if end is None else 1 + end / base for end in (self.value, self.low, self.high)
        )
        assert value is not None
        return Ratio(value=value, low=low, high=high, blocks=self.blocks)
