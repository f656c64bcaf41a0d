"""The workload pgbench on MySQL and MariaDB: both loads, and what scripts send."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Step
from mysql_steps import DATABASE, Seen, logging, run

pytestmark = pytest.mark.live

SCRIPTS = ["tpcb-like", "simple-update", "select-only"]
CLIENTS, TRANSACTIONS = 2, 10
SUMS = """
SELECT (SELECT count(*) FROM pgbench_accounts), (SELECT sum(aid) FROM pgbench_accounts),
       (SELECT sum(bid) FROM pgbench_accounts), (SELECT count(*) FROM pgbench_tellers),
       (SELECT sum(bid) FROM pgbench_tellers), (SELECT count(*) FROM pgbench_branches),
       (SELECT count(*) FROM pgbench_history), (SELECT sum(length(filler)) FROM pgbench_accounts)"""
BALANCES = """
SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(tbalance) FROM pgbench_tellers),
       (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(delta) FROM pgbench_history)"""


@pytest.fixture(scope="module")
def server(mysql_server: Server) -> Iterator[Server]:
    """A server of each engine, which logs what it is sent."""
    yield from logging(mysql_server)


def steps(server: Server, **given: Any) -> dict[str, Step]:
    loaded = workload.load("pgbench", fill=given.pop("fill", None))
    made = workload.expand(loaded, given, server.engine)
    return {step.name: step for step in made}


def loaded(server: Server, **given: Any) -> list[tuple[Any, ...]]:
    """Loads the tables; their sums."""
    for step in steps(server, **given).values():
        if step.name not in SCRIPTS:
            run(server, step)
    return server.execute(SUMS, database=DATABASE)


def test_each_load_has_the_same_rows(server: Server) -> None:
    ((*counted, blanks),) = loaded(server)
    assert [int(one) for one in counted] == [100_000, 5_000_050_000, 100_000, 10, 10, 1, 0]
    for given in (
        {"fill": "published", "foreign_keys": 1},
        {"fill": "published", "generate": "server"},
        {"partitions": 3},
        {"partitions": 2, "partition_method": "hash", "fill": "published"},
        {"filler": "random"},
    ):
        ((*again, filled),) = loaded(server, **given)
        assert again == counted, given
        assert int(filled) == (84 * 100_000 if "filler" in given else int(blanks))


@pytest.mark.parametrize("protocol", ["simple", "prepared"])
def test_scripts_send_their_transactions_and_balances_agree(server: Server, protocol: str) -> None:
    loaded(server)
    given = {"clients": CLIENTS, "transactions": TRANSACTIONS, "protocol": protocol}
    found = steps(server, **given)
    for script, begins in (("tpcb-like", "UPDATE"), ("select-only", "SELECT")):
        seen = run(server, found[script])
        (total,) = seen.last["totals"].values()
        assert (total["count"], total["errors"]) == (CLIENTS * TRANSACTIONS, 0)
        assert_sent(seen, begins, protocol)
        if script == "tpcb-like":
            ((accounts, tellers, branches, history),) = server.execute(BALANCES, database=DATABASE)
            assert accounts == tellers == branches == history
    seen = run(server, found["simple-update"])
    assert seen.last["status"] == "ok"


def assert_sent(seen: Seen, begins: str, protocol: str) -> None:
    """Each session has sent its transactions, in that protocol."""
    words = [one.split()[0] for one in seen.texts("Query", "Execute")]
    count = CLIENTS * TRANSACTIONS
    if begins == "SELECT":
        assert words.count("SELECT") >= count
        return
    expected = {"START": count, "UPDATE": 3 * count, "INSERT": count, "COMMIT": count}
    assert {word: words.count(word) for word in expected} == expected
    by = {"simple": "Query", "prepared": "Execute"}[protocol]
    assert sum(one.startswith("UPDATE") for one in seen.texts(by)) == 3 * count
