"""The workload `orders` beside sysbench-tpcc, on the same tables, and the load of both.

Tables grow with each transaction, so each run begins on a copy of the same loaded database, in the
server's buffers and written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from bench import arms, calls, jobs, server, tpcc
from bench.compare import Bench, Subject, compare, progress
from bench.figure import Figure, Target, alike
from bench.fill import LOAD_S_MAX, load_and_vacuum, load_rows
from bench.pairs import BenchArm, after, alternating
from dbdyno import workload
from dbdyno.engine import LabServer
from dbdyno.model import Address, Json, Step
from dbdyno.run import invariants

WAREHOUSES = 2
THREADS = ((4, 1), (8, 1), (8, 8))
"""Connections, and the generator's threads for them; sysbench has a thread for each connection."""
CPU_MAX = {8: 0.25}
"""By connections: the target of the generator's CPU, with one thread."""
THROUGHPUT_WITHIN = 0.05
SERVER_WITHIN = 0.03
STATEMENTS_WITHIN = 0.01
"""How far statements of a transaction may be off: both draw who is asked for by name."""
CONNECTIONS = 8
"""Where statements are counted."""
SPEED_MIN = 5.0
LOAD_PAIRS_MAX = 3
"""A load takes longer than a run."""
PARAMETERS: dict[str, int | str] = {
    "schema": "sysbench-tpcc",
    "warehouses": WAREHOUSES,
    "protocol": "simple",
    "mix": "deck",
    "home": "drawn",
    "skew": "uniform",
    "lines_remote": 0,
    "payments_remote": 0,
    "isolation": "read committed",
}
"""What comes closest to sysbench-tpcc (docs/studies/orders.md)."""
ARM = replace(server.NEWEST, settings={**server.SETTINGS, "synchronous_commit": "off"})
COUNTED = replace(
    ARM,
    settings={
        **ARM.settings,
        "shared_preload_libraries": calls.EXTENSION,
        "pg_stat_statements.track_planning": "on",
    },
)
LOADED = "loaded"
"""The database that each run has a copy of."""
AFTER_LOAD = "c11"
"""The condition that holds after the load alone."""


class Loaded(NamedTuple):
    """The seconds of a load with its indexes, and of the vacuum after it."""

    rows_s: float
    vacuum_s: float


def measure(bench: Bench) -> Iterator[Figure]:
    """CPU, throughput and the server's CPU; statements and conditions; the speed of the load."""
    why = tpcc.missing()
    if why is not None:
        yield Figure(measurement="orders", beside=tpcc.SCRIPT, what="CPU", missing=why)
        return
    with server.running(ARM) as running:
        keep_loaded(bench, running)
        for connections, threads in THREADS:
            yield from beside(bench, running, connections, threads)
    with server.running(COUNTED) as running:
        keep_loaded(bench, running)
        yield from counted(bench, running)
    with server.running(ARM) as running:
        yield from loads(bench, running)


# --- Runs on copies ------------------------------------------------------------------------------


def beside(bench: Bench, running: LabServer, connections: int, threads: int) -> Iterator[Figure]:
    """The two in turn, with so many connections, and so many threads of the generator."""
    address = server.address_of(running)
    ours = generator(bench, address, connections, threads)
    yield from compare(
        bench,
        Subject(
            measurement="orders" if threads == 1 else f"order/{threads}",
            connections=connections,
            cpu_max=CPU_MAX.get(connections) if threads == 1 else None,
            throughput_within=THROUGHPUT_WITHIN,
            server_within=SERVER_WITHIN,
        ),
        renewed(running, ours),
        renewed(running, tpcc.arm(address, WAREHOUSES, connections)),
    )


def generator(bench: Bench, address: Address, connections: int, threads: int) -> BenchArm:
    """The generator, in one window from the start on."""

    def job(seconds: float) -> Json:
        own = {**PARAMETERS, "clients": connections}
        return jobs.orders(address, own, threads=threads, seconds=seconds)

    return arms.dyno(bench.generator, job)


def renewed(running: LabServer, arm: BenchArm) -> BenchArm:
    """The arm, observed, each run on a copy of the loaded tables."""
    return after(lambda: renew(running), server.observed(running, arm))


def keep_loaded(bench: Bench, running: LabServer) -> None:
    """Loads the tables into the database that copies are made of."""
    fill(bench, running)
    keep(running)


def keep(running: LabServer) -> None:
    """Makes the database as it is what copies are made of."""
    running.execute("VACUUM (FREEZE, ANALYZE)", limit_s=LOAD_S_MAX)
    running.execute(
        f"ALTER DATABASE {server.DATABASE} RENAME TO {LOADED}", database=server.OWN_DATABASE
    )


def renew(running: LabServer) -> None:
    """Makes the database anew as it was loaded, all of it in the server's buffers."""
    running.execute(
        f"DROP DATABASE IF EXISTS {server.DATABASE}",
        f"CREATE DATABASE {server.DATABASE} TEMPLATE {LOADED} STRATEGY file_copy",
        database=server.OWN_DATABASE,
    )
    running.client.warm_up("prewarm", running.execute)
    running.client.checkpoint(running.execute)


# --- Statements and conditions -------------------------------------------------------------------


def counted(bench: Bench, running: LabServer) -> Iterator[Figure]:
    """Statements of a transaction by each, and the conditions on tables that had both loads."""
    address = server.address_of(running)
    both = {
        "dyno-loadgen": generator(bench, address, CONNECTIONS, 1),
        tpcc.SCRIPT: tpcc.arm(address, WAREHOUSES, CONNECTIONS),
    }
    renew(running)
    sent = {
        name: calls.during(running, partial(arm.run, bench.seconds)) for name, arm in both.items()
    }
    for line in calls.table(sent):
        progress(line)
    ours, theirs = sent.values()
    figure = Figure(
        measurement="orders", connections=CONNECTIONS, beside=tpcc.SCRIPT, what="statements"
    )
    yield replace(
        figure,
        values=(ours.at_mix() / theirs.at_mix(),),
        target=alike(STATEMENTS_WITHIN),
        detail={name: each.json() for name, each in sent.items()},
    )
    broken = [check for check in invariants.held(running, conditions()) if not check.ok]
    yield replace(
        figure,
        what="broken",
        values=(float(len(broken)),),
        digits=0,
        target=Target(bound=0.0),
        detail={check.what: check.actual for check in broken},
    )


def conditions() -> Step:
    """The step that has the conditions which hold after transactions, too."""
    own = {**PARAMETERS, "check": 1}
    *_, step = workload.expand(workload.load("orders"), own, "postgres")
    assert all(each.name != AFTER_LOAD for each in step.conditions), "it asks what a run may break"
    return step


# --- Loads ---------------------------------------------------------------------------------------


def loads(bench: Bench, running: LabServer) -> Iterator[Figure]:
    """How many times as fast as `prepare` the fill is, with the same indexes."""
    address = server.address_of(running)
    by_name: dict[str, Callable[[], None]] = {
        "fill": lambda: fill(bench, running),
        "prepare": lambda: tpcc.prepare(address, WAREHOUSES),
    }
    pairs = min(bench.pairs, LOAD_PAIRS_MAX)
    found = list(alternating(by_name, pairs, lambda load: timed(running, load)))
    figure = Figure(measurement="orders", beside=tpcc.SCRIPT, what="fill")
    detail = {
        "warehouses": WAREHOUSES,
        "pairs": [{name: list(took) for name, took in pair.items()} for pair in found],
    }
    yield replace(
        figure,
        values=tuple(speed(pair["fill"].rows_s, pair["prepare"].rows_s) for pair in found),
        target=Target(bound=SPEED_MIN, at_least=True),
        detail=detail,
    )
    yield replace(
        figure,
        what="and vacuum",
        values=tuple(speed(sum(pair["fill"]), sum(pair["prepare"])) for pair in found),
    )


def speed(fill_s: float, prepare_s: float) -> float:
    """How many times as fast as `prepare` a fill was; what that sleeps is left out."""
    return (prepare_s - tpcc.SLEEP_S) / fill_s


def timed(running: LabServer, load: Callable[[], None]) -> Loaded:
    """The seconds of a load into an empty database, and of its vacuum."""
    running.create_database(server.DATABASE)
    running.client.checkpoint(running.execute)
    took = Loaded(*load_and_vacuum(running, load, "VACUUM (ANALYZE)"))
    progress(f"orders fill: {took.rows_s:.1f} s, and vacuum {took.vacuum_s:.1f} s")
    return took


def fill(bench: Bench, running: LabServer) -> None:
    """Loads the tables as the workload does, but for what comes after rows and indexes."""
    step, *_ = workload.expand(workload.load("orders", fill="fast"), PARAMETERS, running.engine)
    load_rows(running, bench.generator, step)
