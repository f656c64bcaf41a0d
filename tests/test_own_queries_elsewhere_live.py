"""Captured queries race servers that exist: by an ordinary role, which may only read."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.engine import LabServer
from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from dbdyno.run import blocks
from dbdyno.run.check import notices, preflight
from server_place import a_place, address, ends, started

pytestmark = pytest.mark.live
TABLES = (
    "CREATE ROLE reader LOGIN",
    "CREATE TABLE orders (id serial PRIMARY KEY, who text)",
    "INSERT INTO orders (who) SELECT 'c' || i % 7 FROM generate_series(1, 1000) i",
    "ANALYZE orders",
    "REVOKE ALL ON SCHEMA public FROM PUBLIC",
    "GRANT USAGE ON SCHEMA public TO reader",
    "GRANT SELECT ON orders TO reader",
)
APP = """
[source]
engine = "postgres"
settings = { work_mem = "9MB" }
[queries.count-orders-00000001]
text = "count.sql"
calls = 10
time_s = 2.0
[queries.insert-orders-00000002]
text = "insert.sql"
calls = 10
time_s = 1.0
writes = true
"""
PLAN = """
[arms.old]
dsn = "{old}"
{old_more}
[arms.new]
dsn = "{new}"
{new_more}
[[workloads]]
name = "{app}"
parameters = {{ seconds = 1 }}
[schedule]
interleave = "turn"
turn_s = 0.3
"""
WRITES = "allow_writes = true"


@pytest.fixture(scope="module")
def servers() -> Iterator[list[LabServer]]:
    arms = [
        Arm(name=name, engine="postgres", base_dir=path)
        for name, path in zip(("old", "new"), (ends()[0], ends()[-1]), strict=True)
    ]
    with a_place() as place, started(arms[0], place) as old, started(arms[1], place) as new:
        for server in (old, new):
            server.create_database("shop")
            server.execute(*TABLES)
        yield [old, new]


def planned(servers: list[LabServer], folder: Path, *, writes: bool) -> plan.Plan:
    app = folder / "app"
    app.mkdir(exist_ok=True)
    (app / "workload.toml").write_text(APP)
    (app / "count.sql").write_text("SELECT count(*) FROM orders WHERE who = 'c1'")
    (app / "insert.sql").write_text("INSERT INTO orders (who) VALUES ('new')")
    places = [
        f"postgresql://reader@{quote(at.host, safe='')}:{at.port}/{at.database}"
        for at in map(address, servers)
    ]
    more = WRITES if writes else ""
    text = PLAN.format(old=places[0], new=places[1], app=app, old_more=more, new_more=more)
    return replace(plan.parse(text, None), name="elsewhere")


def test_a_role_that_may_only_read_is_enough_and_nothing_is_written(
    servers: list[LabServer], tmp_path: Path
) -> None:
    of = planned(servers, tmp_path, writes=False)
    prepared = preflight.prepare(of)
    (by_arm,) = prepared.steps.values()
    assert {arm: [step.name for step in steps] for arm, steps in by_arm.items()} == {
        "old": ["count-orders-00000001"],
        "new": ["count-orders-00000001"],
    }
    said = list(notices.notices(of, prepared))
    assert any("1 of 2 queries" in line and "--allow-writes" in line for line in said)
    outcome = blocks.run(of, tmp_path / "out", wait=True)
    assert outcome.failed == 0
    (job, *_) = [json.loads(path.read_text()) for path in outcome.folder.rglob("job.json")]
    assert "default_transaction_read_only" in json.dumps(job["roles"])
    for server in servers:
        assert server.execute("SELECT count(*), max(id) FROM orders") == [(1000, 1000)]
        tables = "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'v') AND relowner <> 10"
        assert server.execute(tables) == [(0,)], "nothing of the lab's is left"


def test_queries_that_write_run_where_arms_allow_it_and_are_rolled_back(
    servers: list[LabServer], tmp_path: Path
) -> None:
    for server in servers:
        server.execute(
            "GRANT INSERT ON orders TO reader", "GRANT USAGE ON SEQUENCE orders_id_seq TO reader"
        )
    outcome = blocks.run(planned(servers, tmp_path, writes=True), tmp_path / "out", wait=True)
    assert outcome.failed == 0
    for server in servers:
        assert server.execute("SELECT count(*) FROM orders") == [(1000,)]
        ((last,),) = server.execute("SELECT last_value FROM orders_id_seq")
        assert last > 1000, "it did run"


def test_roles_that_the_user_may_not_take_are_left_or_refused_with_the_grant(
    servers: list[LabServer], tmp_path: Path
) -> None:
    of = planned(servers, tmp_path, writes=False)
    app = tmp_path / "app" / "workload.toml"
    app.write_text(APP.replace("time_s = 2.0", 'time_s = 2.0\nrole = "clerk"'))
    for server in servers:
        server.execute("CREATE ROLE clerk", "GRANT SELECT ON orders TO clerk")
        server.execute("GRANT USAGE ON SCHEMA public TO clerk")
    prepared = preflight.prepare(of)
    sentence = "queries run as `reader`, who may not take their role `clerk`; for `clerk`: "
    assert prepared.asked_as == dict.fromkeys(("old", "new"), f'{sentence}GRANT "clerk" TO reader')
    assert any(sentence in line for line in notices.notices(of, prepared))
    outcome = blocks.run(of, tmp_path / "out", wait=True)
    assert outcome.failed == 0
    comparison = compare.load(outcome.folder)
    assert [answer.word for answer in comparison.queries.answers] == ["same", "not compared"]
    assert sentence in comparison.servers["new"].departures[-1], "the page has it"
    for server in servers:
        server.execute("REVOKE SELECT ON orders FROM reader")
    with pytest.raises(ServerError) as refused:
        preflight.prepare(of)
    assert "may not run 1 of 1 queries, nor take their role `clerk`" in str(refused.value)
    for server in servers:
        server.execute(str(refused.value).rpartition(": ")[2])
    assert preflight.prepare(of).asked_as == {}, "the grant that was said mends it"
    for server in servers:
        server.execute("REVOKE clerk FROM reader")
        server.execute("DROP OWNED BY clerk", "DROP ROLE clerk")
    with pytest.raises(ServerError, match="GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"):
        preflight.prepare(of)
    for server in servers:
        server.execute("GRANT SELECT ON orders TO reader")
    (sentence,) = set(preflight.prepare(of).asked_as.values())
    assert sentence == "queries run as `reader`, who may not take their role `clerk`"
