"""Measures how well the load generator holds a rate: on its own null server, from 1 to 100,000/s.

    python tools/bench/pace.py GENERATOR [SECONDS [FOLDER PORT USER DATABASE]]

GENERATOR is a dyno-loadgen; with a FOLDER, the server whose unix socket is there is asked instead.
Even arrivals of one role on CONNECTIONS connections. Prints for each rate what was achieved of it,
the generator's own delay (lag) and how long replies lay unread (queue).
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dbdyno.analysis.response import Histogram

RATES_PER_S = (1, 10, 100, 1_000, 10_000, 100_000)
CONNECTIONS = 32
WARMUP_S = 1.0
ROLE = "select"
ACHIEVED_ERROR_MAX = 0.001
"""The target: a rate is held to this share."""
LAG_US_P99_MAX = 500
"""The target on an idle machine."""

Json = dict[str, Any]


def measure(generator: Path, seconds: float) -> list[dict[str, Any]]:
    """Runs each rate against the null server of this generator; one dictionary each."""
    with null_server(generator) as server:
        return [measure_rate(generator, server, rate, seconds) for rate in RATES_PER_S]


@contextlib.contextmanager
def null_server(generator: Path) -> Iterator[Json]:
    """A null server, while the context lasts; gives the job's `server`."""
    process = subprocess.Popen(
        [generator, "null", "--postgres"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        listening = json.loads(process.stdout.readline() or "{}")
        if listening.get("event") != "listening":
            raise RuntimeError(f"`{generator} null --postgres` did not say that it listens")
        yield server_of(listening["host"], listening["port"])
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def server_of(host: str, port: int, user: str = "dyno", database: str = "dyno") -> Json:
    """The job's `server`."""
    return {"host": host, "port": port, "user": user, "database": database, "password": None}


def measure_rate(generator: Path, server: Json, per_s: float, seconds: float) -> Json:
    """Runs one rate; what was achieved, and how late the generator was itself.

    Raises RuntimeError where the step did not end well.
    """
    job = json.dumps(job_of(server, per_s, seconds))
    ended = subprocess.run([generator], input=job, capture_output=True, text=True, check=False)
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    if ended.returncode != 0 or not events or events[-1].get("status") != "ok":
        reason = events[-1].get("reason") if events else None
        raise RuntimeError(f"{per_s} a second: {reason or ended.stderr.strip()}")
    return figures(events, per_s, seconds)


def job_of(server: Json, per_s: float, seconds: float) -> Json:
    """One role of many connections that selects a number at a rate."""
    statement = {"name": ROLE, "protocol": "prepared", "pieces": ["SELECT 1"], "types": []}
    role = {
        "name": ROLE,
        "per": "step",
        "connections": CONNECTIONS,
        "choose": [{"program": 0, "weight": 1}],
        "pace": {"kind": "rate", "arrivals": "even", "per_s": float(per_s)},
    }
    return {
        "protocol": 1,
        "autostart": True,
        "seed": 1,
        "step": "pace",
        "engine": "postgres",
        "server": server,
        "clients": 1,
        "threads": 1,
        "statements": [{**statement, "rows": 1}],
        "programs": [{"name": ROLE, "code": [["send", 0]]}],
        "roles": [role],
        "stop": {"seconds": seconds, "warmup_s": WARMUP_S},
    }


def figures(events: list[Json], per_s: float, seconds: float) -> Json:
    """What the events of a run say of its pace."""
    ticks = [event for event in events if event["event"] == "tick" and event["measured"]]
    lag, queue, response = Histogram(), Histogram(), Histogram()
    for tick in ticks:
        operation = tick["operations"][ROLE]
        lag.add(tick["lag"])
        queue.add(tick["queue"])
        response.add(operation["response"], operation["max_us"])
    completed = sum(tick["operations"][ROLE]["count"] for tick in ticks)
    achieved = completed / (per_s * seconds)
    return {
        "per_s": per_s,
        "seconds": seconds,
        "connections": CONNECTIONS,
        "completed": completed,
        "achieved_ratio": achieved,
        "achieved": abs(achieved - 1.0) <= ACHIEVED_ERROR_MAX,
        "lag_us_p50": lag.percentile_us(0.5),
        "lag_us_p99": lag.percentile_us(0.99),
        "lag_us_max": lag.max_us,
        "prompt": lag.percentile_us(0.99) < LAG_US_P99_MAX,
        "queue_us_p99": queue.percentile_us(0.99),
        "response_us_p99": response.percentile_us(0.99),
        "backlog_max": max((tick["backlog"] for tick in ticks), default=0),
        "busy_share": max(thread["busy_share"] for thread in events[-1]["threads"]),
    }


def table(rows: list[Json]) -> Iterator[str]:
    """The figures as lines of at most 80 columns."""
    yield "  rate/s    achieved   lag p50     p99      max  queue p99   busy"
    for row in rows:
        met = "" if row["achieved"] and row["prompt"] else "  missed"
        yield (
            f"{row['per_s']:>8}{row['achieved_ratio']:>12.5f}{row['lag_us_p50']:>10.0f}"
            f"{row['lag_us_p99']:>8.0f}{row['lag_us_max']:>9}{row['queue_us_p99']:>11.0f}"
            f"{row['busy_share']:>7.2f}{met}"
        )
    yield (
        f"times in µs; targets: within {ACHIEVED_ERROR_MAX:.1%} of the rate, "
        f"lag p99 under {LAG_US_P99_MAX} µs"
    )


def main() -> int:
    """Measures and prints; returns the exit status."""
    if len(sys.argv) not in (2, 3, 7):
        print(__doc__)
        return 2
    generator = Path(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    if len(sys.argv) == 7:
        host, port, user, database = sys.argv[3:]
        server = server_of(host, int(port), user, database)
        rows = [measure_rate(generator, server, rate, seconds) for rate in RATES_PER_S]
    else:
        rows = measure(generator, seconds)
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
