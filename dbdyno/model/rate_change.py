"""Changes of a rate's plateau within a step, and what else changed in the same seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SHARP_S_MAX = 10.0
"""A change whose place is known no better than this is tied to no second."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """A checkpoint or a run of autovacuum that began or ended in those seconds."""

    kind: str  # as of its Span: "checkpoint", "autovacuum"
    edge: Literal["began", "ended"]
    label: str  # the Span's

    @property
    def what(self) -> str:
        """`checkpoint began`: by which events are counted."""
        return f"{self.kind} {self.edge}"


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A value of each second whose own plateau changed in those seconds."""

    name: str  # dbdyno.analysis.step.second_values
    before: float  # the means of half a minute at most
    after: float


@dataclass(frozen=True, kw_only=True)
class RateChange:
    """A change of plateau of what the headline counts; times are of active time in the window."""

    at_s: float
    first_s: float  # it lies between these with 95 %
    last_s: float
    before: float  # the plateaus, by second
    after: float
    events: tuple[Event, ...] = ()  # in their order
    # By `what` of an event: the share of the window in which the change would have met one.
    by_chance: Mapping[str, float] = field(default_factory=dict)
    moved: tuple[Moved, ...] = ()  # the surest first

    @property
    def sharp(self) -> bool:
        """Whether its place is known well enough to ask what else changed there."""
        return self.last_s - self.first_s <= SHARP_S_MAX
