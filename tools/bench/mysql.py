"""The point query on MySQL and on MariaDB, prepared, as fast as the client can, beside sysbench."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from bench import arms, jobs, process
from bench import server as servers
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.jobs import ACCOUNTS_OF_SCALE
from bench.pairs import BenchArm
from bench.point import PREPARE_S_MAX, SBTEST, Query
from bench.server import address_of
from dbdyno.engine import Build, LabServer
from dbdyno.engine.mysql import build
from dbdyno.host import account
from dbdyno.model import Address, Arm, Json
from dbdyno.model.engine import TRAITS
from dbdyno.model.error import ServerError

VARIABLES = {"mysql": "DYNO_MYSQL", "mariadb": "DYNO_MARIADB"}
"""By engine: the environment's name of its folder, as for tests; else it is looked for."""
CPU_MAX: dict[int, float] = {1: 0.70, 8: 0.70, 64: 0.70}
"""The target by number of connections."""
SETTINGS = {"innodb_buffer_pool_size": "1G", "skip_log_bin": "ON"}
"""All else as the server has it, fsync and performance schema on."""
CLIENT_DRIVER = "mysql"


def measure(bench: Bench) -> Iterator[Figure]:
    """The generator beside sysbench at rising connections, on each engine that is here."""
    for engine in VARIABLES:
        here = newest(engine)
        if here is None:
            why = missing(engine)
            yield Figure(measurement=engine, beside="sysbench", what="CPU", missing=why)
            continue
        with running(engine, here) as server:
            address = address_of(server)
            make_sbtest(server, address)
            for connections, cpu_max in CPU_MAX.items():
                yield from compare(
                    bench,
                    Subject(measurement=engine, connections=connections, cpu_max=cpu_max),
                    generator(bench, engine, address, connections),
                    arms.sysbench(address, SBTEST.rows, connections, driver=CLIENT_DRIVER),
                )


def newest(engine: str) -> Build | None:
    """The newest build of an engine that is here; None where there is none."""
    named = os.environ.get(VARIABLES[engine])
    found = []
    for folder in [Path(named)] if named else build.folders(engine):
        try:
            found.append(build.inspect(folder, engine, str(folder), account.choose(engine)))
        except ServerError:
            continue  # of the other engine, too old, or closed to the account
    return max(found, key=lambda one: one.version_num, default=None)


def missing(engine: str) -> str:
    """Why an engine is not measured of which there is no build here."""
    return f"no {TRAITS[engine].product} here: name its folder by {VARIABLES[engine]}"


def running(engine: str, here: Build) -> AbstractContextManager[LabServer]:
    """A server with an empty database, while the host is locked against other labs."""
    arm = Arm(name="bench", engine=engine, base_dir=here.base_dir, settings=SETTINGS)
    return servers.running(arm, here)


def make_sbtest(server: LabServer, address: Address) -> None:
    """Lets sysbench make its table, where it is installed."""
    program = arms.sysbench_program()
    if program is None:
        return
    command = arms.sysbench_command(program, address, SBTEST.rows, driver=CLIENT_DRIVER)
    process.run([*command, "prepare"], limit_s=PREPARE_S_MAX)
    server.execute("ANALYZE TABLE sbtest1")


def make_accounts(server: LabServer, scale: int) -> None:
    """pgbench's table of accounts as PostgreSQL has it (bench.server), all pages written out."""
    digits = " UNION ALL ".join(f"SELECT {digit} AS n" for digit in range(10))
    count = len(str(ACCOUNTS_OF_SCALE * scale - 1))
    tables = ", ".join(f"({digits}) d{place}" for place in range(count))
    number = " + ".join(f"d{place}.n * {10**place}" for place in range(count))
    server.execute(
        "CREATE TABLE pgbench_accounts "
        "(aid int NOT NULL PRIMARY KEY, bid int, abalance int, filler char(84))",
        "INSERT INTO pgbench_accounts "
        f"SELECT n + 1, n DIV {ACCOUNTS_OF_SCALE} + 1, 0, '' "
        f"FROM (SELECT {number} AS n FROM {tables}) numbers "
        f"WHERE n < {ACCOUNTS_OF_SCALE * scale} ORDER BY n",
        "ANALYZE TABLE pgbench_accounts",
        "FLUSH TABLES pgbench_accounts FOR EXPORT",
        "UNLOCK TABLES",
    )


def generator(
    bench: Bench, engine: str, address: Address, connections: int, query: Query = SBTEST
) -> BenchArm:
    """The generator with a query, sysbench's if not said otherwise."""

    def job(seconds: float) -> Json:
        made = jobs.point(
            address, query.sql, key_max=query.rows, connections=connections, seconds=seconds
        )
        return made | {"engine": engine}

    return arms.dyno(bench.generator, job)
