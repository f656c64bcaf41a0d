"""Measures the load generator by itself: its highest rate on this host, and its cost.

Measured against the null server, dyno-loadgen's own (contract/README.md), which answers at once: a
rate near this ceiling measures the generator in place of a server. Each protocol has its own.
"""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from dbdyno.host import program as binary
from dbdyno.host.child import Child
from dbdyno.model import Address
from dbdyno.model.ceiling import Ceiling, CeilingLoad
from dbdyno.model.error import GeneratorError
from dbdyno.model.events import AnyEvent, DoneEvent, HelloEvent, Tick
from dbdyno.model.job import Job, StopRule
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.model.job.programs import Instruction, Program
from dbdyno.model.job.role import Choice, ClosedPace, ErrorReaction, Role
from dbdyno.model.job.statements import Piece, Statement
from dbdyno.model.job.values import Value
from dbdyno.run.driver.loadgen import DEFAULT_THREADS, run

CONNECTIONS = (1, 8)
"""The loads that are always measured: a receive that blocks, and an event loop at work."""
SECONDS = 0.5
WARMUP_S = 0.1
EXPECTED_S = 2.0
"""The seconds of all loads of a protocol together; a guess for progress."""
NULL_SERVER_S_MAX = 30.0
"""The null server's life: one that hangs is ended, so that the generator does not wait for it."""


def measure(
    connections: Mapping[str, int], threads: int | None, cpus: str | None = None
) -> Ceiling:
    """Point queries with 1, 8 and `connections` connections, on the plan's `threads` and `cpus`.

    `connections` are by protocol: each of them is measured. Returns a line of generator.jsonl
    (docs/results.md). Raises GeneratorError in one line where the null server or the generator
    fails.
    """
    loads = []
    for protocol, most in connections.items():
        with null_server(protocol) as address:
            for count in sorted({*CONNECTIONS, most}):
                point_queries = job(protocol, address, count, threads or DEFAULT_THREADS)
                said = list(run(point_queries, cpus))
                loads.append(load(protocol, count, said))
    hello = said[0]
    assert isinstance(hello, HelloEvent), "it comes first"
    return Ceiling(
        mono_ns=time.monotonic_ns(),
        unix_ns=time.time_ns(),
        version=hello.version,
        commit=hello.commit,
        loads=tuple(loads),
    )


def summary(ceiling: Ceiling) -> str:
    """The ceiling of each protocol in words, for the person who watches."""
    best: dict[str, float] = {}
    for load in ceiling.loads:
        best[load.protocol] = max(load.per_s, best.get(load.protocol, 0.0))
    return ", ".join(f"{rate:,.0f} statements/s ({name})" for name, rate in best.items())


def load(protocol: str, connections: int, said: Iterable[AnyEvent]) -> CeilingLoad:
    """The result of one load's events, in exactly the window.

    Raises GeneratorError where the load did not end well.
    """
    operations = cpu_us = active_ns = 0
    done: DoneEvent | None = None
    for event in said:
        if isinstance(event, Tick) and event.measured:
            operations += sum(client.count for client in event.per_client)
            cpu_us += event.cpu_us or 0
            active_ns += event.active_ns
        elif isinstance(event, DoneEvent):
            done = event
    if done is None or done.status != "ok" or not operations:
        reason = (done and done.reason) or "no statement was answered"
        raise GeneratorError(f"the load generator's ceiling cannot be measured: {reason}")
    return CeilingLoad(
        protocol=protocol,
        connections=connections,
        threads=tuple(done.threads or ()),
        seconds=active_ns / 1e9,
        operations=operations,
        per_s=operations * 1e9 / active_ns,
        cpu_us_per_operation=cpu_us / operations,
    )


def job(protocol: str, address: Address, connections: int, threads: int) -> Job:
    """A closed loop of prepared SELECTs of one row by its key, on every connection."""
    sql = ("SELECT c FROM sbtest1 WHERE id = ", Piece(value=0))
    return Job(
        autostart=False,
        seed=1,
        step="ceiling",
        engine=protocol,
        server=Endpoint.of(address),
        clients=1,
        threads=threads,
        values=(Value(name="id", per="statement", format="integer", uniform=(1, 1_000_000)),),
        statements=(Statement(name="point", protocol="prepared", pieces=sql, rows=1),),
        programs=(Program("point", (Instruction("send", 0),)),),
        roles=(
            Role(
                name="query",
                per="step",
                connections=connections,
                choose=(Choice(0, 1),),
                pace=ClosedPace(),
                on_error=ErrorReaction(),
                on_lost="fail_step",
            ),
        ),
        stop=StopRule(seconds=SECONDS, warmup_s=WARMUP_S),
    )


@contextmanager
def null_server(protocol: str, life_s: float | None = None) -> Iterator[Address]:
    """A null server of a protocol while the context lasts, where it listens.

    The server lives at most `life_s` seconds, or NULL_SERVER_S_MAX.

    Raises GeneratorError in one line where it does not.
    """
    name = f"dyno-loadgen null --{protocol}"
    words = (binary.find("dyno-loadgen"), "null", f"--{protocol}")
    server = Child(words, name=name, error=GeneratorError)
    killer = threading.Timer(life_s or NULL_SERVER_S_MAX, server.kill)
    killer.daemon = True
    killer.start()
    try:
        yield _listening(server)
    finally:
        killer.cancel()
        server.end(NULL_SERVER_S_MAX, rest=lambda line: None)


class _Place(Struct):
    host: str
    port: int


def _listening(server: Child) -> Address:
    """Waits until the null server says where it listens."""
    said = server.output.readline()
    try:
        place = msgspec.json.decode(said, type=_Place)
    except ValueError:
        server.end(NULL_SERVER_S_MAX)
        complaint = " ".join(" ".join(server.said).split())
        complaint = complaint or (f"it said {said.strip()!r}" if said else "it said nothing")
        raise GeneratorError(
            "the load generator's ceiling cannot be measured: "
            f"`{server.name}` {server.death()} before it listened: {complaint}"
        ) from None
    return Address(host=place.host, port=place.port, user="dyno", database="null")
