"""What probabilities of commits say: whether one answer is sure, and who is suspect. Pure.

`chances`: by commit from the first after the good one; the last is of none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

SURE = 0.95
"""The search ends where one answer is so probable; a set of suspects holds as much."""


def settled(chances: Sequence[float], skipped: Collection[int]) -> bool:
    """Whether one answer is sure: none, a commit, or neighbours that only untestable ones part."""
    return chances[-1] >= SURE or max(_together(chances, skipped).values()) >= SURE


def _together(chances: Sequence[float], skipped: Collection[int]) -> dict[int, float]:
    """The probability of each commit that can be tested with those before it that cannot."""
    sums: dict[int, float] = {}
    waiting = 0.0
    for index, chance in enumerate(chances[:-1], start=1):
        waiting += chance
        if index not in skipped:
            sums[index], waiting = waiting, 0.0
    return sums


def suspects(chances: Sequence[float]) -> tuple[int, ...]:
    """The fewest commits that have SURE together with no change, and those as probable as they."""
    ranked = sorted(chances, reverse=True)
    sums = np.cumsum(ranked)
    last = ranked[min(int(np.searchsorted(sums, SURE)), len(ranked) - 1)]
    return tuple(
        index for index, chance in enumerate(chances[:-1], start=1) if chance >= last * (1 - 1e-9)
    )
