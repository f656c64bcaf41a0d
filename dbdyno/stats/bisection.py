"""The search of the commit that changed a result, by tests that are noisy. Pure.

Commit 0 is the good one and commit n the bad one. A test is some blocks of a commit beside the good
one. A test can be wrong, so no half is ever thrown away: each test moves probability between the
commits (`commit_chain`), and the next test is where half of it lies on either side (Horstein 1963,
doi:10.1109/TIT.1963.1057832; Waeber, Frazier & Henderson 2013, doi:10.1137/120861898).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dbdyno.model.ratio import Ratio
from dbdyno.stats.commit_chain import (
    KEPT_SDS,
    LAYOUT_SDS,
    MOVED,
    OWN_SDS,
    SMALLEST,
    BlockTest,
    Chain,
    CommitPlateau,
    CommitTests,
    Numbers,
    gathered,
    summed,
)
from dbdyno.stats.interval import t_quantile

SURE, SURE_OF_ONE = 0.97, 0.985
"""The search ends where it is so probable that there is no change, or that one commit made it. By
simulation, fewer than one in twenty sure answers then are wrong, also of changes and layout noise
for which that is the hardest."""
SUSPECTED = 0.95
"""What the suspects have together."""
FURTHER, SOUGHT = 0.5, 0.2
"""A change that is at least so probable is told, and a further one is searched then; one that is a
single commit's gets other layouts from a lower one on, as its own explains it as well."""
BLOCKS = 4
"""Blocks of a test that is to come."""
RELAYOUTS = 3
"""Other layouts with which a commit and the one before it are built and tested, one by one."""
RELAID_BLOCKS, RELAID_BLOCKS_MAX = 8, 24
"""Blocks with each before the next is built, and with each at most."""
RELAID_FROM = 0.25
"""Other layouts of a commit are tested that is so probable: its tests then show a step of its own,
of which they cannot tell whether it is a change or layout."""
USEFUL = 0.2
"""A further test of a commit tells at least this share of what the first of another build does."""


@dataclass(frozen=True, kw_only=True)
class ProbableChange:
    """What the tests say about one change."""

    first: int | None  # the most probable commit; None: more likely than not there is no change
    probability: float  # that it is this commit; of None, that there is none
    suspects: tuple[int, ...]  # commits that together have SUSPECTED, with that of no change
    sure: bool  # whether it is settled, with commits before it that cannot be tested
    size: Ratio | None  # ratio of the plateau after it to the one before; None without a test
    wanted: RemainingTests | None  # None of a sure answer
    more_changes: tuple[ProbableChange, ...] = ()  # in the order of commits


@dataclass(frozen=True, kw_only=True)
class NextTest:
    """The test that tells most."""

    index: int  # the commit
    before: int = 0  # the one that it is tested beside
    layout: int = 0  # with which both are built; 0: as all commits are


@dataclass(frozen=True, kw_only=True)
class RemainingTests:
    """What would make an answer sure, about."""

    builds: int  # of each suspect, with other layouts; 1: the one that there is may do
    tests: int  # further ones of the suspects at least, if so


@dataclass(frozen=True, kw_only=True)
class LayoutNoise:
    """The layout noise that the tests let expect."""

    sd: float  # standard deviation of a build's log ratio
    low: float  # 95 % lie between
    high: float


def posterior(
    n: int, tests: Sequence[BlockTest], skipped: Collection[int] = (), *, smallest: float = SMALLEST
) -> tuple[float, ...]:
    """The probability that commit 1, 2, … n is the first changed one; the last: that none is.

    So entry i is that of commit i + 1. `skipped`: commits that cannot be tested; one of them may
    have changed the result all the same. `smallest`: the log ratio from which on a change is one.
    ValueError of tests that no search can have.
    """
    _check(n, tests, skipped)
    _, chain = _known(n, tuple(tests), smallest)
    return next(chain.changes())


def layout(n: int, tests: Sequence[BlockTest], *, smallest: float = SMALLEST) -> LayoutNoise:
    """The layout noise that these tests let expect. Arguments as of `posterior`."""
    _check(n, tests, ())
    _, chain = _known(n, tuple(tests), smallest)
    return _layout(chain)


def next_test(
    n: int, tests: Sequence[BlockTest], skipped: Collection[int] = (), *, smallest: float = SMALLEST
) -> NextTest | None:
    """The test to do next, perhaps again; None: the answer is sure, or gets no surer.

    The bad commit first, then the one whose test tells most about the first change, then about
    the second, as long as there is more likely one than not. Once one commit alone is left, other
    layouts of it tell if the change is in the code or in where that lies. Arguments as of
    `posterior`.
    """
    _check(n, tests, skipped)
    if not tests:
        return NextTest(index=n)
    measured, chain = _known(n, tuple(tests), smallest)
    for order, chances in enumerate(chain.changes()):
        if order > 0 and chances[-1] > 1 - SOUGHT:
            return None
        if not _settled(chances, skipped):
            likely = order == 0 or chances[-1] <= 1 - FURTHER
            return _relaid(chances, measured, skipped) or (
                _most_telling(chances, _gains(measured, chain.layouts), skipped) if likely else None
            )
        if chances[-1] >= SURE:
            return None
    return None


def found(
    n: int, tests: Sequence[BlockTest], skipped: Collection[int] = (), *, smallest: float = SMALLEST
) -> ProbableChange:
    """The answer so far: the first change, and those after it. Arguments as of `posterior`."""
    _check(n, tests, skipped)
    measured, chain = _known(n, tuple(tests), smallest)
    changes: list[ProbableChange] = []
    for order, chances in enumerate(chain.changes()):
        if order > 0 and chances[-1] > 1 - FURTHER:
            break
        changes.append(_told(chances, skipped))
    ends = [
        (0, 0),
        *((change.suspects[0], change.suspects[-1]) for change in changes if change.suspects),
    ]
    ends.append((n + 1, n + 1))
    scatter = _layout(chain)
    sized = [
        replace(change, size=_size(measured, chain, before[1], own, after[0]))
        if change.suspects
        else change
        for change, before, own, after in zip(
            changes, ends, ends[1:], [*ends[2:], ends[-1]], strict=False
        )
    ]
    whole = [
        change if change.sure else replace(change, wanted=_wanted(change, measured, scatter))
        for change in sized
    ]
    return replace(whole[0], more_changes=tuple(whole[1:]))


@lru_cache(maxsize=1)
def _known(n: int, tests: tuple[BlockTest, ...], smallest: float) -> tuple[CommitTests, Chain]:
    """What the tests say. Kept for the last ones, of which a search asks several things."""
    measured = gathered(n, tests, smallest)
    return measured, summed(n, measured)


def _check(n: int, tests: Sequence[BlockTest], skipped: Collection[int]) -> None:
    """ValueError where there is no such search: our own mistake, as no user gives these."""
    if n < 1 or n in skipped:
        raise ValueError("a search needs a bad commit that can be tested")
    for test in tests:
        if not 1 <= test.index <= n or test.index in skipped or test.blocks < 2:
            raise ValueError(f"commit {test.index} of {n} has no test of {test.blocks} blocks")
        if not (math.isfinite(test.log_ratio) and math.isfinite(test.se) and test.se >= 0):
            raise ValueError(f"{test.log_ratio} ± {test.se} is no log ratio")


def _settled(chances: Sequence[float], skipped: Collection[int]) -> bool:
    """Whether one answer is sure: none, a commit, or neighbours that only untestable ones part."""
    return chances[-1] >= SURE or max(_together(chances, skipped).values()) >= SURE_OF_ONE


def _together(chances: Sequence[float], skipped: Collection[int]) -> dict[int, float]:
    """The probability of each commit that can be tested with those before it that cannot."""
    sums: dict[int, float] = {}
    waiting = 0.0
    for index, chance in enumerate(chances[:-1], start=1):
        waiting += chance
        if index not in skipped:
            sums[index], waiting = waiting, 0.0
    return sums


def _gains(measured: CommitTests, layouts: Numbers) -> dict[int, float]:
    """How much a further test tells of each tested commit, as a share of a first one elsewhere.

    By the precision of its plateau, as only another build tells more of what layout hides.
    """

    def precision(blocks: int) -> float:
        return float((layouts / (measured.variance / blocks + np.square(OWN_SDS))).sum())

    return {
        plateau.index: (precision(plateau.blocks + BLOCKS) - precision(plateau.blocks))
        / precision(BLOCKS)
        for plateau in measured.plateaus
    }


def _relaid(
    chances: Sequence[float], measured: CommitTests, skipped: Collection[int]
) -> NextTest | None:
    """The test of the most probable commit with another layout, once its step is seen; else None.

    Beside the last commit before it that can be tested.
    """
    together = _together(chances, skipped)
    index = max(together, key=lambda index: together[index])
    before = max((other for other in together if other < index), default=0)
    tested = {0, *(plateau.index for plateau in measured.plateaus)}
    if not {before, index} <= tested or together[index] < RELAID_FROM:
        return None
    blocks = dict.fromkeys(range(1, RELAYOUTS + 1), 0)
    for of in measured.relaid:
        if (of.before, of.index) == (before, index):
            blocks[of.layout] = of.blocks
    begun = [layout for layout, done in blocks.items() if done < RELAID_BLOCKS]
    layout = begun[0] if begun else min(blocks, key=lambda layout: blocks[layout])
    if blocks[layout] >= RELAID_BLOCKS_MAX:
        return None
    return NextTest(index=index, before=before, layout=layout)


def _most_telling(
    chances: Sequence[float], gains: Mapping[int, float], skipped: Collection[int]
) -> NextTest | None:
    """The commit whose test parts the probability best; None where none tells much any more."""
    worth: dict[int, float] = {}
    for index, upto in enumerate(np.cumsum(chances[:-1]).tolist(), start=1):
        gain = gains.get(index, 1.0)
        if index not in skipped and gain >= USEFUL and abs(upto - 1 / 2) <= SURE / 2:
            worth[index] = gain * upto * (1 - upto)
    return NextTest(index=max(worth, key=lambda index: worth[index])) if worth else None


def _told(chances: Sequence[float], skipped: Collection[int]) -> ProbableChange:
    """The answer that these probabilities give, without its size."""
    none = chances[-1] > 1 - FURTHER
    best = len(chances) if none else 1 + int(np.argmax(chances[:-1]))
    return ProbableChange(
        first=None if none else best,
        probability=chances[best - 1],
        suspects=_suspects(chances),
        sure=_settled(chances, skipped),
        size=None,
        wanted=None,
    )


def _suspects(chances: Sequence[float]) -> tuple[int, ...]:
    """The fewest commits that have SUSPECTED with no change, and those as probable as they."""
    ranked = sorted(chances, reverse=True)
    sums = np.cumsum(ranked)
    last = ranked[min(int(np.searchsorted(sums, SUSPECTED)), len(ranked) - 1)]
    return tuple(
        index for index, chance in enumerate(chances[:-1], start=1) if chance >= last * (1 - 1e-9)
    )


def _size(
    measured: CommitTests, chain: Chain, start: int, own: tuple[int, int], end: int
) -> Ratio | None:
    """The plateau from the last suspect up to the next change, over that since the one before.

    Layout that commits keep is between the two, however many builds there are. Before the first
    change the plateau of the good commit is among them, 0 with the layout of its build.
    """
    after = [plateau for plateau in measured.plateaus if own[1] <= plateau.index < end]
    before = [plateau for plateau in measured.plateaus if start <= plateau.index < own[0]]
    if start == 0:
        before.append(CommitPlateau(index=0, log_ratio=0.0, variance=0.0, blocks=0))
    if not after or not before:
        return None
    own_variance = chain.layout_variance(OWN_SDS)
    log_after, variance_after = _mean(after, own_variance)
    log_before, variance_before = _mean(before, own_variance)
    log = log_after - log_before
    moved = 1 - (1 - MOVED) ** (after[-1].index - before[0].index)
    kept = 2 * moved * chain.layout_variance(KEPT_SDS)
    reach = t_quantile(0.975, measured.freedom) * math.sqrt(variance_after + variance_before + kept)
    return Ratio(
        value=math.exp(log),
        low=math.exp(log - reach),
        high=math.exp(log + reach),
        blocks=sum(plateau.blocks for plateau in after),
    )


def _mean(plateaus: Sequence[CommitPlateau], own_variance: float) -> tuple[float, float]:
    """Their common plateau, each weighed by its precision, and its variance."""
    weights = [1 / (plateau.variance + own_variance) for plateau in plateaus]
    total = math.fsum(weights)
    logs = (weight * plateau.log_ratio for weight, plateau in zip(weights, plateaus, strict=True))
    return math.fsum(logs) / total, 1 / total


def _layout(chain: Chain) -> LayoutNoise:
    """The layout noise of the tests that a chain sums up, if each build draws its own."""
    shares = chain.layouts[: len(LAYOUT_SDS)] / chain.layouts[: len(LAYOUT_SDS)].sum()
    upto = np.cumsum(shares)
    low, high = (LAYOUT_SDS[int((upto < share).sum())] for share in (0.025, 0.975))
    return LayoutNoise(sd=math.sqrt(float(shares @ np.square(LAYOUT_SDS))), low=low, high=high)


def _wanted(change: ProbableChange, measured: CommitTests, layout: LayoutNoise) -> RemainingTests:
    """How many builds and tests would tell the plateaus before and after a change apart, about.

    Each plateau has to be known to half of the change. Layout, which only further builds average
    out, gets half of the variance that this allows; blocks get the other half. Without a change,
    the smallest one takes its place, at both ends. Further builds are wanted only where even the
    low end of the layout noise asks for them.
    """
    size = measured.smallest
    if change.first is not None and change.size is not None:
        size = max(size, abs(math.log(change.size.value)))
    allowed = (size / 2 / t_quantile(0.975, max(measured.freedom, 1))) ** 2
    ends = 1 if change.first is not None else 2
    least, builds = (math.ceil(ends * sd**2 / (allowed / 2)) for sd in (layout.low, layout.sd))
    commits = min(len(change.suspects), math.ceil(math.log2(max(len(change.suspects), 1))) + 1)
    done = sum(plateau.blocks for plateau in measured.plateaus if plateau.index in change.suspects)
    blocks = commits * measured.variance / (allowed / 2) - done
    return RemainingTests(
        builds=builds if least > 1 else 1, tests=max(1, math.ceil(blocks / BLOCKS))
    )
