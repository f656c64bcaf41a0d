"""A budget of noise: what part of a step's scatter comes from where, and what would lessen it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Source = Literal["second", "turn", "start", "hour"]
"""Where scatter arises: from second to second of a window (or of a turn), from turn to turn, from
one server start to the next, from one comparison to the next."""

Way = Literal["blocks", "seconds", "shorter turns", "longer turns", "placement"]
"""The ways to spend the same minutes; for placement only the best case."""

WORTH_MAX = 0.97
"""A way that leaves more of the error than this buys nothing."""


@dataclass(frozen=True, kw_only=True)
class Component:
    """One source's standard deviation of log ratios, of a second, a turn, a start, a comparison."""

    source: Source
    sd: float | None  # None: not seen, as what lies below it explains all scatter
    low: float | None  # 95 % interval; None: the numbers give none
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Prospect:
    """The standard error of a comparison's mean if its minutes were spent in another way."""

    way: Way
    error: float  # of log ratios
    blocks: float
    seconds: float  # of a step, for each arm
    turn_s: float | None  # None: arms did not take turns


@dataclass(frozen=True, kw_only=True)
class NoiseBudget:
    """Where the scatter of one metric of a step comes from, and what would lessen it."""

    workload: str
    step: str
    metric: str
    blocks: float  # of a comparison, as it was measured
    seconds: float  # of the step, for each arm
    turns: float | None  # of each arm in a block; None: arms did not take turns
    components: tuple[Component, ...]  # those that could be looked for, the innermost first
    error: float  # predicted standard error of a comparison's mean, as it was measured
    prospects: tuple[Prospect, ...]  # those that can be foretold
    best_seconds: float | None  # of the step, at which such an error takes least time; None: open

    def left(self, way: Way) -> float | None:
        """The share of the error that would remain; None without a prediction."""
        error = next((prospect.error for prospect in self.prospects if prospect.way == way), None)
        return error / self.error if error is not None and self.error > 0 else None


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """The advice of an earlier result of this host on the length of steps and turns."""

    folder: str
    budgets: tuple[NoiseBudget, ...]


def left_of(budgets: Sequence[NoiseBudget], way: Way) -> float | None:
    """The remaining share of the error over several metrics and steps: the geometric mean."""
    known = [left for budget in budgets if (left := budget.left(way))]
    return math.exp(math.fsum(map(math.log, known)) / len(known)) if known else None
