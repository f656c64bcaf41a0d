"""The generator's own cost from 8 to 2,000 connections of one process, on the null server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench import contenders, jobs
from bench.compare import Bench, progress
from bench.figure import Figure, Target
from bench.pairs import Contender, Sample, steady
from dbdyno.model import Address
from dbdyno.run.driver import ceiling

CONNECTIONS = (8, 64, 512, 2000)
"""The first is what the others are held against."""
USER_CPU_MAX = 1.15
CONNECTION_KIB_MAX = 64.0
NULL_SERVER_S_MAX = 3600.0
SQL, KEY_MAX = "SELECT abalance FROM pgbench_accounts WHERE aid = ", 1_000_000


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a run took."""

    user_us: float  # for each operation, connecting left out
    peak_bytes: int


def measure(bench: Bench) -> Iterator[Figure]:
    """User CPU per operation beside that at 8 connections, and memory for each connection."""
    rounds: list[dict[int, Cost]] = []
    with ceiling.null_server("postgres", NULL_SERVER_S_MAX) as address:
        for number in range(bench.pairs):
            # Up the list in one round, down in the next: neither end is always the later one.
            order = CONNECTIONS if number % 2 == 0 else CONNECTIONS[::-1]
            found = {connections: cost(bench, address, connections) for connections in order}
            shown = ", ".join(f"{n:,}: {found[n].user_us:.3f}" for n in CONNECTIONS)
            progress(f"scale {number + 1}/{bench.pairs}: user µs at {shown}")
            rounds.append(found)
    yield from figures(rounds)


def figures(rounds: Sequence[Mapping[int, Cost]]) -> Iterator[Figure]:
    """The ratios of the rounds to the first number of connections, and the largest's memory."""
    base, most = CONNECTIONS[0], CONNECTIONS[-1]
    for connections in CONNECTIONS[1:]:
        yield Figure(
            measurement="scale",
            connections=connections,
            beside=f"{base} conn.",
            what="user CPU",
            values=tuple(one[connections].user_us / one[base].user_us for one in rounds),
            target=Target(bound=USER_CPU_MAX),
        )
    grown = [one[most].peak_bytes - one[base].peak_bytes for one in rounds]
    yield Figure(
        measurement="scale",
        connections=most,
        beside=f"{base} conn.",
        what="KiB each",
        values=tuple(amount / (most - base) / 1024 for amount in grown),
        target=Target(bound=CONNECTION_KIB_MAX),
    )


def cost(bench: Bench, address: Address, connections: int) -> Cost:
    """Runs once at this number of connections."""
    peaks = []

    def run(seconds: float) -> Sample:
        job = jobs.point(address, SQL, key_max=KEY_MAX, connections=connections, seconds=seconds)
        generated = contenders.run_generator(bench.generator, job)
        peaks.append(generated.peak_bytes)
        return generated.sample

    sample = steady(Contender(name="dyno-loadgen", run=run)).run(bench.seconds)
    return Cost(user_us=sample.user_us, peak_bytes=max(peaks))
