"""What all measurements are given, and the comparison that most of them are made of."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.figure import Figure, Target, alike, at_most
from bench.pairs import BenchArm, Pair, Sample, alternate


@dataclass(frozen=True, kw_only=True)
class Bench:
    """How long and how often to measure."""

    generator: Path  # dyno-loadgen
    pairs: int
    seconds: int  # of one run
    rows: int  # of the table that is filled


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What two arms are compared in, and what is wanted."""

    measurement: str
    connections: int
    cpu_max: float | None = None  # of the other's CPU per operation
    throughput_min: float | None = None  # of the other's throughput
    server_within: float | None = None  # how far the server's CPU per operation may be off


def compare(bench: Bench, subject: Subject, ours: BenchArm, theirs: BenchArm) -> Iterator[Figure]:
    """Alternates the two; the ratios of CPU per operation, throughput and the server's CPU.

    The last is there where both arms are observed (bench.server).
    """
    figure = Figure(
        measurement=subject.measurement,
        connections=subject.connections,
        beside=theirs.name,
        what="CPU",
        target=at_most(subject.cpu_max),
        missing=theirs.missing,
    )
    if theirs.missing is not None:
        yield figure
        return

    def show(number: int, pair: Pair) -> None:
        progress(
            f"{subject.measurement} {subject.connections} {number}/{bench.pairs}: "
            f"{in_words(ours, pair.ours)}; {in_words(theirs, pair.theirs)}; "
            f"CPU {pair.cpu_ratio:.2f}, throughput {pair.throughput_ratio:.2f}"
        )

    found = alternate(ours, theirs, count=bench.pairs, seconds=bench.seconds, show=show)
    yield replace(
        figure,
        values=tuple(pair.cpu_ratio for pair in found),
        samples=tuple(
            {ours.name: pair.ours.json(), theirs.name: pair.theirs.json()} for pair in found
        ),
    )
    yield replace(
        figure,
        what="throughput",
        values=tuple(pair.throughput_ratio for pair in found),
        target=None
        if subject.throughput_min is None
        else Target(bound=subject.throughput_min, at_least=True),
    )
    served = [ratio for pair in found if (ratio := pair.server_ratio) is not None]
    if served:
        yield replace(
            figure, what="server CPU", values=tuple(served), target=alike(subject.server_within)
        )


def in_words(arm: BenchArm, sample: Sample) -> str:
    """A run of an arm for the person who watches."""
    return f"{arm.name} {sample.cpu_us:.2f} µs ({sample.user_us:.2f} user) {sample.per_s:,.0f}/s"


def progress(text: str) -> None:
    """Tells the person who watches; the table alone goes to standard output."""
    print(text, file=sys.stderr, flush=True)
