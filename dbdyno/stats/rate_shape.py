"""The shape of a run: how its rate went over the window, from its whole seconds.

Means of ten seconds are cut where a plateau ends: the cut with the least sum of squares and a
penalty for each change, which is what PELT finds (Killick, Fearnhead & Eckley 2012). Here it is
found by going through all cuts (optimal partitioning; Jackson et al. 2005), as a window has a few
hundred means at most and PELT only saves time. The method and its figures: docs/method.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

Shape = Literal["flat", "warmed up", "slowed", "unsteady"]
"""flat: one plateau. warmed up: it rose, and held the last plateau for half the window. slowed: it
only fell. unsteady: it went up and down, or rose to the end (after Barrett et al., OOPSLA 2017).
"""

SECONDS_MIN = 120
"""A shorter window has too few means to tell a change from chance."""
MEAN_SECONDS = 10
"""Seconds of one mean: they have to outlast what ties neighbouring seconds to each other."""
PLATEAU_MIN = 3
"""Means of a plateau at least."""
PENALTY = 6.0
"""Of a change, times ln of the number of means, in variances of one."""
SAME_SHARE = 0.01
"""Plateaus that lie closer than this count as one."""
NOISE_SHARE_MIN = 0.001
"""Of the mean: a rate with less noise than this has as much, or its last digits would count."""
SETTLED_SHARE = 0.5
"""Of the window: a plateau that has held so long has settled; a ramp has shorter ones."""
NORMAL_DIFFERENCE = 0.954
"""The median of |x - y| of two draws of a normal distribution, in its standard deviations."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PlateauChange:
    """A change of plateau, to MEAN_SECONDS: after which second, and from which mean to which."""

    after_s: int
    before: float  # of the whole plateau
    after: float


def shape(rates: Sequence[float]) -> Shape | None:
    """The shape of a run with these per-second rates, of whole seconds in their order.

    None where they are fewer than SECONDS_MIN, or all 0.
    """
    levels = plateaus(rates)
    if not levels:
        return None
    steps = np.diff([plateau for _, plateau in levels])
    count, _ = levels[-1]
    settled = count >= SETTLED_SHARE * sum(length for length, _ in levels)
    if not len(steps):
        return "flat"
    if (steps < 0).all():
        return "slowed"
    return "warmed up" if (steps > 0).all() and settled else "unsteady"


def plateaus(rates: Sequence[float]) -> list[tuple[int, float]]:
    """The plateaus that a rate went through: how many means of ten seconds long, and how high.

    Empty where `shape` is None.
    """
    if len(rates) < SECONDS_MIN or not any(rates):
        return []
    whole = len(rates) // MEAN_SECONDS
    means = np.asarray(rates[: whole * MEAN_SECONDS], dtype=float)
    means = means.reshape(whole, MEAN_SECONDS).mean(axis=1)
    noise = float(np.median(np.abs(np.diff(means)))) / NORMAL_DIFFERENCE
    scaled = means / max(noise, NOISE_SHARE_MIN * float(means.mean()))
    ends = cuts(scaled, penalty=PENALTY * float(np.log(whole)))
    parts = np.split(means, ends[:-1])
    return _merged([(len(part), float(part.mean())) for part in parts])


def changes(rates: Sequence[float]) -> list[PlateauChange]:
    """The changes between the plateaus of `plateaus`, in their order."""
    levels = plateaus(rates)
    ends = accumulate(MEAN_SECONDS * count for count, _ in levels)
    means = [mean for _, mean in levels]
    return [
        PlateauChange(after_s=end, before=before, after=after)
        for end, (before, after) in zip(ends, pairwise(means), strict=False)
    ]


def cuts(values: Numbers, *, penalty: float) -> list[int]:
    """Where plateaus end so that squares about their means, and `penalty` for each, are least.

    The last one ends at the end; each has PLATEAU_MIN values or more.
    """
    count = len(values)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    squares = np.concatenate(([0.0], np.cumsum(values * values)))
    best = np.full(count + 1, np.inf)  # the least cost of what lies before
    best[0] = 0.0
    begins = np.zeros(count + 1, dtype=int)  # of the last segment of that
    for end in range(PLATEAU_MIN, count + 1):
        starts = np.arange(end - PLATEAU_MIN + 1)
        within = sums[end] - sums[starts]
        cost = squares[end] - squares[starts] - within * within / (end - starts)
        total = best[starts] + cost + penalty
        begins[end] = int(total.argmin())
        best[end] = total[begins[end]]
    ends = [count]
    while begins[ends[-1]] > 0:
        ends.append(int(begins[ends[-1]]))
    return ends[::-1]


def _merged(segments: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The segments with the closest neighbours made one, until none are as close as SAME_SHARE."""
    while len(segments) > 1:
        gaps = [
            abs(after - before) / max(abs(before), abs(after))
            for (_, before), (_, after) in pairwise(segments)
        ]
        place = int(np.argmin(gaps))
        if gaps[place] >= SAME_SHARE:
            break
        (first, low), (second, high) = segments[place : place + 2]
        length = first + second
        both = (length, (first * low + second * high) / length)
        segments = [*segments[:place], both, *segments[place + 2 :]]
    return segments
