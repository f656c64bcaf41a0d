"""The search of the commit that changed a result, by tests that are noisy. Pure.

Commit 0 is the good one and commit n the bad one. A test is some blocks of a commit beside the good
one. A test can be wrong, so no half is ever thrown away: each test moves probability between the
commits, and the next test is where half of it lies on either side (Horstein 1963,
doi:10.1109/TIT.1963.1057832; Waeber, Frazier & Henderson 2013, doi:10.1137/120861898).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dbdyno.stats.interval import Interval, t_quantile
from dbdyno.stats.suspects import SURE, settled, suspects

Numbers = npt.NDArray[np.float64]
Transform = npt.NDArray[np.complex128]

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
LAYOUT_SDS = (0.0014, 0.0023, 0.0039, 0.0065, 0.0108, 0.018, 0.03)
"""Standard deviations that the layout noise may have: of what a build has of its own, however many
blocks, by where its code lies (Mytkowicz et al. 2009, doi:10.1145/1508244.1508275). The tests tell
which of them are likely; before any test all are alike."""
BLOCKS = 4
"""Blocks of a test that is to come."""
USEFUL = 0.2
"""A further test of a commit tells at least this share of what the first of another build does."""
FREEDOM_MAX = 8
"""Degrees of freedom of a test's t distribution at most, so that a disturbed test costs some
further ones and not the answer."""
GRID = 301
"""Levels that a commit may have, between those that tests let expect."""
PERIOD = 640
"""Of Fourier transforms: at least 2 · GRID - 1, and a product of small primes."""
TRIMMED = 1e-16
"""Levels less probable than this share of the most probable one are left out."""
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
    wanted: Wanted | None  # None of a sure answer
    more_changes: tuple[Found, ...] = ()  # in the order of commits


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What would make an answer sure, about."""

    builds: int  # of each suspect, laid out anew; 1: the one that there is
    tests: int  # further ones, of all suspects, if that is enough


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The layout noise that the tests let expect."""

    sd: float  # standard deviation of a build's log ratio
    low: float  # 95 % lie between
    high: float


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
    return next(_changes(_chain(n, _measured(n, tests, smallest))))


def layout(n: int, tests: Sequence[Test], *, smallest: float = SMALLEST) -> Layout:
    """The layout noise that these tests let expect. Arguments as of `posterior`."""
    _check(n, tests, ())
    chances = _chain(n, _measured(n, tests, smallest)).layouts
    upto = np.cumsum(chances)
    low, high = (LAYOUT_SDS[int((upto < share).sum())] for share in (0.025, 0.975))
    return Layout(sd=math.sqrt(_variance(chances)), low=low, high=high)


def next_test(
    n: int,
    tests: Sequence[Test],
    skipped: Collection[int] = (),
    *,
    smallest: float = SMALLEST,
) -> int | None:
    """The commit to test next, perhaps again; None: the answer is sure, or gets no surer.

    The bad commit first, then the one whose test tells most about the first change, then about
    the second, as long as there is more likely one than not. Arguments as of `posterior`.
    """
    _check(n, tests, skipped)
    if not tests:
        return n
    measured = _measured(n, tests, smallest)
    chain = _chain(n, measured)
    for order, chances in enumerate(_changes(chain)):
        if order > 0 and chances[-1] > 1 - FURTHER:
            return None
        if not settled(chances, skipped):
            return _most_telling(chances, _gains(measured, chain.layouts), skipped)
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
    chain = _chain(n, measured)
    told: list[Found] = []
    for order, chances in enumerate(_changes(chain)):
        if order > 0 and chances[-1] > 1 - FURTHER:
            break
        told.append(_told(chances, skipped))
    ends = [(0, 0), *((one.suspects[0], one.suspects[-1]) for one in told if one.suspects)]
    ends.append((n + 1, n + 1))
    own_variance = _variance(chain.layouts)
    sized = [
        replace(one, size=_size(measured, own_variance, before[1], own, after[0]))
        if one.suspects
        else one
        for one, before, own, after in zip(
            told, ends, ends[1:], [*ends[2:], ends[-1]], strict=False
        )
    ]
    whole = [
        one if one.sure else replace(one, wanted=_wanted(one, measured, own_variance))
        for one in sized
    ]
    return replace(whole[0], more_changes=tuple(whole[1:]))


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
    variance: float  # of it, by the scatter of its blocks
    blocks: int


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """All tests by commit, in order, and the noise that they share."""

    levels: tuple[_Level, ...]
    freedom: int
    variance: float  # of a block's log ratio
    smallest: float  # log ratio from which on a change is one that is searched


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
                variance=variance / blocks,
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


@dataclass(frozen=True, kw_only=True)
class _Chain:
    """The tested commits as a hidden Markov chain; arrays have a row for each of LAYOUT_SDS.

    (Fearnhead 2006, doi:10.1007/s11222-006-8450-8.) The level begins at 0, give or take the layout
    of the good build, which all tests share, and may jump once between two tested commits.
    """

    gaps: list[int]  # commits from each test to the next; the last ones are not tested
    shares: list[float]  # probability that the first change is in a gap, if it is in none before
    more: list[float]  # that a further one is
    jump: Transform  # of the probability to jump, by its size
    likely: list[Numbers]  # how well each level agrees with a commit's tests
    later: list[Numbers]  # and with those of all commits after it
    before: list[Numbers]  # levels before each test and after the last, without any change
    entering: list[Numbers]  # levels after a first change in each gap

    @property
    def layouts(self) -> Numbers:
        """The probability of each of LAYOUT_SDS."""
        rows = self.before[-1].sum(axis=1)
        for level, fits, rest in zip(self.entering, self.likely, self.later, strict=False):
            rows = rows + (level * fits * rest).sum(axis=1)
        shares: Numbers = rows / rows.sum()
        return shares


def _chain(n: int, measured: _Measured) -> _Chain:
    """Sums up all ways to jump: forward for each number of jumps, backward once for the later."""
    ends = [0, *(one.index for one in measured.levels), n]
    gaps = [after - before for before, after in pairwise(ends)]
    shares = [(1 - NONE) * gap / (n - (1 - NONE) * at) for at, gap in zip(ends, gaps, strict=False)]
    more = [1 - (1 - MORE / n) ** gap for gap in gaps]
    grid, jump = _grid(measured)
    likely = [_likely(one, grid, measured.freedom) for one in measured.levels]
    start = np.exp(-((grid / np.array(LAYOUT_SDS)[:, np.newaxis]) ** 2) / 2)
    start /= start.sum(axis=1, keepdims=True) * len(LAYOUT_SDS)
    before = _forward(start, [0.0 * start] * len(likely), likely, shares)
    return _Chain(
        gaps=gaps,
        shares=shares,
        more=more,
        jump=jump,
        likely=likely,
        later=_backward(likely, more[:-1], jump),
        before=before,
        entering=_entering(before, shares, jump),
    )


def _changes(chain: _Chain) -> Iterator[tuple[float, ...]]:
    """Where the first change is, then the second, …: by commit, and last that there is none."""
    before, entering, shares = chain.before, chain.entering, chain.shares
    total = 0.0
    for order in range(CHANGES_MAX):
        weights = [
            float((level * fits * rest).sum())
            for level, fits, rest in zip(entering, chain.likely, chain.later, strict=False)
        ]
        weights.append(shares[-1] * float(before[-1].sum()))
        if order == 0:
            total = math.fsum(weights) + (1 - shares[-1]) * float(before[-1].sum())
        spread = [
            weight / total / gap
            for weight, gap in zip(weights, chain.gaps, strict=True)
            for _ in range(gap)
        ]
        yield (*spread, max(1 - math.fsum(spread), 0.0))
        before = _forward(0.0 * before[0], entering, chain.likely, chain.more)
        shares = chain.more
        entering = _entering(before, shares, chain.jump)


def _grid(measured: _Measured) -> tuple[Numbers, Transform]:
    """The levels that commits may have, and the Fourier transform of the probability to jump.

    The size of a jump is log-uniform from the smallest that is looked for: its density is 1 / size.
    """
    most = max((abs(one.log_ratio) for one in measured.levels), default=0.0)
    variance = max((one.variance for one in measured.levels), default=0.0)
    reach = most + REACH * math.sqrt(variance + LAYOUT_SDS[-1] ** 2)
    grid = np.linspace(-reach, reach, GRID)
    step = float(grid[1] - grid[0])
    apart = step * np.abs(np.arange(1 - GRID, GRID))
    allowed = (apart >= measured.smallest) & (apart <= LARGEST)
    density = measured.smallest / 2 / np.where(allowed, apart, 1.0) ** 2
    return grid, np.fft.rfft(np.where(allowed, density * step, 0.0), PERIOD)


def _jumped(levels: Numbers, jump: Transform) -> Numbers:
    """The levels after a jump: a convolution."""
    whole: Numbers = np.fft.irfft(np.fft.rfft(levels, PERIOD) * jump, PERIOD)
    return _trimmed(whole[..., GRID - 1 : 2 * GRID - 1])


def _trimmed(levels: Numbers) -> Numbers:
    """Without what is rounding, or so small that processors take long for it."""
    kept: Numbers = np.where(levels > TRIMMED * levels.max(axis=1, keepdims=True), levels, 0.0)
    return kept


def _likely(measured: _Level, grid: Numbers, freedom: int) -> Numbers:
    """How well each level agrees with the tests of a commit: densities of t, up to a factor."""
    freedom = min(freedom, FREEDOM_MAX)
    step = float(grid[1] - grid[0])
    width = np.maximum(np.sqrt(measured.variance + np.square(LAYOUT_SDS)), step)[:, np.newaxis]
    distance = (measured.log_ratio - grid) / width
    agrees: Numbers = width[0] / width * (1 + distance**2 / freedom) ** (-(freedom + 1) / 2)
    return agrees


def _forward(
    state: Numbers, entering: Sequence[Numbers], likely: Sequence[Numbers], leaving: Sequence[float]
) -> list[Numbers]:
    """The levels after each test that it lets remain; the first of them before any test."""
    states = [state]
    for comes, fits, share in zip(entering, likely, leaving, strict=False):
        states.append(_trimmed(((1 - share) * states[-1] + comes) * fits))
    return states


def _entering(before: Sequence[Numbers], shares: Sequence[float], jump: Transform) -> list[Numbers]:
    """The levels after a jump in each gap."""
    return [share * _jumped(level, jump) for share, level in zip(shares, before, strict=True)]


def _backward(
    likely: Sequence[Numbers], leaving: Sequence[float], jump: Transform
) -> list[Numbers]:
    """How well all later tests agree with each level that a tested commit may have."""
    rest = [np.ones((len(LAYOUT_SDS), GRID))]
    for fits, share in zip(reversed(likely[1:]), reversed(leaving[1:]), strict=True):
        coming = _trimmed(fits * rest[-1])
        rest.append((1 - share) * coming + share * _jumped(coming, jump))
    return rest[::-1]


def _variance(layouts: Numbers) -> float:
    """The mean variance of the layout noise by these probabilities."""
    return float(layouts @ np.square(LAYOUT_SDS))


def _gains(measured: _Measured, layouts: Numbers) -> dict[int, float]:
    """How much a further test tells of each tested commit, as a share of a first one elsewhere.

    By the precision of its level, as only another build tells more of what layout hides.
    """

    def precision(blocks: int) -> float:
        return float((layouts / (measured.variance / blocks + np.square(LAYOUT_SDS))).sum())

    return {
        one.index: (precision(one.blocks + BLOCKS) - precision(one.blocks)) / precision(BLOCKS)
        for one in measured.levels
    }


def _most_telling(
    chances: Sequence[float], gains: Mapping[int, float], skipped: Collection[int]
) -> int | None:
    """The commit whose test parts the probability best; None where none tells much any more."""
    worth: dict[int, float] = {}
    for index, upto in enumerate(np.cumsum(chances[:-1]).tolist(), start=1):
        gain = gains.get(index, 1.0)
        if index not in skipped and gain >= USEFUL and abs(upto - 1 / 2) <= SURE / 2:
            worth[index] = gain * upto * (1 - upto)
    return max(worth, key=lambda index: worth[index], default=None)


def _told(chances: Sequence[float], skipped: Collection[int]) -> Found:
    """The answer that these probabilities give, without its size."""
    none = chances[-1] > 1 - FURTHER
    best = len(chances) if none else 1 + int(np.argmax(chances[:-1]))
    return Found(
        first=None if none else best,
        probability=chances[best - 1],
        suspects=suspects(chances),
        sure=settled(chances, skipped),
        size=None,
        wanted=None,
    )


def _size(
    measured: _Measured, own_variance: float, start: int, own: tuple[int, int], end: int
) -> Interval | None:
    """The level from the last suspect up to the next change, over that since the one before.

    Before the first change that of the good commit is among them, 0 with the layout of its build.
    """
    after = [one for one in measured.levels if own[1] <= one.index < end]
    before = [one for one in measured.levels if start <= one.index < own[0]]
    if start == 0:
        before.append(_Level(index=0, log_ratio=0.0, variance=0.0, blocks=0))
    if not after or not before:
        return None
    log_after, variance_after = _mean(after, own_variance)
    log_before, variance_before = _mean(before, own_variance)
    log = log_after - log_before
    reach = t_quantile(0.975, measured.freedom) * math.sqrt(variance_after + variance_before)
    return Interval(
        value=math.exp(log),
        low=math.exp(log - reach),
        high=math.exp(log + reach),
        count=sum(one.blocks for one in after),
    )


def _mean(levels: Sequence[_Level], own_variance: float) -> tuple[float, float]:
    """Their common level, each weighed by its precision, and its variance."""
    weights = [1 / (one.variance + own_variance) for one in levels]
    total = math.fsum(weights)
    logs = (weight * one.log_ratio for weight, one in zip(weights, levels, strict=True))
    return math.fsum(logs) / total, 1 / total


def _wanted(told: Found, measured: _Measured, own_variance: float) -> Wanted:
    """What tells the levels before and after a change, half of its size from the middle.

    Half of the variance that is allowed is for layout, which only other builds tell, and the rest
    for blocks. Without a change both ends are to be told apart from the smallest one.
    """
    size = measured.smallest
    if told.first is not None and told.size is not None:
        size = max(size, abs(math.log(told.size.value)))
    allowed = (size / 2 / t_quantile(0.975, max(measured.freedom, 1))) ** 2
    ends = 1 if told.first is not None else 2
    builds = max(1, math.ceil(ends * own_variance / (allowed / 2)))
    commits = min(len(told.suspects), math.ceil(math.log2(max(len(told.suspects), 1))) + 1)
    done = sum(one.blocks for one in measured.levels if one.index in told.suspects)
    blocks = commits * measured.variance / (allowed / 2) - done
    return Wanted(builds=builds, tests=max(1, math.ceil(blocks / BLOCKS)))
