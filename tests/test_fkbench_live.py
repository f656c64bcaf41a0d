"""The workload `fkbench` on real servers: each operation puts back what it took away."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Arm, Json, Step
from mysql_steps import DATABASE, Sent, logged, logging
from server_place import a_place, ends, started
from step_load import load

pytestmark = pytest.mark.live

PARENTS, CHILDREN, CLIENTS = 1000, 3, 2
ACTIONS = ("child_delete_insert", "child_update", "parent_delete_insert", "parent_update")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with a_place() as place:
        settings = {"fsync": "off"}
        arm = Arm(name="fk", engine="postgres", base_dir=ends()[-1], settings=settings)
        with started(arm, place) as made:
            made.create_database(DATABASE)
            yield made


@pytest.fixture(scope="module")
def logged_server(mysql_server: Server) -> Iterator[Server]:
    yield from logging(mysql_server)


def steps(server: Server, **given: Any) -> dict[str, Step]:
    sizes = {"parent_table_size": PARENTS, "children_per_parent": CHILDREN, "clients": CLIENTS}
    made = workload.expand(
        workload.load("fkbench"), {**sizes, "seconds": 1, **given}, server.engine
    )
    return {step.name: step for step in made}


def check(server: Server, fk: int) -> None:
    """Loads the tables, runs each action, and asks what the workload itself asks after it."""
    made = steps(server, fk=fk)
    server.execute(*made["fill"].setup, database=DATABASE)
    load(server, made["fill"])
    assert rows(server, "child") == [PARENTS * CHILDREN, PARENTS * CHILDREN * (CHILDREN - 1) // 2]
    assert rows(server, "parent") == [PARENTS, PARENTS * (PARENTS - 1) // 2]
    for action in ACTIONS:
        last, _ = load(server, made[action])
        assert good(last) > 0, action
        for condition in made[action].conditions:
            ((broken,),) = server.execute(condition.query, database=DATABASE)
            assert broken == 0, (action, condition.name)
    assert rows(server, "parent")[1] > PARENTS * (PARENTS - 1) // 2  # parents were updated


def rows(server: Server, table: str) -> list[int]:
    """How many rows a table has, and the sum of their `k`."""
    ((count, total),) = server.execute(f"SELECT count(*), sum(k) FROM {table}", database=DATABASE)
    return [int(count), int(total)]


def good(last: Json) -> int:
    """The operations that a step completed."""
    return int(last["totals"]["write"]["count"])


@pytest.mark.capability("fkbench")
@pytest.mark.parametrize("fk", [1, 0])
def test_postgres_has_all_rows_after_each_action(server: Server, fk: int) -> None:
    check(server, fk)


@pytest.mark.capability("fkbench")
@pytest.mark.parametrize("fk", [1, 0])
def test_mysql_and_mariadb_have_all_rows_after_each_action(logged_server: Server, fk: int) -> None:
    check(logged_server, fk)


def test_clients_ask_for_the_same_rows_in_the_same_order_unless_told_otherwise(
    logged_server: Server,
) -> None:
    """As fk.py's processes do, which begin from one seed; each operation has its connection."""
    for same_rows in (1, 0):
        given = {"parent_table_size": 100_000, "children_per_parent": 1, "fk": 0}
        made = steps(logged_server, same_rows=same_rows, **given)
        logged_server.execute(*made["fill"].setup, database=DATABASE)
        load(logged_server, made["fill"])
        logged(logged_server)
        load(logged_server, made["parent_update"])
        operations = list(sent_by_connection(logged(logged_server)))
        assert {words for words, _ in operations} == {("SET", "UPDATE", "SELECT", "COMMIT")}
        times = Counter(row for _, row in operations)
        first = operations[0][1]
        if same_rows:
            assert times[first] >= CLIENTS, "each client begins with it"
        else:
            assert len(times) > 0.9 * len(operations)


def sent_by_connection(log: tuple[Sent, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Of each connection that updates a row: the first words of its texts, and the UPDATE."""
    for session in dict.fromkeys(sent.session for sent in log):
        texts = [one.sql for one in log if one.session == session and one.command == "Query"]
        updates = [text for text in texts if text.startswith("UPDATE parent")]
        if updates:
            yield tuple(text.split()[0] for text in texts), updates[0]
