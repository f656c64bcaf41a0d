"""Compares estimates of an operation's time on results whose arms are equal: docs/method.md.

    python tools/undisturbed_trials.py RESULT...

For each estimate the standard deviation of log ratios between blocks, in percent, of each arm that
is not named `p…` (a plant) beside the base: the root of the mean of squares over its steps. Odd
blocks and even blocks stand apart, so that an estimate is chosen by the one and shown by the other.
"""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

from dbdyno.analysis import compare
from dbdyno.judge.pairing import facing
from dbdyno.model import StepComparison, StepRun
from dbdyno.model.metric.primary import UNDISTURBED
from dbdyno.model.service_profile import LEVELS, ServiceProfile, ServiceProfiles

Estimate = Callable[[StepRun], float | None]


def of_profile(estimate: Callable[[ServiceProfile], float]) -> Estimate:
    """An estimate of the first operation of a step."""

    def of_run(run: StepRun) -> float | None:
        profiles = run.of(ServiceProfiles).profiles
        return estimate(profiles[0]) if profiles else None

    return of_run


def quantile(share: float) -> Estimate:
    """A quantile of all operations."""
    return of_profile(lambda profile: float(np.interp(share, LEVELS, profile.times_us)))


def fastest(share: float) -> Estimate:
    """The mean of the fastest operations."""
    shares = np.linspace(0.0, share, 33)
    return of_profile(lambda profile: float(np.interp(shares, LEVELS, profile.times_us).mean()))


ESTIMATES: Mapping[str, Estimate] = {
    "throughput": lambda run: run.metrics.get(run.facts.headline or ""),
    "median": quantile(0.5),
    "quantile of 10 %": quantile(0.1),
    "quantile of 1 %": quantile(0.01),
    "quantile of 0.1 %": quantile(0.001),
    "mean of the fastest 25 %": fastest(0.25),
    "faster half of the mode": lambda run: run.metrics.get(UNDISTURBED),
}


def logs(steps: Sequence[StepComparison], estimate: Estimate, odd: bool) -> Iterator[list[float]]:
    """The log ratios of the blocks of each step and arm."""
    for step in steps:
        base, *others = step.cells
        for cell in others:
            if cell.arm.startswith("p") or not step.measured:
                continue
            pairs = facing(cell.runs, base.runs)
            both = (
                (estimate(own), estimate(bases[0]))
                for own, bases in zip(pairs.runs, pairs.bases, strict=True)
                if bases and own.block % 2 == odd
            )
            yield [math.log(own / other) for own, other in both if own and other]


def scatter(steps: Sequence[StepComparison], estimate: Estimate, *, odd: bool) -> str:
    """In percent, as the table has it."""
    sds = [stdev(of) for of in logs(steps, estimate, odd) if len(of) > 1]
    return f"{100 * math.sqrt(fmean(sd**2 for sd in sds)):.1f}" if sds else ""


def main(folders: Sequence[str]) -> None:
    """Prints the table, a row for each estimate."""
    results = {Path(folder).name: compare.load(Path(folder)).steps for folder in folders}
    print("| estimate | " + " | ".join(results) + " |")
    print("|---|" + "--:|" * len(results))
    for name, estimate in ESTIMATES.items():
        cells = (
            " / ".join(scatter(steps, estimate, odd=odd) for odd in (True, False))
            for steps in results.values()
        )
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
