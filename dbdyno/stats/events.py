"""From atomic instructions and system calls of windows to words: whether one more is told.

Windows of one build differ by some events, whatever their number of operations: a timer, a signal
or a wait for a lock falls into one of them, or does not. An operation's share of these falls with
the number of operations (docs/counts.md, "Atomic instructions and system calls").
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.model.work import MARGIN, Event, EventInterval, EventWord

SYSTEM_CALLS: Mapping[bool, int] = {False: 10, True: 20}
"""By no more do two windows of one build differ, twice what was seen (docs/counts.md): by whether
the step writes."""
ATOMICS: Mapping[tuple[bool, bool], int] = {
    (False, False): 20,
    (False, True): 60,
    (True, False): 20,
    (True, True): 3500,
}
"""The same of atomics, by whether sessions are threads of one process, and the step writes."""
ATOMICS_OF_THREADS = 4
"""The same of each operation, where threads of one process share an allocator and its locks."""
LEFT = 0.5
"""Of the least change, so much has to be left of a change that is told, whatever chance did."""


@dataclass(frozen=True, kw_only=True)
class Windows:
    """The windows of two arms in one step."""

    operations: int
    writes: bool = False
    threads: bool = False  # whether sessions are threads of one process
    margin: float = MARGIN  # the least share of an amount that matters

    def of_windows(self, event: Event) -> int:
        """By how many events at most two of one build differ, whatever their operations."""
        if event == "system calls":
            return SYSTEM_CALLS[self.writes]
        return ATOMICS[self.threads, self.writes]

    def of_operations(self, event: Event) -> int:
        """By how many events more for each operation."""
        return ATOMICS_OF_THREADS if event == "atomics" and self.threads else 0

    def interval(
        self, event: Event, before: Sequence[float], after: Sequence[float]
    ) -> EventInterval:
        """From repeats of both arms, each an amount of an operation."""
        chance = self.of_windows(event) / self.operations + self.of_operations(event)
        return EventInterval(
            low=min(after) - max(before) - chance,
            high=max(after) - min(before) + chance,
            chance=chance,
            least=self.least(event, min(before)),
        )

    def least(self, event: Event, amount: float) -> float:
        """The least change that matters of so many events of an operation."""
        return max(1.0, self.margin * amount, 2.0 * self.of_operations(event))

    def operations_needed(self, event: Event, amount: float = 0.0) -> int | None:
        """How many operations tell the least change of that amount; None: these are as many."""
        room = (1 - LEFT) * (self.least(event, amount) - self.of_operations(event))
        needed = math.ceil(2 * self.of_windows(event) / room)
        return needed if self.operations < needed else None


def word(change: EventInterval, tolerate: float = 0.0) -> EventWord:
    """More, beyond what is tolerated; fewer; the same, where the least change is excluded; open."""
    sure = max(LEFT * change.least, 2 * change.chance)  # chance is then a third of it at most
    if change.low >= tolerate + sure:
        return "more"
    if change.high <= -sure:
        return "fewer"
    none_fewer = tolerate > 0 or change.low > -change.least
    return "same" if none_fewer and change.high < tolerate + change.least else "open"
