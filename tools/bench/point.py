"""The point query: one column of one row by primary key, prepared, as fast as the client can."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench import arms, jobs, process, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import BenchArm, steady
from dbdyno.engine import LabServer
from dbdyno.model import Address, Json


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query that ends where its key follows; keys are 1 to `rows`."""

    sql: str
    rows: int


SCALE = 10
"""Of pgbench's tables: a million rows, all in the server's buffers."""
ACCOUNT = Query(
    sql="SELECT abalance FROM pgbench_accounts WHERE aid = ", rows=SCALE * jobs.ACCOUNTS_OF_SCALE
)
SBTEST = Query(sql="SELECT c FROM sbtest1 WHERE id=", rows=500_000)

Targets = Mapping[int, float | None]
BARE_LOOP_CPU_MAX: Targets = {8: None, 64: None, 512: 1.15}
SYSBENCH_CPU_MAX: Targets = {1: None, 8: 0.70, 64: 0.70}
"""The targets by number of connections; None: shown without one."""
PREPARE_S_MAX = 600


def measure(bench: Bench) -> Iterator[Figure]:
    """The generator beside sysbench and the bare loop, at rising connections."""
    with server.running() as running:
        server.make_accounts(running, SCALE)
        make_sbtest(running)
        address = server.address_of(running)
        for connections, cpu_max in SYSBENCH_CPU_MAX.items():
            yield from compare(
                bench,
                subject(connections, cpu_max),
                generator(bench, address, SBTEST, connections),
                arms.sysbench(address, SBTEST.rows, connections),
            )
        for connections, cpu_max in BARE_LOOP_CPU_MAX.items():
            yield from compare(
                bench,
                subject(connections, cpu_max),
                steady(generator(bench, address, ACCOUNT, connections)),
                steady(bare_loop(address, ACCOUNT, connections)),
            )


def subject(connections: int, cpu_max: float | None) -> Subject:
    """A row of the table."""
    return Subject(measurement="point", connections=connections, cpu_max=cpu_max)


def generator(
    bench: Bench, address: Address, query: Query, connections: int, keys: Json | None = None
) -> BenchArm:
    """The generator with this query; `keys`: what else its job says."""

    def job(seconds: float) -> Json:
        its = jobs.point(
            address, query.sql, key_max=query.rows, connections=connections, seconds=seconds
        )
        return its | (keys or {})

    return arms.dyno(bench.generator, job)


def bare_loop(
    address: Address,
    query: Query,
    connections: int,
    way: str = arms.EPOLL,
    protocol: str = "postgres",
) -> BenchArm:
    """The bare loop with this query."""
    return arms.bare_loop(
        address, query.sql, key_max=query.rows, connections=connections, way=way, protocol=protocol
    )


def make_sbtest(running: LabServer) -> None:
    """Lets sysbench make its table, where it is installed."""
    program = arms.sysbench_program()
    if program is None:
        return
    command = arms.sysbench_command(program, server.address_of(running), SBTEST.rows)
    process.run([*command, "prepare"], limit_s=PREPARE_S_MAX)
    server.settle(running)
