"""The generator's own cost from 8 to 2,000 connections of one process, on the null server.

Once as fast as they can; once each connection a client with a rate of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bench import arms, jobs
from bench.compare import Bench, progress
from bench.figure import Figure, Target
from dbdyno.model import Address, Json
from dbdyno.run.driver import ceiling

CONNECTIONS = (8, 64, 512, 2000)
"""The first is what the others are held against."""
CPU_MAX = 1.15
PACED_PER_S = 10_000
"""Of all clients together, so that the same is done by few and by many."""
CONNECTION_KIB_MAX = 64.0
NULL_SERVER_S_MAX = 3600.0
SQL, KEY_MAX = "SELECT abalance FROM pgbench_accounts WHERE aid = ", 1_000_000


MakeJob = Callable[[int, float], Json]
"""A job by connections and seconds."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a run took."""

    cpu_us: float  # of the thread with the connections, for each operation
    peak_bytes: int


def measure(bench: Bench) -> Iterator[Figure]:
    """CPU per operation beside that at 8 connections, and memory for each connection."""
    with ceiling.null_server("postgres", NULL_SERVER_S_MAX) as address:
        closed = rounds(bench, "scale", partial(closed_job, address))
        paced = rounds(bench, "paced", partial(paced_job, address))
    yield from ratios("scale", closed)
    yield memory(closed)
    yield from ratios("paced", paced)


def rounds(bench: Bench, name: str, job: MakeJob) -> list[dict[int, Cost]]:
    """What each number of connections takes, in each round."""
    found = []
    for number in range(bench.pairs):
        # Up the list in one round, down in the next: neither end is always the later one.
        order = CONNECTIONS if number % 2 == 0 else CONNECTIONS[::-1]
        costs = {connections: cost(bench, partial(job, connections)) for connections in order}
        shown = ", ".join(f"{n:,}: {costs[n].cpu_us:.3f}" for n in CONNECTIONS)
        progress(f"{name} {number + 1}/{bench.pairs}: CPU µs at {shown}")
        found.append(costs)
    return found


def closed_job(address: Address, connections: int, seconds: float) -> Json:
    """The point query, one after the other on each connection."""
    return jobs.point(address, SQL, key_max=KEY_MAX, connections=connections, seconds=seconds)


def paced_job(address: Address, clients: int, seconds: float) -> Json:
    """The same by clients of one connection, each at its part of a common rate."""
    job = closed_job(address, 1, seconds)
    (role,) = job["roles"]
    pace = {"kind": "rate", "arrivals": "poisson", "per_s": PACED_PER_S / clients}
    return job | {"clients": clients, "roles": [role | {"per": "client", "pace": pace}]}


def ratios(name: str, rounds: Sequence[Mapping[int, Cost]]) -> Iterator[Figure]:
    """The ratios of the rounds to the first number of connections."""
    base = CONNECTIONS[0]
    for connections in CONNECTIONS[1:]:
        yield Figure(
            measurement=name,
            connections=connections,
            beside=f"{base} conn.",
            what="CPU",
            values=tuple(one[connections].cpu_us / one[base].cpu_us for one in rounds),
            target=Target(bound=CPU_MAX),
        )


def memory(rounds: Sequence[Mapping[int, Cost]]) -> Figure:
    """What each further connection takes of memory, by the largest number."""
    base, most = CONNECTIONS[0], CONNECTIONS[-1]
    grown = [one[most].peak_bytes - one[base].peak_bytes for one in rounds]
    return Figure(
        measurement="scale",
        connections=most,
        beside=f"{base} conn.",
        what="KiB each",
        values=tuple(amount / (most - base) / 1024 for amount in grown),
        target=Target(bound=CONNECTION_KIB_MAX),
    )


def cost(bench: Bench, job: Callable[[float], Json]) -> Cost:
    """Runs a job once; `job` makes it for so many seconds.

    The CPU is the thread's own while it makes load. The process's CPU would include connecting,
    which can outweigh the operations of a second.
    """
    generated = arms.run_generator(bench.generator, job(bench.seconds))
    return Cost(
        cpu_us=generated.thread_us / generated.sample.operations, peak_bytes=generated.peak_bytes
    )
