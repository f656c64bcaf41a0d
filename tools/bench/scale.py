"""The generator's own cost from 8 to 2,000 connections of one process, on the null server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import contenders, jobs, null
from bench.compare import Bench, progress
from bench.figure import Figure, Target
from dbdyno.model import Address

CONNECTIONS = (8, 64, 512, 2000)
"""The first is what the others are held against."""
BRIEF_S = 0.1
"""A run that is nearly all connecting, whose CPU is taken off that of the long one."""
USER_CPU_MAX = 1.15
CONNECTION_KIB_MAX = 64.0
SQL, KEY_MAX = "SELECT abalance FROM pgbench_accounts WHERE aid = ", 1_000_000


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a run took."""

    user_us: float  # for each operation, connecting left out
    peak_bytes: int


def measure(bench: Bench) -> Iterator[Figure]:
    """User CPU per operation beside that at 8 connections, and memory for each connection."""
    rounds: list[dict[int, Cost]] = []
    with null.listening(bench.generator) as address:
        for number in range(bench.pairs):
            # Up the list in one round, down in the next: neither end is always the later one.
            order = CONNECTIONS if number % 2 == 0 else CONNECTIONS[::-1]
            found = {n: cost(bench.generator, address, n, bench.seconds) for n in order}
            shown = ", ".join(f"{n:,}: {found[n].user_us:.3f}" for n in CONNECTIONS)
            progress(f"scale {number + 1}/{bench.pairs}: user µs at {shown}")
            rounds.append(found)
    base = CONNECTIONS[0]
    for connections in CONNECTIONS[1:]:
        yield Figure(
            measurement="scale",
            connections=connections,
            beside=f"{base} conn.",
            what="user CPU",
            values=tuple(one[connections].user_us / one[base].user_us for one in rounds),
            target=Target(bound=USER_CPU_MAX),
        )
    most = CONNECTIONS[-1]
    yield Figure(
        measurement="scale",
        connections=most,
        beside=f"{base} conn.",
        what="KiB each",
        values=tuple(
            (one[most].peak_bytes - one[base].peak_bytes) / (most - base) / 1024 for one in rounds
        ),
        target=Target(bound=CONNECTION_KIB_MAX),
    )


def cost(generator: Path, address: Address, connections: int, seconds: int) -> Cost:
    """The cost of a run, its user CPU from the difference of a long one and a brief one."""

    def run(lasting_s: float) -> contenders.Generated:
        job = jobs.point(address, SQL, key_max=KEY_MAX, connections=connections, seconds=lasting_s)
        return contenders.run_generator(generator, job)

    brief, long = run(BRIEF_S), run(BRIEF_S + seconds)
    operations = long.sample.operations - brief.sample.operations
    user_s = long.sample.user_s - brief.sample.user_s
    return Cost(user_us=user_s / operations * 1e6, peak_bytes=long.peak_bytes)
