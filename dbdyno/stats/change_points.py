"""Change points of a history: where a series of results begins another plateau. Pure.

The method that Apache Otava publishes: E-divisive means (Matteson & James 2014,
doi:10.1080/01621459.2013.849605), with Student's t test in place of permutations, windows that
overlap, and a weaker level first (Fleming et al. 2023, doi:10.1145/3578244.3583719). A history is
not paired, so a change point is no verdict: hosts drift as well as servers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

LEVEL = 0.001
"""p of a change point at most; the published default."""
WEAK_TIMES = 10
"""The first pass keeps points up to so many times the level: one may count once others are gone."""
WINDOW = 50
"""Values that the first pass looks at together; the next window begins half of it later."""

TESTS_EACH = 1.5
"""A cut is the best of many: about as many tests as so many for each value of a history."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CutTest:
    """What makes a cut a change point."""

    __test__ = False  # no test of pytest's

    level: float = LEVEL  # p at most
    autocorrelation: float = 0.0  # of neighbouring values, that is allowed for
    shortest: int = 1  # values of a plateau at least


PUBLISHED = CutTest()
"""The published test."""


@dataclass(frozen=True, kw_only=True)
class ChangePoint:
    """A value from which on the plateau is another one."""

    index: int  # of the first value of the new plateau
    before: float  # mean from the change point before up to this one
    after: float  # mean from this one up to the next
    p: float  # of a t test that both plateaus are one

    @property
    def magnitude(self) -> float:
        """By how much the greater mean exceeds the smaller: 0.25 is a quarter; of 0 infinite."""
        low, high = sorted((abs(self.before), abs(self.after)))
        if self.before * self.after < 0 or (low == 0 and high > 0):
            return math.inf
        return high / low - 1 if low else 0.0


def find(
    values: Sequence[float], *, magnitude_min: float = 0.0, test: CutTest = PUBLISHED
) -> tuple[ChangePoint, ...]:
    """The change points of these values in their order, each significant by the test.

    Those up to `magnitude_min` are left out. ValueError of a level that is no probability, or of a
    value that is no finite number.
    """
    series = np.asarray(values, dtype=float)
    if not 0 < test.level < 1 / WEAK_TIMES or not np.isfinite(series).all():
        raise ValueError(f"level {test.level}, and finite values, are wanted")
    cuts = _weak_cuts(series, replace(test, level=test.level * WEAK_TIMES))
    while cuts:
        changes = _tested(series, cuts, test)
        weakest = max(changes, key=lambda change: change.p)
        if weakest.p <= test.level:
            weakest = min(changes, key=lambda change: change.magnitude)
            if weakest.magnitude > magnitude_min:
                return changes
        # One at a time: without it the plateaus beside it are others, and so are their tests.
        cuts.remove(weakest.index)
    return ()


def level_of_each(count: int, histories: int, *, chance: float) -> float:
    """The level at which any of so many histories has a change point by chance so rarely.

    `count`: values of each. Bonferroni's share of the chance for each test of each history;
    docs/serve.md has the simulation.
    """
    return chance / (max(TESTS_EACH * count, 1) * histories)


def _weak_cuts(series: Numbers, test: CutTest) -> list[int]:
    """The cuts that windows find which overlap by half; a cut begins the next window early."""
    cuts: set[int] = set()
    start = 0
    while start < len(series):
        own = [start + cut for cut in _divided(series[start : start + WINDOW], test)]
        cuts.update(own)
        start = max([start + WINDOW // 2, *own[-1:]])
    return sorted(cuts)


def _divided(series: Numbers, test: CutTest) -> list[int]:
    """Cuts of one window: always the best one of all segments, until that is not significant.

    Tests the two parts that are least alike, not everything up to the segment's end, because a
    plateau that returns would hide the change between.
    """
    cuts: list[int] = []
    while True:
        splits = [
            (start, _best_split(series[start:end], test.shortest))
            for start, end in pairwise([0, *cuts, len(series)])
            if end - start >= 2 * test.shortest
        ]
        if not splits:
            return cuts
        start, (_, cut, end) = max(splits, key=lambda split: split[1][0])
        first, second = series[start : start + cut], series[start + cut : start + end]
        if t_p(first, second, test.autocorrelation) > test.level:
            return cuts
        cuts = sorted([*cuts, start + cut])


def _best_split(series: Numbers, shortest: int) -> tuple[float, int, int]:
    """The greatest Q, where the values after differ most from those before, and where they end.

    Q = 2 / (n + m) · [Σ|x - y| - m / (n - 1) · Σ|x - x'| - n / (m - 1) · Σ|y - y'|] of the first n
    values x and the next m values y, each pair once: the energy distance, scaled by nm / (n + m).
    """
    count = len(series)
    sums = np.zeros((count + 1, count + 1))
    sums[1:, 1:] = np.abs(series[:, np.newaxis] - series).cumsum(axis=0).cumsum(axis=1)
    cuts, ends = np.arange(1, count)[:, np.newaxis], np.arange(2, count + 1)
    n, m = cuts, ends - cuts
    first, both, whole = sums[cuts, cuts], sums[cuts, ends], sums[ends, ends]
    within_x, within_y = first / 2, (whole - 2 * both + first) / 2
    apart = m / np.maximum(n - 1, 1) * within_x + n / np.maximum(m - 1, 1) * within_y
    q = np.where((n >= shortest) & (m >= shortest), 2 / ends * (both - first - apart), -math.inf)
    row, column = np.unravel_index(int(q.argmax()), q.shape)
    return float(q[row, column]), int(row) + 1, int(column) + 2


def _tested(series: Numbers, cuts: Sequence[int], test: CutTest) -> tuple[ChangePoint, ...]:
    """Each cut with the plateaus on both sides, up to the cuts beside it.

    Two windows may have cuts so near each other that a plateau is too short: their p is 1.
    """
    plateaus = np.split(series, list(cuts))
    return tuple(
        ChangePoint(
            index=cut,
            before=float(before.mean()),
            after=float(after.mean()),
            p=t_p(before, after, test.autocorrelation)
            if min(len(before), len(after)) >= test.shortest
            else 1.0,
        )
        for cut, (before, after) in zip(cuts, pairwise(plateaus), strict=True)
    )


def t_p(first: Numbers, second: Numbers, autocorrelation: float = 0.0) -> float:
    """p of Student's two-sided t test, with one variance of both, that the means are the same.

    The variance of a mean of values whose neighbours correlate by r is (1 + r) / (1 - r) times that
    of independent ones (an AR(1) process). 1 of a single value each. Without any spread 0 where the
    means differ, else 1.
    """
    from scipy.special import stdtr

    n, m = len(first), len(second)
    freedom = n + m - 2
    if freedom < 1:
        return 1.0
    apart = abs(float(first.mean() - second.mean()))
    squares = float(((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum())
    spread = (1 + autocorrelation) / (1 - autocorrelation)
    error = math.sqrt(squares / freedom * spread * (1 / n + 1 / m))
    if error == 0:
        return 0.0 if apart else 1.0
    return float(2 * stdtr(freedom, -apart / error))
