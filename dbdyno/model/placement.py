"""Where clients and the sessions that serve them run, and the trial that chose it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SessionPlacement = Literal["together", "apart", "free"]
"""Where a client and the session that serves it run: on one processor, clients and servers on
processors of their own, or both as the kernel likes."""
STEADIER = 0.8
"""Together is chosen where it leaves at most this share of the scatter that there is freely."""
CLEAR = 2.0
"""So many times as far from that share as need be, a scatter of few windows decides."""


@dataclass(frozen=True, kw_only=True)
class PlacedCost:
    """The cost of an operation as it is placed, and how much equal windows differ."""

    us: float  # of a client's time for an operation
    cpu_us: float  # of the server's sessions for it
    scatter: float  # the standard deviation of log ratios of two windows that follow each other

    @property
    def scatter_us(self) -> float:
        """The scatter in microseconds of an operation, in which a change of the server stands."""
        return self.scatter * self.us


@dataclass(frozen=True, kw_only=True)
class PlacementTrial:
    """Windows of one server's step with sessions beside their clients, and as the kernel likes."""

    step: str
    together: PlacedCost
    free: PlacedCost

    @property
    def choice(self) -> SessionPlacement:
        """The placement that shows a change of the server sooner."""
        steadier = self.together.scatter_us <= STEADIER * self.free.scatter_us
        return "together" if steadier else "free"

    @property
    def is_clear(self) -> bool:
        """Whether further windows would hardly change the choice."""
        together_us, edge_us = self.together.scatter_us, STEADIER * self.free.scatter_us
        return together_us * CLEAR <= edge_us or together_us >= CLEAR * edge_us

    def wake_us(self, *, cpu: bool) -> float:
        """The time, or the server's CPU, that an operation takes more where it is placed freely."""
        free, together = self.free, self.together
        return max(0.0, free.cpu_us - together.cpu_us if cpu else free.us - together.us)

    @property
    def why(self) -> str:
        """The reason for the choice, in words."""
        together, free = (
            f"{100 * cost.scatter:.1f} % of {cost.us:.1f} µs" for cost in (self.together, self.free)
        )
        first, other = (together, free) if self.choice == "together" else (free, together)
        return f"chosen by a trial of {self.step}: scatter {first} against {other}"


def freely(ratio: float, *, cost_us: float, wake_us: float) -> float:
    """The ratio of two arms' costs of an operation as it would be if they were placed freely.

    `ratio`: the arm's cost by the base's with sessions beside their clients; `cost_us`: the base's;
    `wake_us`: what both cost more where sessions and clients wake each other on other processors.
    Operations of several statements are woken for each, so their true ratio is nearer to 1.
    """
    return (cost_us * ratio + wake_us) / (cost_us + wake_us)
