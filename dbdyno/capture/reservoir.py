"""Keeps values of some calls of a query, drawn evenly from all of them by a seed."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random

SAMPLES_MAX = 1000
Values = tuple[str, ...]


@dataclass
class Reservoir:
    """Whole tuples of values, each of a call that was made.

    Up to SAMPLES_MAX different tuples all are kept with their numbers of calls; with more of them
    SAMPLES_MAX calls are, evenly drawn (Vitter's algorithm R).
    """

    seed: str
    seen: int = 0
    counts: Counter[Values] | None = field(default_factory=Counter)
    drawn: list[Values] = field(default_factory=list)
    random: Random = field(default_factory=Random)

    def add(self, values: Values) -> None:
        """One more call."""
        self.seen += 1
        if self.counts is None:
            place = int(self.random.random() * self.seen)
            if place < SAMPLES_MAX:
                self.drawn[place] = values
            return
        self.counts[values] += 1
        if len(self.counts) > SAMPLES_MAX:
            self.random = Random(self.seed)
            tuples = list(self.counts)
            self.drawn = self.random.sample(
                tuples, SAMPLES_MAX, counts=[self.counts[values] for values in tuples]
            )
            self.counts = None

    def kept(self) -> Counter[Values]:
        """The tuples and the calls that each stands for."""
        return Counter(self.drawn) if self.counts is None else self.counts
