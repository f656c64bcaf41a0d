"""Connections that the Insert Benchmark opens to read the smallest and the largest key."""

import time
from collections.abc import Iterator

import pytest

from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Arm, Step
from mysql_place import build_of
from server_place import a_place, ends, started
from step_load import load

pytestmark = pytest.mark.live

DATABASE = "ib"
SIZES = {"clients": 2, "rows": 2_000, "rows_i1": 2_000, "resync": 9, "rates": [100], "seconds": 2}
READINGS = 2 * 4
"""Of l.i1: before the 0th, 10th, 20th and 30th of 40 deletes of each client."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server of the newest version that is here, with a database."""
    settings = {"fsync": "off", "autovacuum": "off"}
    arm = Arm(name="a", engine="postgres", base_dir=ends()[-1], settings=settings)
    with a_place() as place, started(arm, place) as one:
        one.create_database(DATABASE)
        one.use_database(DATABASE)
        yield one


def steps(server: Server, release: tuple[int, ...], connect: str) -> dict[str, Step]:
    given = {**SIZES, "wait_s": 1, "reader_connect": connect}
    loaded = workload.load("insert-benchmark")
    made = workload.expand(loaded, given, server.engine, version=release)
    return {step.name: step for step in made}


def opened(server: Server) -> int:
    """How many connections the server has had; those that have ended count after a moment."""
    if server.engine == "postgres":
        time.sleep(1.5)
        ((count,),) = server.execute(
            f"SELECT sessions FROM pg_stat_database WHERE datname = '{DATABASE}'"
        )
    else:
        ((_, count),) = server.execute("SHOW GLOBAL STATUS LIKE 'Connections'")
    return int(str(count))


def opened_by(server: Server, made: dict[str, Step], name: str) -> tuple[int, set[int]]:
    """The connections that a step opens, and those of them that it names."""
    server.execute(*made[name].setup, database=DATABASE)
    before = opened(server)
    _, named = load(server, made[name])
    return opened(server) - before, named


def check(server: Server, release: tuple[int, ...]) -> None:
    """Asserts what the client's two forms open; the tables are made by the steps of the first."""
    counts = {}
    for connect in ("once", "each"):
        made = steps(server, release, connect)
        load_first = ["l.i0", "l.x"] if connect == "once" else []
        for name in load_first:
            opened_by(server, made, name)
        counts[connect] = {name: opened_by(server, made, name) for name in ("l.i1", "qp100")}
    (once, named), (each, named_each) = (counts[connect]["l.i1"] for connect in ("once", "each"))
    assert each - once == READINGS
    assert len(named) - len(named_each) == 2, "readers that end are not named"
    # One reading of the smallest key at least, and one of the largest for each 100 queries.
    assert counts["each"]["qp100"][0] - counts["once"]["qp100"][0] >= 2 * 3


def test_postgresql_has_a_connection_for_each_reading_or_one_for_all(server: Server) -> None:
    check(server, (18,))


def test_mysql_and_mariadb_have_them_too(mysql_server: Server) -> None:
    mysql_server.create_database(DATABASE)
    check(mysql_server, build_of(mysql_server.engine).release)
