"""How well the load generator holds a rate: on its own null server, from 1 to 100,000 a second."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench import arms, jobs
from bench.compare import Bench
from bench.figure import Figure, Target
from bench.process import ProgramFailed
from dbdyno.model import Address, Json
from dbdyno.run.driver import ceiling
from dbdyno.stats.response_times import Histogram

RATES_PER_S = (1, 10, 100, 1_000, 10_000, 100_000)
CONNECTIONS = 32
SECONDS = 10.0
OFF_PERCENT_MAX = 0.1
LAG_US_P99_MAX = 500.0
WARMUP_S = 1.0
LIMIT_S = 60.0
"""A run that lasts so much longer than asked for hangs."""
NULL_SERVER_S_MAX = 3600.0
ROLE = "select"


def measure(bench: Bench) -> Iterator[Figure]:
    """How well rates are held on the null server, and how late the generator is itself."""
    for rate in measure_rates(bench.generator):
        figure = Figure(
            measurement="pace",
            connections=rate["connections"],
            beside=f"{rate['per_s']:,}/s",
            what="% off",
            values=(abs(rate["achieved_ratio"] - 1) * 100,),
            digits=3,
            target=Target(bound=OFF_PERCENT_MAX),
            detail=rate,
        )
        yield figure
        yield replace(
            figure,
            what="lag p99 µs",
            values=(rate["lag_us_p99"],),
            digits=0,
            target=Target(bound=LAG_US_P99_MAX),
            detail=None,
        )


def measure_rates(generator: Path) -> list[Json]:
    """Runs each rate against the null server; one dictionary each."""
    with ceiling.null_server("postgres", NULL_SERVER_S_MAX) as address:
        return [measure_rate(generator, address, rate, SECONDS) for rate in RATES_PER_S]


def measure_rate(generator: Path, address: Address, per_s: float, seconds: float) -> Json:
    """Runs one rate; what was achieved, and how late the generator was itself.

    Raises ProgramFailed where the step did not end well.
    """
    limit_s = seconds + WARMUP_S + LIMIT_S
    _, events = arms.generate(generator, job(address, per_s, seconds), limit_s)
    return figures(events, per_s, seconds)


def job(address: Address, per_s: float, seconds: float) -> Json:
    """One role of many connections that selects a number at a rate, even arrivals."""
    pace = {"kind": "rate", "arrivals": "even", "per_s": float(per_s)}
    return jobs.whole(address, "pace", seconds) | {
        "statements": [jobs.statement(ROLE, ["SELECT 1"])],
        "programs": [{"name": ROLE, "code": [["send", 0]]}],
        "roles": [jobs.role(ROLE, "step", CONNECTIONS) | {"pace": pace}],
        "stop": {"roles": [], "seconds": seconds, "warmup_s": WARMUP_S, "seconds_max": None},
    }


def figures(events: list[Json], per_s: float, seconds: float) -> Json:
    """What the events of a run say of its pace. Times are in microseconds."""
    done = events[-1] if events else {}
    if done.get("status") != "ok":
        raise ProgramFailed(f"{per_s} a second: {done.get('reason') or 'no end'}")
    ticks = [event for event in events if event["event"] == "tick" and event["measured"]]
    lag, queue = Histogram(), Histogram()
    for tick in ticks:
        lag.add(tick["lag"])
        queue.add(tick["queue"])
    completed = sum(tick["operations"][ROLE]["count"] for tick in ticks)
    return {
        "per_s": per_s,
        "connections": CONNECTIONS,
        "achieved_ratio": completed / (per_s * seconds),
        "lag_us_p99": lag.percentile_us(0.99),
        "lag_us_max": lag.max_us,
        "queue_us_p99": queue.percentile_us(0.99),
    }
