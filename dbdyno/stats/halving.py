"""The search of commits that changed the work of a step, by counts that hardly scatter. Pure.

Commit 0 is the good one and commit n the bad one. Counted commits part the way between them into
stretches. A stretch whose ends differ has a commit that did it, so its middle is counted next, the
stretch that differs most first. Where the ends are the same nothing is looked for: two changes of
opposite sign in one stretch can hide each other. Where the halving leads says nothing yet: a commit
is named by the word of its counts (`stats.work`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dbdyno.stats.work import APART, FREEDOM_LEAST, SCATTER_LEAST, Scatter

Works = Mapping[int, Mapping[str, float]]
"""By commit and step: the log of an operation's instructions."""
Least = Mapping[str, float]
"""By step: the log ratio from which on a change is one."""
ENTERED = 0.5
"""A stretch is entered whose ends differ by so much of the least change: a change hides behind
opposite ones only where these leave less of it."""

SCATTER = Scatter(deviation=SCATTER_LEAST, freedom=FREEDOM_LEAST)
"""Of a count's log ratio: a search has a few of a commit, which tell none."""
SCATTER_OF_WRITES = Scatter(deviation=0.001, freedom=FREEDOM_LEAST)
"""Of a step that writes: single counts of an indexed update at a load of 10 were 0.2 % off once in
six."""
LEAD = 3
"""So many counts more of a commit agree than do not, before they are believed."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """The commits between two counted ones."""

    begin: int
    end: int
    inside: tuple[int, ...]  # those that can be counted
    changes: Mapping[str, float]  # by step: the log ratio of its end to its begin

    def size(self, least: Least) -> float:
        """The largest change of the steps of `least`; 1: as large as the least one."""
        return max((abs(self.changes[step]) / of for step, of in least.items()), default=0.0)

    @property
    def middle(self) -> int:
        """The commit that parts it best."""
        return min(self.inside, key=lambda index: abs(index - (self.begin + self.end) / 2))


def next_stretch(
    n: int, works: Works, skipped: Collection[int], least: Least, *, every: bool
) -> Stretch | None:
    """The stretch to part next, whose ends are counted as the good and the bad commit are.

    None: all is known. `every`: all commits of a change are looked for; else the one whose change
    is the largest.
    """
    entered = unparted(n, works, skipped, least)
    if not entered or every:
        return entered[0] if entered else None
    size = max((of.size(least) for of in _single(n, works, skipped, least)), default=0.0)
    is_open = whole(n, works).size(least) >= 1 and entered[0].size(least) > size
    return entered[0] if is_open else None


def unparted(n: int, works: Works, skipped: Collection[int], least: Least) -> list[Stretch]:
    """The stretches whose ends differ and that have commits to count, the largest change first."""
    entered = [
        stretch
        for stretch in stretches(n, works, skipped)
        if stretch.inside and stretch.size(least) >= ENTERED
    ]
    return sorted(entered, key=lambda stretch: -stretch.size(least))


def single(
    n: int, works: Works, skipped: Collection[int], least: Least, *, every: bool
) -> list[Stretch]:
    """The changes that are down to a commit, and to those before it that cannot be counted."""
    known = _single(n, works, skipped, least)
    if every:
        return known
    if whole(n, works).size(least) < 1 or not known:
        return []
    if next_stretch(n, works, skipped, least, every=False) is not None:
        return []
    return [max(known, key=lambda stretch: stretch.size(least))]


def _single(n: int, works: Works, skipped: Collection[int], least: Least) -> list[Stretch]:
    return [
        stretch
        for stretch in stretches(n, works, skipped)
        if not stretch.inside and stretch.size(least) >= 1
    ]


def whole(n: int, works: Works) -> Stretch:
    """The way from the good commit to the bad one, both counted."""
    return Stretch(begin=0, end=n, inside=(), changes=_changes(works, 0, n))


def stretches(n: int, works: Works, skipped: Collection[int]) -> list[Stretch]:
    """The stretches between counted commits, in order."""
    counted = sorted(index for index in works if 0 <= index <= n)
    return [
        Stretch(
            begin=begin,
            end=end,
            inside=tuple(index for index in range(begin + 1, end) if index not in skipped),
            changes=_changes(works, begin, end),
        )
        for begin, end in pairwise(counted)
    ]


def _changes(works: Works, begin: int, end: int) -> dict[str, float]:
    return {step: log - works[begin][step] for step, log in works[end].items()}


def agreeing(logs: Sequence[float], scatter: Scatter) -> list[int] | None:
    """The places of the counts of a commit that agree; None: too few do, and it is counted again.

    `logs`: of its instructions.
    """
    reach = APART * scatter.deviation
    near = max(
        ([n for n, log in enumerate(logs) if abs(log - middle) <= reach] for middle in logs),
        key=len,
    )
    return near if len(near) >= len(logs) - len(near) + LEAD else None
