"""YBIO from outside on MySQL and MariaDB: keys, where rows lie, and what batches do."""

from typing import Any

import pytest

from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Step
from mysql_place import needs
from mysql_steps import DATABASE
from step_load import load

pytestmark = pytest.mark.live

LOADED = """
SELECT count(*), count(DISTINCT mykey), min(mykey), max(mykey), min(scratch) >= 0,
       max(scratch) <= 1050, avg(scratch) BETWEEN 400 AND 650, max(length(filler)) FROM bench0002"""
SUM = "SELECT sum(scratch) FROM bench0001"


def steps(server: Server, **given: Any) -> dict[str, Step]:
    made = workload.expand(workload.load("ybio", set="outside"), given, server.engine)
    return {step.name: step for step in made}


def run(server: Server, step: Step) -> int:
    """Runs a step; how many operations there were."""
    server.execute(*step.setup, database=DATABASE)
    last, _ = load(server, step)
    (total,) = last["totals"].values()
    return int(total["count"])


@pytest.mark.capability("ybio")
def test_ybio_loads_reads_and_updates(mysql_server: Server) -> None:
    needs(mysql_server.engine, "recursive queries", mysql=80_000, mariadb=100_202)
    mysql_server.create_database(DATABASE)

    def ask(sql: str) -> list[Any]:
        ((found),) = mysql_server.execute(sql, database=DATABASE)
        return [one if one is None else int(one) for one in found]

    given = {"tab_rows": 1050, "batch_size_setup": 100, "tables": 2, "filler": 100}
    run(mysql_server, steps(mysql_server, **given)["setup"])
    assert ask(LOADED) == [1050, 1050, 12, 1061, 1, 1, 1, 100]
    # Neighbours in mykey are no neighbours in the table.
    near = "SELECT avg(abs(a.place - b.place)) > 200 FROM bench0001 a JOIN bench0001 b"
    assert ask(f"{near} ON b.mykey = a.mykey + 1") == [1]

    (before,) = ask(SUM)
    once = {"batch_size": 100, "run_seconds": 0, "pct_update": 100}
    assert run(mysql_server, steps(mysql_server, **given, **once, clients=2)["run"]) == 2
    (after,) = ask(SUM)
    assert 0 < after - before <= 100

    for prepared in (0, 1):
        more = {"batch_size": 100, "run_seconds": 0.5, "pct_update": 42, "prepared": prepared}
        count = run(mysql_server, steps(mysql_server, **given, **more)["run"])
        before, (after,) = after, ask(SUM)
        assert abs((after - before) - 42 * count) <= max(60, 2 * count)
