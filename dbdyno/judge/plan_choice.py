"""Withholds a change of a prepared query for which the sessions of one arm choose different plans.

PostgreSQL chooses for each session between plans for the values of its calls and one for any. Where
their costs lie close, values that come first decide, and the mean of some sessions is a toss of
coins: its scatter is in the interval, and a change of it says nothing of the version.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from dbdyno.judge.pairing import PairedRuns
from dbdyno.judge.step_cells import StepRow

METRIC = "generic_plans"


def checked(rows: Sequence[StepRow]) -> tuple[StepRow, ...]:
    """The rows; an arm says so where it or the base is unstable."""
    return tuple(
        replace(row, faced={arm: _checked(faced, arm) for arm, faced in row.faced.items()})
        for row in rows
    )


def _checked(faced: PairedRuns, arm: str) -> PairedRuns:
    sides = {
        name: [share for run in runs if (share := run.metrics.get(METRIC)) is not None]
        for name, runs in ((arm, faced.runs), (faced.base, faced.base_runs))
    }
    if not any(shares and set(shares) not in ({0.0}, {1.0}) for shares in sides.values()):
        return faced
    known = {name: 100 * fmean(shares) for name, shares in sides.items() if shares}
    shown = ", ".join(f"{percent:.0f} % on {name}" for name, percent in known.items())
    words = "unstable: sessions differ in their plan; calls by the generic one"
    return replace(faced, unstable=f"{words}: {shown}")
