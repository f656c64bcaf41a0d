"""How long operations of a step were served, from the fastest on: what is kept of histograms."""

from dataclasses import dataclass
from typing import NamedTuple

from dbdyno.model.facts import Facts

LEVELS: tuple[float, ...] = (
    0.001, 0.002, 0.005, *(percent / 100 for percent in range(1, 100)), 0.995, 0.999,
)  # fmt: skip
"""The shares of operations whose times a profile has."""


class Mode(NamedTuple):
    """Service times that belong together, in microseconds."""

    from_us: float
    to_us: float


@dataclass(frozen=True, kw_only=True)
class ServiceProfile:
    """The service times of one operation in a window, as quantiles."""

    operation: str
    count: int
    cell_us: float  # how far apart the recorder tells times, at the fastest
    times_us: tuple[float, ...]  # at LEVELS; within a cell as if its operations were spread evenly


@dataclass(frozen=True, kw_only=True)
class ServiceProfiles(Facts):
    """The profiles of what a step's headline counts, and what was at work together."""

    profiles: tuple[ServiceProfile, ...] = ()
    waiting: bool = False  # whether operations wait for a schedule, or clients think between them
    connections: int = 0  # of all roles
    processors: int | None = None  # of the host; None: not known
