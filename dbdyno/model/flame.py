"""A flame graph as data, and what draws it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dbdyno.model.profile import Stack


@dataclass(frozen=True, kw_only=True)
class FlameGraph:
    """The cost of each call stack in two arms: one's width, coloured by the change since the other.

    Costs are whole numbers of `unit`, as drawers of flame graphs count samples.
    """

    title: str
    subtitle: str
    unit: str  # "ns per query"
    costs: Mapping[Stack, tuple[int, int]]  # of the base and of the arm, whose width it is


Draw = Callable[[FlameGraph], str]
"""Draws a flame graph as SVG. Raises DynoError in one line where it cannot."""
