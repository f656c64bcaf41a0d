"""The workload `ycsb` on real servers: keys, inserts without a gap, reads that find, the skew."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.engine import Place, Server
from dbdyno.model import Arm, Step
from dbdyno.workload.computed import evaluate
from mysql_steps import DATABASE
from server_place import a_place, ends, started
from step_load import load

pytestmark = pytest.mark.live

RECORDS = 5000
ZETA = 26.46902820178302
"""The sum of k^-0.99 for k from 1 to 10^10, as YCSB has it: the first of them has its inverse."""
KEY = re.compile(r"ycsb_key = 'user(\d+)'")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with a_place() as made:
        yield made


@pytest.fixture(scope="module")
def server(place: Place) -> Iterator[Server]:
    """A PostgreSQL server that logs all statements."""
    settings = {"fsync": "off", "log_statement": "all"}
    arm = Arm(name="ycsb", engine="postgres", base_dir=ends()[-1], settings=settings)
    with started(arm, place) as made:
        made.create_database(DATABASE)
        yield made


def steps(server: Server, **given: Any) -> dict[str, Step]:
    given = {"records": RECORDS, "clients": 3, "seconds": 1, **given}
    return {
        each.name: each for each in workload.expand(workload.load("ycsb"), given, server.engine)
    }


def key(number: int) -> str:
    """The key of a record, by its number from 0."""
    hashed = ["abs", ["hash_fnv1a", ["integer", number], ["integer", 0]]]
    return f"user{evaluate(hashed, int)}"


def check(server: Server) -> None:
    """Loads the table, runs each workload, and looks at what they have left."""

    def ask(sql: str) -> list[tuple[Any, ...]]:
        return server.execute(sql, database=DATABASE)

    made = steps(server)
    for step in made.values():
        server.execute(*step.setup, database=DATABASE)
        before = {name for (name,) in ask("SELECT ycsb_key FROM usertable")}
        last, _ = load(server, step)
        after = {name for (name,) in ask("SELECT ycsb_key FROM usertable")}
        assert before <= after
        first = {"fill": 0, "workload-d": RECORDS, "workload-e": RECORDS + 10**12}.get(step.name)
        if first is None:
            assert before == after
        else:
            added = len(after) - len(before)
            assert added > 0, (step.name, last)
            assert after - before == {key(first + number) for number in range(added)}
    ((shortest, longest),) = ask("SELECT min(length(field9)), max(length(field9)) FROM usertable")
    assert (shortest, longest) == (100, 100)
    ((alike,),) = ask("SELECT count(*) FROM usertable WHERE field0 = field1")
    assert alike == 0


@pytest.mark.capability("ycsb")
def test_postgres_gets_the_records_and_operations_of_ycsb(server: Server) -> None:
    check(server)


@pytest.mark.capability("ycsb")
def test_mysql_and_mariadb_get_the_records_and_operations_of_ycsb(mysql_server: Server) -> None:
    mysql_server.create_database(DATABASE)
    check(mysql_server)


def test_the_hottest_record_has_its_share_of_the_requests(server: Server, place: Place) -> None:
    made = steps(server, protocol="simple", seconds=2)
    server.execute(*made["fill"].setup, database=DATABASE)
    load(server, made["fill"])
    log = place.log_dir / "postgres.log"
    begins = log.stat().st_size
    load(server, made["workload-c"])
    text = log.read_bytes()[begins:].decode()
    counts = Counter(KEY.findall(text))
    requests = counts.total()
    hottest = evaluate(["abs", ["hash_fnv1a", ["integer", 0], ["integer", 0]]], int) % RECORDS
    ((name, count),) = counts.most_common(1)
    assert f"user{name}" == key(hottest)
    share = 1 / ZETA + (1 - 1 / ZETA) / RECORDS
    assert abs(count - share * requests) < 4 * math.sqrt(share * requests), requests
