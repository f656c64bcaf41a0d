"""How probable each commit is to be the one that changed a result, by noisy tests. Pure.

The tested commits are a hidden Markov chain (Fearnhead 2006, doi:10.1007/s11222-006-8450-8): the
plateau of the result is a step function, and a test tells a commit's plateau, with the noise of its
blocks and the layout noise of its build. Neither the size of that is known, nor whether each build
draws it anew or later commits keep what one commit has moved.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dbdyno.model.grouping import grouped

Numbers = npt.NDArray[np.float64]
Transform = npt.NDArray[np.complex128]

NONE = 0.5
"""Probability, before any test, that no commit changed anything, whatever the user believes: layout
passes for changes."""
MORE = 0.2
"""Further changes, after the first, that are expected in as many commits as there are."""
CHANGES_MAX = 4
"""Changes that are told from each other."""
SMALLEST = 0.01
"""A log ratio under it is no change that is searched, if nobody says another."""
SMALLEST_SHARE = 0.25
"""Nor is one that is under this share of the bad commit's: the search is for what made that."""
LARGEST = 7.0
"""The log ratio of the largest change, a thousandfold."""
LAYOUT_SDS = (0.0014, 0.0023, 0.0039, 0.0065, 0.0108, 0.018, 0.03)
"""Standard deviations that the layout noise may have: of what a build has of its own, however many
blocks, by where its code lies (Mytkowicz et al. 2009, doi:10.1145/1508244.1508275). The tests tell
which of them are likely; before any test all are alike."""
MOVED = 0.1
"""Probability that a commit moves the code of those after it, where these keep their layout: so
the layouts of neighbours have a correlation of 0.9."""
OWN_SDS = np.array((*LAYOUT_SDS, *(LAYOUT_SDS[0] for _ in LAYOUT_SDS)))
"""By hypothesis: what each build draws for itself. First it draws all, of every size …"""
KEPT_SDS = np.array((*(0.0 for _ in LAYOUT_SDS), *LAYOUT_SDS))
"""… then the least, and what later commits keep has every size."""
FREEDOM_MAX = 8
"""Degrees of freedom of a test's t distribution at most, so that a disturbed test costs some
further ones and not the answer."""
OFF = 0.002
"""Probability that the tests of a commit are off altogether and tell of no plateau. So one that is
far from all others does not pass for layout noise."""
PEAK = 0.39
"""Of a t density, by its width."""
GRID = 301
"""Plateaus that a commit may have, between those that tests let expect."""
PERIOD = 640
"""Of Fourier transforms: at least 2 · GRID - 1, and a product of small primes."""
TRIMMED = 1e-16
"""Plateaus less probable than this share of the most probable one are left out."""
REACH = 6.0
"""The plateaus end so many standard errors beyond the outermost test."""


@dataclass(frozen=True, kw_only=True)
class BlockTest:
    """Blocks of a commit beside the good one, or another; several tests of the same add up."""

    __test__ = False  # no test of pytest's

    index: int  # of the commit: 1 follows the good one
    log_ratio: float  # ln(this commit / the one beside it), the mean over its blocks
    se: float  # of that mean, by the scatter of these blocks
    blocks: int  # at least 2
    before: int = 0  # the commit beside it
    layout: int = 0  # with which both are built; 0: as all commits are


@dataclass(frozen=True, kw_only=True)
class LayoutTest:
    """What the tests of a commit beside one before it say, both built with another layout."""

    before: int
    index: int
    layout: int
    log_ratio: float
    variance: float  # of it, by the scatter of its blocks
    blocks: int


@dataclass(frozen=True, kw_only=True)
class CommitPlateau:
    """What the tests of one commit say of its plateau."""

    index: int
    log_ratio: float
    variance: float  # of it, by the scatter of its blocks
    blocks: int


@dataclass(frozen=True, kw_only=True)
class CommitTests:
    """All tests by commit, in order, and the noise that they share."""

    plateaus: tuple[CommitPlateau, ...]
    relaid: tuple[LayoutTest, ...]
    freedom: int
    variance: float  # of a block's log ratio
    smallest: float  # log ratio from which on a change is one that is searched


def gathered(n: int, tests: Sequence[BlockTest], smallest: float) -> CommitTests:
    """The tests of each commit together; the variance of a block is pooled over all of them."""
    freedom = sum(test.blocks - 1 for test in tests)
    squares = math.fsum((test.blocks - 1) * test.blocks * test.se**2 for test in tests)
    variance = squares / max(freedom, 1)
    plateaus = tuple(
        CommitPlateau(index=index, log_ratio=log_ratio, variance=variance / blocks, blocks=blocks)
        for (layout, _, index), log_ratio, blocks in _joined(tests)
        if layout == 0
    )
    relaid = tuple(
        LayoutTest(
            before=before,
            index=index,
            layout=layout,
            log_ratio=log_ratio,
            variance=variance / blocks,
            blocks=blocks,
        )
        for (layout, before, index), log_ratio, blocks in _joined(tests)
        if layout
    )
    of_bad = max(
        (abs(plateau.log_ratio) for plateau in plateaus if plateau.index == n), default=0.0
    )
    return CommitTests(
        plateaus=plateaus,
        relaid=relaid,
        freedom=freedom,
        variance=variance,
        smallest=max(smallest, SMALLEST_SHARE * of_bad),
    )


def _joined(tests: Sequence[BlockTest]) -> Iterator[tuple[tuple[int, int, int], float, int]]:
    """The mean log ratio and the blocks of each layout, commit before and commit, in order."""
    by_place = grouped(((test.layout, test.before, test.index), test) for test in tests)
    for place, own in sorted(by_place.items()):
        blocks = sum(test.blocks for test in own)
        yield place, math.fsum(test.blocks * test.log_ratio for test in own) / blocks, blocks


@dataclass(frozen=True, kw_only=True)
class PlateauMove:
    """How a plateau may move over a gap, as Fourier transforms of the weight of each distance."""

    stays: Transform | Numbers  # without a change: by layout that commits keep
    jumps: Transform  # by a change, and by such layout

    def after(self, plateaus: Numbers) -> tuple[Numbers, Numbers]:
        """The plateaus after the gap, without a change in it and with one."""
        spectrum = np.fft.rfft(plateaus, PERIOD)
        stayed = np.fft.irfft(spectrum * self.stays, PERIOD)[..., :GRID]
        jumped = np.fft.irfft(spectrum * self.jumps, PERIOD)[..., GRID - 1 : 2 * GRID - 1]
        return _trimmed(stayed), _trimmed(jumped)

    def before(self, fits: Numbers) -> tuple[Numbers, Numbers]:
        """How well what follows the gap agrees with each plateau before it: the same, mirrored."""
        stayed, jumped = self.after(fits[..., ::-1])
        return stayed[..., ::-1], jumped[..., ::-1]


@dataclass(frozen=True, kw_only=True)
class Chain:
    """The tested commits; arrays have a row for each of OWN_SDS, and a column for each plateau.

    The plateau begins at 0, give or take the layout of the good build, which all tests share, and
    may jump once between two tested commits. Layout that commits keep moves it, too, and is no
    change.
    """

    gaps: list[int]  # commits from each test to the next; the last ones are not tested
    shares: list[float]  # probability that the first change is in a gap, if it is in none before
    more: list[float]  # that a further one is
    moves: list[PlateauMove]  # over each gap
    likely: list[Numbers]  # how well each plateau agrees with a commit's tests
    later: list[Numbers]  # and with those of all commits after it
    before: list[Numbers]  # plateaus before each test and after the last, without any change
    entering: list[Numbers]  # plateaus after a first change in each gap

    @property
    def layouts(self) -> Numbers:
        """The probability of each hypothesis of layout."""
        rows = self.before[-1].sum(axis=1)
        for plateau, fits, rest in zip(self.entering, self.likely, self.later, strict=False):
            rows = rows + (plateau * fits * rest).sum(axis=1)
        shares: Numbers = rows / rows.sum()
        return shares

    def layout_variance(self, sds: Numbers) -> float:
        """The mean variance of the layout noise that OWN_SDS or KEPT_SDS have."""
        return float(self.layouts @ np.square(sds))

    def changes(self) -> Iterator[tuple[float, ...]]:
        """Where the first change is, then the second, …: by commit, and last that there is none."""
        before, entering, shares = self.before, self.entering, self.shares
        total = 0.0
        for order in range(CHANGES_MAX):
            weights = [
                float((plateau * fits * rest).sum())
                for plateau, fits, rest in zip(entering, self.likely, self.later, strict=False)
            ]
            weights.append(shares[-1] * float(before[-1].sum()))
            if order == 0:
                total = math.fsum(weights) + (1 - shares[-1]) * float(before[-1].sum())
            spread = [
                weight / total / gap
                for weight, gap in zip(weights, self.gaps, strict=True)
                for _ in range(gap)
            ]
            yield (*spread, max(1 - math.fsum(spread), 0.0))
            shares = self.more
            before, entering = _forward(0.0 * before[0], entering, self.likely, shares, self.moves)


def summed(n: int, measured: CommitTests) -> Chain:
    """Sums up all ways to jump: forward for each number of jumps, backward once for the later."""
    ends = [0, *(plateau.index for plateau in measured.plateaus), n]
    gaps = [after - before for before, after in pairwise(ends)]
    shares = [(1 - NONE) * gap / (n - (1 - NONE) * at) for at, gap in zip(ends, gaps, strict=False)]
    more = [1 - (1 - MORE / n) ** gap for gap in gaps]
    grid = _grid(measured)
    moves = [_move(measured, begin, end, grid) for begin, end in pairwise(ends)]
    likely = [_likely(plateau, grid, measured) for plateau in measured.plateaus]
    start = np.exp(-((grid / OWN_SDS[:, np.newaxis]) ** 2) / 2)
    start /= start.sum(axis=1, keepdims=True) * len(OWN_SDS)
    before, entering = _forward(start, [0.0 * start] * len(likely), likely, shares, moves)
    return Chain(
        gaps=gaps,
        shares=shares,
        more=more,
        moves=moves,
        likely=likely,
        later=_backward(likely, more[:-1], moves),
        before=before,
        entering=entering,
    )


def _grid(measured: CommitTests) -> Numbers:
    """The plateaus that commits may have."""
    most = max((abs(plateau.log_ratio) for plateau in measured.plateaus), default=0.0)
    variance = max((plateau.variance for plateau in measured.plateaus), default=0.0)
    reach = most + REACH * math.sqrt(variance + LAYOUT_SDS[-1] ** 2)
    grid: Numbers = np.linspace(-reach, reach, GRID)
    return grid


def _move(measured: CommitTests, begin: int, end: int, grid: Numbers) -> PlateauMove:
    """How the plateau may move over a gap.

    From the smallest jump that is looked for on, its density falls with the square of its size. A
    commit that moves code for good draws its layout anew, in every layout that it is built with.
    Each pair of builds with another layout tells the jump once more, without the layouts of all
    others.
    """
    step = float(grid[1] - grid[0])
    distances = np.arange(1 - GRID, GRID, dtype=np.float64) * step
    allowed = (np.abs(distances) >= measured.smallest) & (np.abs(distances) <= LARGEST)
    density = np.where(allowed, measured.smallest / 2 / np.where(allowed, distances, 1.0) ** 2, 0.0)
    moved = 1 - (1 - MOVED) ** (end - begin)
    turns = 2 * math.pi * np.arange(PERIOD // 2 + 1) / PERIOD
    drawn = np.exp(-np.square(np.outer(KEPT_SDS / step, turns)))
    pairs = [of for of in measured.relaid if (of.before, of.index) == (begin, end)]
    if not pairs:
        stayed = 1 - moved + moved * drawn
        return PlateauMove(stays=stayed, jumps=stayed * np.fft.rfft(density * step, PERIOD))
    stays: Transform = np.zeros_like(drawn, dtype=complex)
    jumps = stays.copy()
    for share, drift, kept in ((1 - moved, 1.0, 0.0), (moved, drawn, 1.0)):
        variances: Numbers = 2 * (np.square(OWN_SDS) + kept * np.square(KEPT_SDS))
        fits = np.ones((len(OWN_SDS), len(distances)))
        for of in pairs:
            scale = math.sqrt(of.variance + 2 * OWN_SDS[0] ** 2)
            fits *= _agrees(of.log_ratio - distances, of.variance + variances, scale, measured)
        stays += share * drift * fits[:, GRID - 1 : GRID]
        jumps += share * drift * np.fft.rfft(fits * density * step, PERIOD)
    return PlateauMove(stays=stays, jumps=jumps)


def _trimmed(plateaus: Numbers) -> Numbers:
    """Without what is rounding, or so small that processors take long for it."""
    kept: Numbers = np.where(
        plateaus > TRIMMED * plateaus.max(axis=1, keepdims=True), plateaus, 0.0
    )
    return kept


def _likely(plateau: CommitPlateau, grid: Numbers, measured: CommitTests) -> Numbers:
    """How well each plateau agrees with the tests of a commit."""
    step = float(grid[1] - grid[0])
    variances: Numbers = np.maximum(plateau.variance + np.square(OWN_SDS), step**2)
    scale = math.sqrt(variances[0])
    fits = _agrees(plateau.log_ratio - grid, variances, scale, measured)
    fits += OFF / PEAK * scale / float(grid[-1] - grid[0])
    return fits


def _agrees(distances: Numbers, variances: Numbers, scale: float, measured: CommitTests) -> Numbers:
    """Densities of t, by hypothesis and distance, up to a factor."""
    freedom = min(measured.freedom, FREEDOM_MAX)
    width = np.sqrt(variances)[:, np.newaxis]
    density: Numbers = (1 + (distances / width) ** 2 / freedom) ** (-(freedom + 1) / 2)
    return scale / width * density


def _forward(
    state: Numbers,
    comes: Sequence[Numbers],
    likely: Sequence[Numbers],
    leaving: Sequence[float],
    moves: Sequence[PlateauMove],
) -> tuple[list[Numbers], list[Numbers]]:
    """The plateaus after each test that it lets remain, and those that leave by a change before it.

    The first of the former are those before any test. `comes`: those that a change brings.
    """
    states, left = [state], []
    for brought, fits, share, move in zip(comes, likely, leaving, moves, strict=False):
        stayed, jumped = move.after(states[-1])
        left.append(share * jumped)
        states.append(_trimmed(((1 - share) * stayed + brought) * fits))
    return states, left


def _backward(
    likely: Sequence[Numbers], leaving: Sequence[float], moves: Sequence[PlateauMove]
) -> list[Numbers]:
    """How well all later tests agree with each plateau that a tested commit may have."""
    rest = [np.ones((len(OWN_SDS), GRID))]
    for gap in range(len(likely) - 1, 0, -1):
        stayed, jumped = moves[gap].before(_trimmed(likely[gap] * rest[-1]))
        rest.append((1 - leaving[gap]) * stayed + leaving[gap] * jumped)
    return rest[::-1]
