"""What a sweep over a parameter came to: curves, and where an arm peaks.

Which steps belong together is in their names, `select-only@clients=4,rate=500`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.model.ratio import Ratio

CLIENTS = "clients"
"""The parameter over which an arm peaks."""
P99 = "response_p99_us"
"""The metric of the latencies that a sweep shows."""


@dataclass(frozen=True, kw_only=True)
class SweepPoint:
    """One arm at one value of the parameter that is swept."""

    arm: str
    value: float  # of the parameter
    figures: Mapping[str, Ratio]  # by metric: geometric mean over blocks, with its 95 % t interval


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Where an arm's throughput is greatest over the clients, and what is left with the most.

    Each block that has the whole sweep has a peak of its own.
    """

    arm: str
    clients: int  # of the block in the middle
    fewest: int  # of the blocks' peaks
    most: int
    blocks: int
    throughput: Ratio | None  # the greatest of each block
    drop: Ratio | None  # throughput with the most clients by the greatest, at most 1
    by_base: Ratio | None  # the greatest by the base's
    drop_by_base: Ratio | None
    stood_still: int  # further blocks without a drop: no operation ended with the most clients
    limited: tuple[int, ...]  # numbers of clients with which the load generator was at its limit


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The steps of a sweep over one parameter that are otherwise the same."""

    workload: str
    title: str  # the step's name without this parameter: "select-only", "select-only@rate=500"
    parameter: str
    headline: str
    steps: Mapping[float, str]  # the steps' names by value, the smallest first
    points: tuple[SweepPoint, ...]
    paced: bool  # whether the load set the rate, so that there is no peak
    peaks: tuple[Peak, ...] = ()  # over clients that work as fast as they can, the base first


def named(base: str, values: Mapping[str, object]) -> str:
    """What a step, or a workload, is called that has these values: `point-query@clients=4,rate=0`.

    Its plain name where there are none; `parted` takes it apart.
    """
    settings = ",".join(f"{key}={value}" for key, value in values.items())
    return f"{base}@{settings}" if settings else base


def parted(name: str) -> tuple[str, dict[str, str]]:
    """What a step, or a workload, is called without what is swept, and the values by parameter."""
    base, _, settings = name.partition("@")
    parts = [part.split("=", 1) for part in settings.split(",") if "=" in part]
    return base, {part[0]: part[1] for part in parts}


def values(name: str) -> dict[str, tuple[float, str]]:
    """By parameter the number in a step's name, and the name without it; of no sweep none."""
    base, settings = parted(name)
    numbers: dict[str, tuple[float, str]] = {}
    for key, text in settings.items():
        others = {other: value for other, value in settings.items() if other != key}
        try:
            numbers[key] = float(text), named(base, others)
        except ValueError:
            continue
    return numbers
