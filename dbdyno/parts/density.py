"""What is drawn of service times."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DensityPoint:
    """How many of an arm's operations take about this time."""

    arm: str
    us: float
    share: float  # of its operations, in one percent of the time
    compared: bool  # whether it lies in the mode that is compared


@dataclass(frozen=True, kw_only=True)
class Densities:
    """Service times of arms over each other."""

    points: tuple[DensityPoint, ...]
