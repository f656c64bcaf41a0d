"""Captured queries race servers of MySQL and MariaDB that exist: by a user who may only SELECT."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.engine import LabServer
from dbdyno.engine.mysql import connection
from dbdyno.model.error import ServerError
from dbdyno.run import blocks
from dbdyno.run.check import notices, preflight
from mysql_place import an_arm, needs
from server_place import a_place, address, started

pytestmark = pytest.mark.live
READER = "reader"
TABLES = (
    "CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, who varchar(20), KEY (who))",
    *("INSERT INTO orders (who) VALUES " + ", ".join(f"('c{n % 7}')" for n in range(500)),) * 2,
    "ANALYZE TABLE orders",
)
APP = """
[source]
engine = "mariadb"
[queries.count-orders-00000001]
text = "count.sql"
values = "count.jsonl"
calls = 10
time_s = 2.0
protocol = "prepared"
settings = { sql_mode = "ANSI_QUOTES", time_zone = "+02:00" }
[queries.insert-orders-00000002]
text = "insert.sql"
calls = 10
time_s = 1.0
writes = true
"""
PLAN = """
[arms.old]
engine = "{engines[0]}"
dsn = "{places[0]}"
{more}
[arms.new]
engine = "{engines[1]}"
dsn = "{places[1]}"
{more}
[[workloads]]
name = "{app}"
parameters = {{ seconds = 1 }}
[schedule]
interleave = "turn"
turn_s = 0.3
"""


@pytest.fixture(scope="module")
def servers() -> Iterator[list[LabServer]]:
    """A MySQL and a MariaDB with the same rows."""
    needs("mysql", "time limit of a session's statements", mysql=50708)
    with (
        a_place("mysql") as one,
        started(an_arm("mysql"), one) as old,
        a_place("mariadb") as other,
        started(an_arm("mariadb"), other) as new,
    ):
        for server in (old, new):
            server.create_database("shop")
            server.execute(*TABLES, database="shop")
            own = replace(address(server), database="")
            made = [f"CREATE USER {READER}@'%'", f"GRANT SELECT ON shop.orders TO {READER}@'%'"]
            connection.execute(own, made, 10)
        yield [old, new]


def planned(servers: list[LabServer], folder: Path, *, writes: bool = False) -> plan.Plan:
    """The plan of a race of both servers."""
    app = folder / "app"
    app.mkdir(exist_ok=True)
    (app / "workload.toml").write_text(APP)
    (app / "count.sql").write_text('SELECT count(*) FROM "orders" WHERE who = $1')
    (app / "count.jsonl").write_text('{"values": ["c1"]}\n')
    (app / "insert.sql").write_text("INSERT INTO orders (who) VALUES ('new')")
    places = [
        f"{server.engine}://{READER}@localhost/shop?socket={quote(address(server).host, safe='')}"
        for server in servers
    ]
    engines = [server.engine for server in servers]
    more = "allow_writes = true" if writes else ""
    text = PLAN.format(engines=engines, places=places, app=app, more=more)
    return replace(plan.parse(text, None), name="elsewhere")


def test_a_user_who_may_only_select_is_enough(servers: list[LabServer], tmp_path: Path) -> None:
    of = planned(servers, tmp_path)
    prepared = preflight.prepare(of)
    said = list(notices.notices(of, prepared))
    assert any("1 of 2 queries" in line and "--allow-writes" in line for line in said)
    outcome = blocks.run(of, tmp_path / "out", wait=True)
    assert outcome.failed == 0
    jobs = [json.loads(path.read_text()) for path in outcome.folder.rglob("job.json")]
    assert all("READ ONLY" in json.dumps(job["roles"]) for job in jobs)
    changes = compare.load(outcome.folder).queries
    assert {change.place.query: change.word for change in changes.answers} == {
        "count-orders-00000001": "same",
        "insert-orders-00000002": "not compared",
    }
    assert {(change.word, change.detail) for change in changes.plans} == {
        ("not known", "plans of two engines are not compared")
    }
    for server in servers:
        assert server.execute("SELECT count(*) FROM orders", database="shop") == [(1000,)]


def test_queries_that_write_run_where_arms_allow_it_and_are_rolled_back(
    servers: list[LabServer], tmp_path: Path
) -> None:
    for server in servers:
        own = replace(address(server), database="")
        connection.execute(own, [f"GRANT INSERT ON shop.orders TO {READER}@'%'"], 10)
    outcome = blocks.run(planned(servers, tmp_path, writes=True), tmp_path / "out", wait=True)
    assert outcome.failed == 0
    for server in servers:
        assert server.execute("SELECT count(*) FROM orders", database="shop") == [(1000,)]
        server.execute("INSERT INTO orders (who) VALUES ('x')", database="shop")
        ((last,),) = server.execute("SELECT max(id) FROM orders", database="shop")
        assert last > 1001, "it did run"
        server.execute("DELETE FROM orders WHERE who = 'x'", database="shop")


def test_a_missing_right_is_refused_with_the_grant_that_mends_it(
    servers: list[LabServer], tmp_path: Path
) -> None:
    of = planned(servers, tmp_path)
    for server in servers:
        server.execute("CREATE TABLE hidden (id int)", database="shop")
    (tmp_path / "app" / "count.sql").write_text("SELECT count(*) FROM hidden WHERE id = $1")
    for server in servers:
        with pytest.raises(ServerError) as refused:
            preflight.prepare(of)
        where, _, grant = str(refused.value).rpartition(": ")
        assert f"user `{READER}@%` may not run 1 of 1 queries (count-orders-00000001)" in where
        connection.execute(replace(address(server), database=""), [grant], 10)
    assert preflight.prepare(of).asked_as == {}
