"""Withholds a change of a prepared query for which the sessions of one arm choose different plans.

PostgreSQL chooses for each session between plans for the values of its calls and one for any. Where
their costs lie close, values that come first decide, and the mean of some sessions is a toss of
coins: its scatter is in the interval, and a change of it says nothing of the version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from dbdyno.analysis.compare.pairing import Facing
from dbdyno.analysis.compare.step_cells import Row
from dbdyno.model import StepRun

METRIC = "generic_plans"


def told(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows; an arm says so where it or the base is unstable."""
    return tuple(
        replace(row, faced={arm: _told(faced, arm) for arm, faced in row.faced.items()})
        for row in rows
    )


def _told(faced: Facing, arm: str) -> Facing:
    own, base = (_shares(runs) for runs in (faced.runs, faced.base_runs))
    if not (_unstable(own) or _unstable(base)):
        return faced
    sides = [(arm, own), (faced.base, base)]
    said = ", ".join(f"{100 * fmean(shares):.0f} % on {name}" for name, shares in sides if shares)
    return replace(
        faced, unstable=f"unstable: sessions differ in their plan; calls by the generic one: {said}"
    )


def _shares(runs: Sequence[StepRun]) -> list[float]:
    return [share for run in runs if (share := run.metrics.get(METRIC)) is not None]


def _unstable(shares: Sequence[float]) -> bool:
    return bool(shares) and not max(shares) == min(shares) in (0.0, 1.0)
