"""A point query at 64 connections on one thread, by epoll and by io_uring, on one server.

Both ways ask the same server for the same, so what they tell of it should agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench import arms, jobs, server
from bench.point import ACCOUNT, SCALE
from dbdyno.host import program
from dbdyno.model import Address, Json
from dbdyno.stats.response_times import Histogram
from trials.trial import Column, Figures, Measure, Side, Trial

WAYS = ("epoll", "io_uring")
CONNECTIONS, SECONDS, WARM_UP_S = 64, 10, 2
OVERTIME_S_MAX = 120


@contextmanager
def opened() -> Iterator[Mapping[str, Measure]]:
    """One server with pgbench's tables, for both ways, whose buffers have been read once."""
    with server.running() as running:
        server.make_accounts(running, SCALE)
        address = server.address_of(running)
        generated(program.find("dyno-loadgen"), job(address, WAYS[0], WARM_UP_S))
        yield {way: partial(measure, address, way) for way in WAYS}


def job(address: Address, way: str, seconds: float) -> Json:
    """The point query, by one way to wait."""
    return jobs.point(
        address, ACCOUNT.sql, key_max=ACCOUNT.rows, connections=CONNECTIONS, seconds=seconds
    ) | {"wait": way}


def measure(address: Address, way: str, side: Side) -> Figures:
    """A run of the generator; raises DynoError where it does not end well."""
    return figures(generated(side.generator, job(address, way, SECONDS)))


def generated(generator: Path, its: Json) -> list[Json]:
    """The ticks of a job that count."""
    _, events = arms.generate(generator, its, its["stop"]["seconds"] + OVERTIME_S_MAX)
    return [event for event in events if event["event"] == "tick" and event["measured"]]


def figures(ticks: Sequence[Json]) -> Figures:
    """Percentiles of all seconds merged, in microseconds, and operations a second."""
    parts = [part for tick in ticks for part in tick["operations"].values()]
    queue, lag, service, response = Histogram.of_each(
        [[tick[key] for tick in ticks if tick.get(key)] for key in ("queue", "lag")]
        + [[part[key] for part in parts if part.get(key)] for key in ("service", "response")]
    )
    own = service if service.count else response
    count = sum(part["count"] for part in parts)
    return {
        "queue_p50": queue.percentile_us(0.5),
        "queue_p90": queue.percentile_us(0.9),
        "queue_p99": queue.percentile_us(0.99),
        "service_p50": own.percentile_us(0.5),
        "lag_p99": lag.percentile_us(0.99),
        "per_s": count / sum(tick["active_ns"] for tick in ticks) * 1e9,
    }


TRIAL = Trial(
    name="queue",
    question=f"what do epoll and io_uring tell of one server at {CONNECTIONS} connections?",
    rounds=7,
    minutes=4,
    rows=WAYS,
    columns=(
        Column(figure="queue_p50", heading="queue p50, µs", digits=0, ratio=True),
        Column(figure="queue_p90", heading="queue p90, µs", digits=0, ratio=True),
        Column(figure="queue_p99", heading="queue p99, µs", digits=0, ratio=True),
        Column(figure="service_p50", heading="service p50, µs", digits=0, ratio=True),
        Column(figure="lag_p99", heading="lag p99, µs", digits=0, ratio=True),
        Column(figure="per_s", heading="operations/s", digits=0, ratio=True),
    ),
    opened=opened,
)
