"""What is drawn of a history: figures of many results, and the change points between them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A figure of an arm in one result."""

    arm: str
    x: float  # milliseconds of Unix time, or a place in their order
    y: float
    low: float  # of its blocks
    high: float
    shown: Mapping[str, str]  # on hover, by name


@dataclass(frozen=True, kw_only=True)
class PlateauLine:
    """The mean of dots among which there is no change point."""

    arm: str | None  # whose they are; None: of several
    x: float
    x2: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Plateaus:
    """A figure over many results in their order, its plateaus, and the change points between."""

    marks: Mapping[float, str]  # names along x by place; none: x is time
    scale: float  # what figures are multiplied by to be in the title's unit
    dots: tuple[Dot, ...]
    plateaus: tuple[PlateauLine, ...]
    changes: tuple[float, ...]  # where they lie, between two dots
