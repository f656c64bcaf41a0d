"""The search of the commit that changed a result, by tests that are noisy. Pure.

Commit 0 is the good one and commit n the bad one. A test is some blocks of a commit beside the good
one. A test can be wrong, so no half is ever thrown away: each test moves probability between the
commits, and the next test is where half of it lies on either side (Horstein 1963,
doi:10.1109/TIT.1963.1057832; Waeber, Frazier & Henderson 2013, doi:10.1137/120861898).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dbdyno.stats.interval import Interval, t_quantile

Numbers = npt.NDArray[np.float64]

SURE = 0.95
"""The search ends where one answer is so probable; a set of suspects holds as much."""
NONE = 0.2
"""Probability, before any test, that no commit changed anything, against what the user believes."""
MORE = 0.2
"""Further changes, after the first, that are expected in as many commits as there are."""
FURTHER = 0.5
"""A change that is at least so probable is told; a further one is searched then."""
CHANGES_MAX = 4
"""Changes that are told from each other."""
SMALLEST = 0.01
"""A log ratio under it is no change that is searched, if nobody says another."""
SMALLEST_SHARE = 0.25
"""Nor is one that is under this share of the bad commit's: the search is for what made that."""
LARGEST = 7.0
"""The log ratio of the largest change, a thousandfold; smaller ones are as probable in logs."""
LAYOUT_SD = 0.002
"""Standard deviation of what a build has of its own, however many blocks: the layout of its code
(Mytkowicz et al. 2009, doi:10.1145/1508244.1508275). A commit whose blocks are as sure as that is
tested no more."""
FREEDOM_MAX = 8
"""Degrees of freedom of a test's t distribution at most, so that a disturbed test costs some
further ones and not the answer."""
GRID = 401
"""Levels that a commit may have, between those that tests let expect."""
REACH = 6.0
"""The levels end so many standard errors beyond the outermost test."""


@dataclass(frozen=True, kw_only=True)
class Test:
    """Blocks of one commit beside the good one; several tests of a commit add up."""

    __test__ = False  # no test of pytest's

    index: int  # of the commit: 1 follows the good one
    log_ratio: float  # ln(this commit / the good one), the mean over its blocks
    se: float  # of that mean, by the scatter of these blocks
    blocks: int  # at least 2


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the tests say about one change."""

    first: int | None  # the most probable commit; None: more likely than not there is no change
    probability: float  # that it is this commit; of None, that there is none
    suspects: tuple[int, ...]  # commits that together have SURE, with that of no change; in order
    sure: bool  # whether the answer has SURE, with commits before it that cannot be tested
    size: Interval | None  # ratio of the level after it to the one before; None without a test
    more_changes: tuple[Found, ...] = ()  # in the order of commits


def posterior(
    n: int,
    tests: Sequence[Test],
    skipped: Collection[int] = (),
    *,
    smallest: float = SMALLEST,
) -> tuple[float, ...]:
    """The probability that commit 1, 2, … n is the first changed one; the last: that none is.

    So entry i is that of commit i + 1. `skipped`: commits that cannot be tested; one of them may
    have changed the result all the same. `smallest`: the log ratio from which on a change is one.
    ValueError of tests that no search can have.
    """
    _check(n, tests, skipped)
    return next(_changes(n, _measured(n, tests, smallest)))


def next_test(
    n: int,
    tests: Sequence[Test],
    skipped: Collection[int] = (),
    *,
    smallest: float = SMALLEST,
) -> int | None:
    """The commit to test next, perhaps again; None: the answer is sure, or gets no surer.

    The bad commit first, then the one that halves the probability of the first change, then of
    the second, as long as there is more likely one than not. Arguments as of `posterior`.
    """
    _check(n, tests, skipped)
    if not tests:
        return n
    measured = _measured(n, tests, smallest)
    for order, chances in enumerate(_changes(n, measured)):
        if order > 0 and chances[-1] > 1 - FURTHER:
            return None
        if not _settled(chances, skipped):
            return _halving(chances, measured.exhausted.union(skipped))
        if chances[-1] >= SURE:
            return None
    return None


def found(
    n: int,
    tests: Sequence[Test],
    skipped: Collection[int] = (),
    *,
    smallest: float = SMALLEST,
) -> Found:
    """The answer so far: the first change, and those after it. Arguments as of `posterior`."""
    _check(n, tests, skipped)
    measured = _measured(n, tests, smallest)
    told: list[Found] = []
    for order, chances in enumerate(_changes(n, measured)):
        if order > 0 and chances[-1] > 1 - FURTHER:
            break
        told.append(_told(chances, skipped))
    ends = [(0, 0), *((one.suspects[0], one.suspects[-1]) for one in told if one.suspects)]
    ends.append((n + 1, n + 1))
    sized = [
        replace(one, size=_size(measured, before[1], own, after[0])) if one.suspects else one
        for one, before, own, after in zip(
            told, ends, ends[1:], [*ends[2:], ends[-1]], strict=False
        )
    ]
    return replace(sized[0], more_changes=tuple(sized[1:]))


def _check(n: int, tests: Sequence[Test], skipped: Collection[int]) -> None:
    """ValueError where there is no such search: our own mistake, as no user gives these."""
    if n < 1 or n in skipped:
        raise ValueError("a search needs a bad commit that can be tested")
    for one in tests:
        if not 1 <= one.index <= n or one.index in skipped or one.blocks < 2:
            raise ValueError(f"commit {one.index} of {n} has no test of {one.blocks} blocks")
        if not (math.isfinite(one.log_ratio) and math.isfinite(one.se) and one.se >= 0):
            raise ValueError(f"{one.log_ratio} ± {one.se} is no log ratio")


@dataclass(frozen=True, kw_only=True)
class _Level:
    """What the tests of one commit say of its level."""

    index: int
    log_ratio: float
    width: float  # standard error of it, with the layout noise
    blocks: int


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """All tests by commit, in order, and the noise that they share."""

    levels: tuple[_Level, ...]
    freedom: int
    variance: float  # of a block's log ratio
    smallest: float  # log ratio from which on a change is one that is searched

    @property
    def exhausted(self) -> frozenset[int]:
        """The commits whose layout noise is what is left to be known."""
        return frozenset(
            one.index for one in self.levels if self.variance / one.blocks <= LAYOUT_SD**2
        )


def _measured(n: int, tests: Sequence[Test], smallest: float) -> _Measured:
    """The tests of each commit together; the variance of a block is pooled over all of them."""
    freedom = sum(one.blocks - 1 for one in tests)
    squares = math.fsum((one.blocks - 1) * one.blocks * one.se**2 for one in tests)
    variance = squares / max(freedom, 1)
    levels = []
    for index in sorted({one.index for one in tests}):
        own = [one for one in tests if one.index == index]
        blocks = sum(one.blocks for one in own)
        levels.append(
            _Level(
                index=index,
                log_ratio=math.fsum(one.blocks * one.log_ratio for one in own) / blocks,
                width=math.sqrt(variance / blocks + LAYOUT_SD**2),
                blocks=blocks,
            )
        )
    of_bad = max((abs(one.log_ratio) for one in levels if one.index == n), default=0.0)
    return _Measured(
        levels=tuple(levels),
        freedom=freedom,
        variance=variance,
        smallest=max(smallest, SMALLEST_SHARE * of_bad),
    )


def _changes(n: int, measured: _Measured) -> Iterator[tuple[float, ...]]:
    """Where the first change is, then the second, …: by commit, and last that there is none.

    A hidden Markov chain along the tested commits (Fearnhead 2006, doi:10.1007/s11222-006-8450-8):
    the level begins at 0, give or take the layout of the good build, which all tests share, and may
    jump once between two tested commits. Sums up all ways to do so: forward for each number of
    jumps, backward once, as all jumps after the first are alike.
    """
    ends = [0, *(one.index for one in measured.levels), n]
    gaps = [after - before for before, after in pairwise(ends)]  # the last is not tested
    shares = [(1 - NONE) * gap / (n - (1 - NONE) * at) for at, gap in zip(ends, gaps, strict=False)]
    more = [1 - (1 - MORE / n) ** gap for gap in gaps]
    grid, jump = _grid(measured)
    likely = [_likely(one, grid, measured.freedom) for one in measured.levels]
    later = _backward(likely, more[:-1], jump)
    start = np.exp(-((grid / LAYOUT_SD) ** 2) / 2)
    start /= start.sum()
    before = _forward(start, [0.0 * start] * len(likely), likely, shares)
    total = 0.0
    for order in range(CHANGES_MAX):
        entering = [share * (jump @ level) for share, level in zip(shares, before, strict=True)]
        weights = [
            float((level * fits * rest).sum())
            for level, fits, rest in zip(entering, likely, later, strict=False)
        ]
        weights.append(shares[-1] * float(before[-1].sum()))
        if order == 0:
            total = math.fsum(weights) + (1 - shares[-1]) * float(before[-1].sum())
        spread = [
            weight / total / gap
            for weight, gap in zip(weights, gaps, strict=True)
            for _ in range(gap)
        ]
        yield (*spread, max(1 - math.fsum(spread), 0.0))
        before = _forward(0.0 * start, entering, likely, more)
        shares = more


def _grid(measured: _Measured) -> tuple[Numbers, Numbers]:
    """The levels that commits may have, and the probability to jump from one to another.

    The size of a jump is log-uniform from the smallest that is looked for: its density is 1 / size.
    """
    most = max((abs(one.log_ratio) for one in measured.levels), default=0.0)
    width = max((one.width for one in measured.levels), default=LAYOUT_SD)
    grid = np.linspace(-most - REACH * width, most + REACH * width, GRID)
    apart = np.abs(np.subtract.outer(grid, grid))
    allowed = (apart >= measured.smallest) & (apart <= LARGEST)
    step = float(grid[1] - grid[0])
    density = 1 / (2 * math.log(LARGEST / measured.smallest)) / np.where(allowed, apart, 1.0)
    return grid, np.where(allowed, density * step, 0.0)


def _likely(measured: _Level, grid: Numbers, freedom: int) -> Numbers:
    """How well each level agrees with the tests of a commit: by t, 1 where it is the same."""
    freedom = min(freedom, FREEDOM_MAX)
    width = max(measured.width, float(grid[1] - grid[0]))
    distance = (measured.log_ratio - grid) / width
    agrees: Numbers = (1 + distance**2 / freedom) ** (-(freedom + 1) / 2)
    return agrees


def _forward(
    state: Numbers, entering: Sequence[Numbers], likely: Sequence[Numbers], leaving: Sequence[float]
) -> list[Numbers]:
    """The levels after each test that it lets remain; the first of them before any test."""
    states = [state]
    for comes, fits, share in zip(entering, likely, leaving, strict=False):
        states.append(((1 - share) * states[-1] + comes) * fits)
    return states


def _backward(likely: Sequence[Numbers], leaving: Sequence[float], jump: Numbers) -> list[Numbers]:
    """How well all later tests agree with each level that a tested commit may have."""
    rest = [np.ones(GRID)]
    for fits, share in zip(reversed(likely[1:]), reversed(leaving[1:]), strict=True):
        coming = fits * rest[-1]
        rest.append((1 - share) * coming + share * (jump @ coming))
    return rest[::-1]


def _settled(chances: Sequence[float], skipped: Collection[int]) -> bool:
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


def _halving(chances: Sequence[float], barred: Collection[int]) -> int | None:
    """The commit that parts the probability best: half of it up to there.

    None where all that would part it are barred.
    """
    upto = np.cumsum(chances[:-1]).tolist()
    wanted = [index for index in range(1, len(chances)) if index not in barred]
    best = min(wanted, key=lambda index: abs(upto[index - 1] - 1 / 2), default=None)
    useless = best is None or abs(upto[best - 1] - 1 / 2) > SURE / 2
    return None if useless else best


def _told(chances: Sequence[float], skipped: Collection[int]) -> Found:
    """The answer that these probabilities give, without its size."""
    none = chances[-1] > 1 - FURTHER
    best = len(chances) if none else 1 + int(np.argmax(chances[:-1]))
    return Found(
        first=None if none else best,
        probability=chances[best - 1],
        suspects=_suspects(chances),
        sure=_settled(chances, skipped),
        size=None,
    )


def _suspects(chances: Sequence[float]) -> tuple[int, ...]:
    """The fewest commits that have SURE together with no change, and those as probable as they."""
    ranked = sorted(chances, reverse=True)
    sums = np.cumsum(ranked)
    last = ranked[min(int(np.searchsorted(sums, SURE)), len(ranked) - 1)]
    return tuple(
        index for index, chance in enumerate(chances[:-1], start=1) if chance >= last * (1 - 1e-9)
    )


def _size(measured: _Measured, start: int, own: tuple[int, int], end: int) -> Interval | None:
    """The level from the last suspect up to the next change, over that since the one before.

    Before the first change the level is that of the good commit, 1 with the layout of its build.
    """
    after = [one for one in measured.levels if own[1] <= one.index < end]
    before = [one for one in measured.levels if start <= one.index < own[0]] if start else []
    if not after or (start and not before):
        return None
    log_after, variance_after = _mean(after)
    log_before, variance_before = _mean(before) if before else (0.0, LAYOUT_SD**2)
    log = log_after - log_before
    reach = t_quantile(0.975, measured.freedom) * math.sqrt(variance_after + variance_before)
    return Interval(
        value=math.exp(log),
        low=math.exp(log - reach),
        high=math.exp(log + reach),
        count=sum(one.blocks for one in after),
    )


def _mean(levels: Sequence[_Level]) -> tuple[float, float]:
    """Their common level, each weighed by its precision, and its variance."""
    weights = [1 / one.width**2 for one in levels]
    total = math.fsum(weights)
    logs = (weight * one.log_ratio for weight, one in zip(weights, levels, strict=True))
    return math.fsum(logs) / total, 1 / total
