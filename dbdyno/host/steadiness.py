"""Times fixed work on this host: if the times scatter, the sides of a race take turns."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, pstdev

from dbdyno.host.observe import canary

READINGS = 6
"""Of about 0.3 s each."""


def scatter(directory: Path, loadgen: Path, readings: int = READINGS) -> float:
    """The relative standard deviation of the canary's work on a processor: 0.01 is one percent.

    Raises what `canary.run` does.
    """
    return spread([canary.run(directory, loadgen).cpu_us for _ in range(readings)])


def spread(values: list[float]) -> float:
    """The standard deviation of values as a share of their mean."""
    return pstdev(values) / fmean(values)
