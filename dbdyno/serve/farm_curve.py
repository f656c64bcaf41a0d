"""The curve of a series as lines and dots of an SVG, which needs no script. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.farm.chain import HeadSeries
from dbdyno.farm.overview import BranchOverview, HeadOverview, interval
from dbdyno.model.bisection import short
from dbdyno.parts import number

WIDTH, HEIGHT = 960, 280
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 14, 34
ROOM = 0.08
"""Of the reach of all figures, above and below."""
REACH_MIN = 0.004
"""Of the axis, as a share: noise of less fills no curve."""
TICKS_MIN = 4
NAMES_MAX = 8
RADIUS_MIN, RADIUS_MAX = 2.0, 4.0


@dataclass(frozen=True, kw_only=True)
class CommitDot:
    """A commit's ratio to the pinned release."""

    x: float
    y: float
    low: float  # of its interval, as places
    high: float
    words: str
    link: str


@dataclass(frozen=True, kw_only=True)
class AxisMark:
    """A place on an axis, or where a finding begins, with its words."""

    at: float
    words: str
    link: str = ""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """All that is drawn."""

    width: int
    height: int
    left: int
    right: float
    top: int
    bottom: float
    radius: float  # of a dot
    dots: tuple[CommitDot, ...]
    ticks: tuple[AxisMark, ...]
    names: tuple[AxisMark, ...]
    missing: tuple[AxisMark, ...]  # commits without a reading
    findings: tuple[AxisMark, ...]
    said: str  # for those who do not see it


def curve(
    branch: BranchOverview,
    series: HeadSeries,
    links: Sequence[str],
    findings: Sequence[tuple[str, str]],
) -> Curve | None:
    """The curve of a series; None where no commit has a reading.

    `links`: of each commit's report. `findings`: of those of this step, the words and the link
    of each, in the order of `branch.findings`.
    """
    ratios = [_ratio(commit, series) for commit in branch.commits]
    measured = [(place, *reach) for place, reach in enumerate(ratios) if reach is not None]
    if not measured:
        return None
    scale = _Scale.of([end for _, *ends in measured for end in ends], len(ratios))
    own = [finding for finding in branch.findings if finding.is_of(series)]
    places = {commit.commit: place for place, commit in enumerate(branch.commits)}
    return Curve(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=WIDTH - RIGHT,
        top=TOP,
        bottom=HEIGHT - BOTTOM,
        radius=max(RADIUS_MIN, min(RADIUS_MAX, (WIDTH - LEFT - RIGHT) / len(ratios) / 2)),
        dots=tuple(
            CommitDot(
                x=scale.x(place),
                y=scale.y(value),
                low=scale.y(low),
                high=scale.y(high),
                words=f"{short(branch.commits[place].commit)} {number.counted(value, low, high)}",
                link=links[place],
            )
            for place, value, low, high in measured
        ),
        ticks=tuple(scale.ticks()),
        names=tuple(_names(branch.commits, scale)),
        missing=tuple(
            AxisMark(
                at=scale.x(place), words=f"{short(commit.commit)}: {commit.why or 'no reading'}"
            )
            for place, commit in enumerate(branch.commits)
            if ratios[place] is None
        ),
        findings=tuple(
            AxisMark(at=scale.x(places[finding.first] - 0.5), words=words, link=link)
            for finding, (words, link) in zip(own, findings, strict=True)
            if finding.first in places
        ),
        said=f"{len(measured)} of {len(ratios)} commits, from {number.counted(measured[0][1])} to "
        f"{number.counted(measured[-1][1])} against the pinned release; findings: {len(own)}",
    )


def _ratio(commit: HeadOverview, series: HeadSeries) -> tuple[float, float, float] | None:
    cell = commit.cells.get(series)
    if cell is None or cell.against_pinned is None:
        return None
    low, high = interval(cell.against_pinned)
    return math.exp(cell.against_pinned.value), low, high


@dataclass(frozen=True, kw_only=True)
class _Scale:
    low: float
    high: float
    commits: int

    @classmethod
    def of(cls, ends: Sequence[float], commits: int) -> _Scale:
        low, high = min(*ends, 1.0), max(*ends, 1.0)
        missing = max(0.0, REACH_MIN - (high - low)) / 2
        room = ROOM * (high - low) + missing
        return cls(low=low - room, high=high + room, commits=commits)

    def x(self, place: float) -> float:
        share = (place + 0.5) / self.commits
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    def ticks(self) -> Iterator[AxisMark]:
        """Round changes, no change among them."""
        size = 10.0 ** math.ceil(math.log10((self.high - self.low) / TICKS_MIN))
        step = next(
            size / part
            for part in (1, 2, 5, 10)
            if (self.high - self.low) * part / size >= TICKS_MIN or part == 10
        )
        digits = max(0, -2 - math.floor(math.log10(step) + 1e-9))
        first = math.ceil((self.low - 1) / step)
        for place in range(first, math.floor((self.high - 1) / step) + 1):
            words = number.change(1 + place * step, digits)
            yield AxisMark(at=self.y(1 + place * step), words=words if place else "0")


def _names(commits: Sequence[HeadOverview], scale: _Scale) -> Iterator[AxisMark]:
    """The names of some commits, evenly spaced."""
    every = max(1, math.ceil(len(commits) / NAMES_MAX))
    for place in range(0, len(commits), every):
        yield AxisMark(at=scale.x(place), words=short(commits[place].commit))
