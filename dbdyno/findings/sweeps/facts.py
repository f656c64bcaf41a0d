"""What a sweep over a parameter came to: curves, and where an arm peaks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from dbdyno.model.facts import Facts, says
from dbdyno.model.ratio import Ratio


@dataclass(frozen=True, kw_only=True)
class SweptValue:
    """A parameter's value of a step."""

    workload: Annotated[str, says("the workload's name, with its load's values: pgbench@scale=10")]
    ordinal: Annotated[int, says("the step's place in its workload, from 1")]
    step: Annotated[str, says("the step's name, with its values: select-only@clients=4")]
    sweep: Annotated[str, says("the step's name without them: select-only")]
    parameter: Annotated[str, says("the parameter's name")]
    parameter_value: Annotated[
        float | None, says("its value; null if it is a text", "by parameter")
    ]
    parameter_text: Annotated[str, says("its value as in the name")]


@dataclass(frozen=True, kw_only=True)
class SweepPoint:
    """One arm at one value of the parameter that is swept."""

    arm: str
    value: float  # of the parameter
    figures: Mapping[str, Ratio]  # by metric: geometric mean over blocks, with its 95 % t interval


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Where an arm's throughput is greatest over the clients, and what is left with the most."""

    workload: Annotated[str, says("the workload's name")]
    sweep: Annotated[str, says("the step's name without its clients")]
    base: Annotated[str, says("the arm to compare with")]
    arm: Annotated[str, says("the arm's name")]
    blocks: Annotated[int, says("blocks that have the whole sweep")]
    clients: Annotated[int, says("clients at the peak, median of the blocks")]
    fewest: Annotated[int, says("the fewest of the blocks")]
    most: Annotated[int, says("the most of the blocks")]
    peak: Annotated[Ratio | None, says("the greatest throughput, geometric mean", "1/s")]
    ratio: Annotated[Ratio | None, says("geometric mean of the blocks' ratios, arm by base")]
    drop_factor: Annotated[
        Ratio | None, says("throughput with the most clients, relative to the peak")
    ]
    drop_ratio: Annotated[
        Ratio | None, says("geometric mean of the blocks' ratios of drops, arm by base")
    ]
    stood_still: Annotated[int, says("blocks without a drop: nothing ended with the most clients")]
    limited: Annotated[bool, says("whether the load generator was ever at its limit")]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The steps of a sweep over one parameter that are otherwise the same."""

    workload: str
    title: str  # the step's name without this parameter: "select-only", "select-only@rate=500"
    parameter: str
    headline: str
    points: tuple[SweepPoint, ...]
    paced: bool  # whether the load set the rate, so that there is no peak


@dataclass(frozen=True, kw_only=True)
class SweepFacts(Facts):
    """The sweeps of a result."""

    swept: Annotated[
        tuple[SweptValue, ...],
        says(
            "a parameter value of a step in a sweep, or of a workload's load; NATURAL JOIN with "
            "`steps` gives each step one row per parameter"
        ),
    ] = ()
    peaks: Annotated[
        tuple[Peak, ...],
        says(
            "an arm's peak throughput over the clients of a sweep that work as fast as they can, "
            "and the rest with the most clients; each block has its own peak (docs/method.md)"
        ),
    ] = ()
    sweeps: tuple[Sweep, ...] = ()  # of two values at least, in the order of their steps

    def of(self, workloads: set[str]) -> tuple[Sweep, ...]:
        """The sweeps of these workloads."""
        return tuple(sweep for sweep in self.sweeps if sweep.workload in workloads)

    def peaks_of(self, sweep: Sweep) -> tuple[Peak, ...]:
        """The peaks of a sweep, the base's first."""
        key = (sweep.workload, sweep.title)
        of_clients = self.peaks if sweep.parameter == "clients" else ()
        return tuple(peak for peak in of_clients if (peak.workload, peak.sweep) == key)
