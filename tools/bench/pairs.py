"""Two arms in turn, and what came out: pairs, ratios within pairs, their median and spread.

A host drifts from minute to minute, so only runs directly after each other are held against each
other, and neither is always the first.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from dbdyno.model import Json

Load = TypeVar("Load")
Took = TypeVar("Took")

WARM_UP_S = 1
BRIEF_S = 0.1
"""Of a run that is nearly all connecting, where that is taken off."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One run of an arm: what it did, and the CPU that it took itself."""

    operations: int
    user_s: float
    system_s: float
    per_s: float  # the throughput that it reports, without connecting
    server_s: float | None = None  # CPU of the server's sessions; None: not observed

    @property
    def cpu_us(self) -> float:
        """CPU per operation, user and system."""
        return (self.user_s + self.system_s) / self.operations * 1e6

    @property
    def user_us(self) -> float:
        """User CPU per operation."""
        return self.user_s / self.operations * 1e6

    @property
    def server_us(self) -> float | None:
        """CPU of the server's sessions per operation."""
        return None if self.server_s is None else self.server_s / self.operations * 1e6

    def json(self) -> Json:
        """The run with what follows from it, for the file of figures."""
        names = ("cpu_us", "user_us", "server_us")
        found = asdict(self) | {name: getattr(self, name) for name in names}
        return {key: round(value, 3) for key, value in found.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class BenchArm:
    """A client that can be measured: `run` runs it once for so many seconds."""

    name: str
    run: Callable[[float], Sample]
    missing: str | None = None  # why it cannot be run here, and the remedy


def after(preparation: Callable[[], None], arm: BenchArm) -> BenchArm:
    """The arm, with something done before each of its runs that is not measured."""

    def run(seconds: float) -> Sample:
        preparation()
        return arm.run(seconds)

    return replace(arm, run=run)


def steady(arm: BenchArm) -> BenchArm:
    """The arm without its connecting: each run is a long one less a brief one."""

    def run(seconds: float) -> Sample:
        brief, long = arm.run(BRIEF_S), arm.run(seconds + BRIEF_S)
        served = None not in (long.server_s, brief.server_s)
        return Sample(
            operations=long.operations - brief.operations,
            user_s=long.user_s - brief.user_s,
            system_s=long.system_s - brief.system_s,
            per_s=long.per_s,
            server_s=(long.server_s or 0) - (brief.server_s or 0) if served else None,
        )

    return replace(arm, run=run)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A run of the generator and one of the other, directly after each other."""

    ours: Sample
    theirs: Sample

    @property
    def cpu_ratio(self) -> float:
        """The generator's CPU per operation, the other's being 1."""
        return self.ours.cpu_us / self.theirs.cpu_us

    @property
    def throughput_ratio(self) -> float:
        """The generator's throughput, the other's being 1."""
        return self.ours.per_s / self.theirs.per_s

    @property
    def server_ratio(self) -> float | None:
        """The CPU per operation that the server takes for the generator, for the other being 1."""
        ours, theirs = self.ours.server_us, self.theirs.server_us
        return None if ours is None or theirs is None else ours / theirs


def alternate(
    ours: BenchArm, theirs: BenchArm, *, count: int, seconds: int, show: Callable[[int, Pair], None]
) -> list[Pair]:
    """`count` pairs, after one short run of each that is thrown away; who is first alternates.

    `show` gets each pair with its number, from 1.
    """
    for arm in (ours, theirs):
        arm.run(WARM_UP_S)
    pairs = []
    for number in range(1, count + 1):
        if number % 2:
            first, second = ours.run(seconds), theirs.run(seconds)
            pair = Pair(ours=first, theirs=second)
        else:
            first, second = theirs.run(seconds), ours.run(seconds)
            pair = Pair(ours=second, theirs=first)
        show(number, pair)
        pairs.append(pair)
    return pairs


def alternating(
    loads: Mapping[str, Load], count: int, timed: Callable[[Load], Took]
) -> Iterator[dict[str, Took]]:
    """What each of two loads took, `count` times in turn after one of each that is thrown away."""
    for number in range(count + 1):
        names = sorted(loads, reverse=number % 2 == 1)
        took = {name: timed(loads[name]) for name in names}
        if number:
            yield took


def spread(values: Sequence[float], digits: int) -> str:
    """`median (minimum to maximum)`; of one value nothing but itself."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
