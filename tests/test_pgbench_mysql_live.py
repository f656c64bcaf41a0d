"""The workload pgbench on MySQL and MariaDB: both loads, and what scripts send."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Step
from mysql_place import build_of
from mysql_steps import DATABASE, Seen, logging, run

pytestmark = pytest.mark.live

SCRIPTS = ["tpcb-like", "simple-update", "select-only"]
CLIENTS, TRANSACTIONS = 2, 10
RECURSIVE = {"mysql": 80_000, "mariadb": 100_202}
"""From which versions on a server makes rows by a recursive query."""
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


@pytest.mark.capability("pgbench")
def test_each_load_has_the_same_rows(server: Server) -> None:
    ((*counted, blanks),) = loaded(server)
    assert [int(one) for one in counted] == [100_000, 5_000_050_000, 100_000, 10, 10, 1, 0]
    recursive = build_of(server.engine).version_num >= RECURSIVE[server.engine]
    for given in (
        {"fill": "published", "foreign_keys": 1},
        {"fill": "published"} | ({"generate": "server"} if recursive else {}),
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


MIX = """
\\set aid random(1, 100000 * :scale)
\\set delta random(1, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance AS after_it, 'x' AS word FROM pgbench_accounts WHERE aid = :aid \\gset
\\if :after_it > 0 and :client_id < 2
INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (1, :after_it * 0 + 1, :aid, :delta);
\\else
SELECT 1 FROM pgbench_accounts WHERE aid = (SELECT 1 UNION SELECT 2);
\\endif
END;
"""


@pytest.mark.parametrize("protocol", ["simple", "prepared"])
def test_scripts_run_as_they_are_written_for_postgresql(
    server: Server, tmp_path: Path, protocol: str
) -> None:
    (tmp_path / "mix.sql").write_text(MIX)
    loads = workload.load("pgbench", tmp_path / "p.toml", scripts={"mix": ["mix.sql"]})
    given = {"clients": CLIENTS, "transactions": TRANSACTIONS, "protocol": protocol}
    seen: dict[str, Seen] = {}
    for step in workload.expand(loads, given, server.engine, steps=["mix"]):
        seen[step.name] = run(server, step)
    assert seen["mix"].last["totals"]["script"]["count"] == CLIENTS * TRANSACTIONS
    ((accounts, tellers, _, history),) = server.execute(BALANCES, database=DATABASE)
    assert accounts == history > 0 == tellers
    sent = (one.sql.rstrip(";") for one in next(seen["mix"].sessions()))
    firsts = [text.split()[0] for text in sent if text]
    assert "COMMIT" in firsts and "END" not in firsts
