"""From atomic instructions and system calls of windows to words: whether one more is told.

Windows of one build differ by some events, whatever their number of operations: a timer, a signal
or a wait for a latch falls into one of them, or does not. An operation's share of these falls with
the number of operations (docs/counts.md, "Atomic instructions and system calls").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.model.work import MARGIN, Event, EventInterval, EventWord

CHANCE: Mapping[Event, int] = {"atomics": 16, "system calls": 4}
CHANCE_OF_WRITES: Mapping[Event, int] = {"atomics": 40, "system calls": 4}
"""By fewer events two windows of one build differ: twice what was seen (docs/counts.md)."""
LEFT = 0.5
"""Of the least change, so much has to be left of a change that is told, whatever chance did."""


@dataclass(frozen=True, kw_only=True)
class Windows:
    """The windows of two arms in one step."""

    operations: int
    writes: bool = False
    margin: float = MARGIN  # the least share of an amount that matters

    def chance(self, event: Event) -> int:
        """By how many events less two of one build differ."""
        return (CHANCE_OF_WRITES if self.writes else CHANCE)[event]

    def operations_needed(self, event: Event, least: float = 1.0) -> int:
        """So many operations tell the least change, whatever chance does to both windows."""
        return math.ceil(2 * self.chance(event) / ((1 - LEFT) * least))


def interval(
    event: Event, before: Sequence[float], after: Sequence[float], windows: Windows
) -> EventInterval:
    """From repeats of both, each an amount of an operation."""
    chance = windows.chance(event) / windows.operations
    return EventInterval(
        low=min(after) - max(before) - chance,
        high=max(after) - min(before) + chance,
        chance=chance,
        least=max(1.0, windows.margin * min(before)),
    )


def word(change: EventInterval, tolerate: float = 0.0) -> EventWord:
    """More, beyond what is tolerated; fewer; the same, where the least change is excluded; open."""
    told = max(LEFT * change.least, 2 * change.chance)  # chance is then a third of it at most
    if change.low >= tolerate + told:
        return "more"
    if change.high <= -told:
        return "fewer"
    none_fewer = tolerate > 0 or change.low > -change.least
    return "same" if none_fewer and change.high < tolerate + change.least else "open"
