"""Snapshots of a real MySQL and a real MariaDB, and the sampler on their threads."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pymysql
import pytest
from pymysql.cursors import Cursor

import mysql_place
from dbdyno.engine import LabServer
from dbdyno.engine.mysql import probe
from dbdyno.engine.mysql.connection import connect
from dbdyno.engine.snapshot import SnapshotSubject
from dbdyno.findings.server_counters import metrics
from dbdyno.findings.state.step import state
from dbdyno.host.observe.sampler import Sampler
from dbdyno.model import Address
from dbdyno.model.error import ServerError
from dbdyno.model.events import ConnectedEvent
from dbdyno.model.snapshot import Snapshot
from dbdyno.store import JsonLines
from server_place import address

pytestmark = pytest.mark.live

ROWS = 2_000
BINLOG_BYTES_PER_ROW = 60
"""At least: the row as it is, without the text's few bytes."""
LOOP_S = 1.0
CLOSE_NS = 0.15e9
EXPLAIN = {
    "market": "SELECT price, customerid FROM pi1 FORCE INDEX (pi1_market) WHERE productid >= 5 "
    "ORDER BY productid LIMIT 10",
    "delete": "DELETE FROM pi1 WHERE transactionid >= 5 ORDER BY transactionid LIMIT 50",
    "alter": "ALTER TABLE pi1 ADD KEY k (price)",
}


@pytest.fixture(scope="module", name="server")
def _server(mysql_server: LabServer) -> Iterator[LabServer]:
    """A server with a table in a database of its own, and a second one in parts."""
    mysql_server.create_database("probed")
    mysql_server.execute(
        "CREATE TABLE pi1 (transactionid bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, "
        "productid int NOT NULL, customerid int NOT NULL, price int NOT NULL, data varchar(4000), "
        "KEY pi1_market (productid, customerid, price)) ENGINE=innodb",
        "CREATE TABLE parts (id bigint PRIMARY KEY) ENGINE=innodb PARTITION BY RANGE (id) "
        "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
        *filled(),
        "ANALYZE TABLE pi1",
    )
    yield mysql_server


def filled() -> list[str]:
    """Inserts ROWS rows, a hundred at a time."""
    row = "(%d, 7, 8, 'aaaaaaaaaaaaaaa')"
    statements = []
    for begin in range(0, ROWS, 100):
        values = ", ".join(row % number for number in range(begin, begin + 100))
        statements.append(f"INSERT INTO pi1 (productid, customerid, price, data) VALUES {values}")
    return statements


def snapshot(server: LabServer, *, after: bool = False) -> Snapshot:
    """A snapshot as the runner takes it."""
    tables = ("pi1", "parts", "missing")
    subject = SnapshotSubject(address(server), tables, EXPLAIN, (), server.data_dir, server.wal_dir)
    return server.client.snapshot("after" if after else "before", subject)


def test_a_snapshot_has_every_part_or_the_reason(server: LabServer) -> None:
    mysql_place.needs(server.engine, "innodb_metrics", mysql=80000)
    found = snapshot(server)
    json.dumps(msgspec.to_builtins(found), allow_nan=False)
    missing = {name for name in found.__struct_fields__ if getattr(found, name) is None}
    assert missing == {
        *("checkpoints", "background_writer", "database", "io", "autovacuum_runs", "vacuum"),
        *("visibility", "bloat", "leaves"),
    }
    assert missing < found.unavailable.keys()
    assert "tables.missing" in found.unavailable
    assert found.engine == server.engine
    assert len(found.status) > 200
    known = state(found)
    assert known["live_rows"] == pytest.approx(ROWS, rel=0.3)
    for name in ("table_bytes", "index_bytes", "database_bytes", "wal_dir_bytes"):
        assert known[name] and known[name] > 50_000, name
    assert known["data_dir_bytes"] > known["database_bytes"] + known["wal_dir_bytes"]
    for name in ("history", "dirty_share", "wal_since_checkpoint_bytes", "binlog_bytes"):
        assert known[name] is not None and known[name] >= 0, name


def test_plans_are_read_in_one_form_of_both_engines(server: LabServer) -> None:
    mysql_place.needs(server.engine, "EXPLAIN FORMAT=JSON", mysql=80000)
    found = snapshot(server).explain
    assert found["market"].custom.startswith("range on pi1 by pi1_market: ")
    assert found["delete"].custom.startswith("range on pi1 by PRIMARY: Using where")
    assert found["alter"].custom is None


@pytest.mark.capability("probe")
def test_what_is_written_between_two_snapshots_is_their_difference(server: LabServer) -> None:
    first = snapshot(server)
    again = snapshot(server, after=True)
    assert metrics.binlog_bytes(first.binlog, again.binlog) == 0
    rows = "innodb_rows_read" if server.engine == "mysql" else "rows_read"
    assert again.status[rows] - first.status[rows] < 100  # nothing of the probe's own
    before = snapshot(server)
    server.execute(*filled(), "FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS")
    after = snapshot(server, after=True)
    redo = after.wal["position_bytes"] - before.wal["position_bytes"]
    assert redo > ROWS * BINLOG_BYTES_PER_ROW
    written = metrics.binlog_bytes(before.binlog, after.binlog)
    enabled = after.binlog.enabled
    assert written == 0 if not enabled else written and written > 20 * ROWS


def test_a_server_that_is_not_there_is_named_with_its_socket(tmp_path: Path) -> None:
    nowhere = Address(host=str(tmp_path / "s.sock"), port=0, user="dyno", database="ib")
    with pytest.raises(ServerError, match=r"database `ib` at /.*s\.sock: error 2003: "):
        probe.before(SnapshotSubject(nowhere))


@pytest.mark.capability("probe")
def test_owners_are_threads_and_add_up_to_the_process(server: LabServer, tmp_path: Path) -> None:
    mysql_place.needs(server.engine, "ids of threads", mysql=80000)
    path = tmp_path / "host.jsonl"
    watch = Sampler(JsonLines(path), device=None, server=server)
    with closing(connect(address(server), "test")) as connection:
        watch.observe(
            ConnectedEvent(
                mono_ns=1,
                role="query",
                client=0,
                connection=0,
                server_pid=connection.thread_id(),
                server_tid=thread_of(server, connection.thread_id()),
            )
        )
        before_ns = process_ns(server)
        watch.read("open")
        work(connection)
        watch.read("close")
        spent_ns = process_ns(server) - before_ns
    watch.stop()
    opened, closed = (json.loads(line)["owners"] for line in path.read_text().splitlines())

    def spent(owner: str) -> float:
        return float(closed[owner]["cpu_ns"] - opened.get(owner, {"cpu_ns": 0})["cpu_ns"])

    whole = sum(spent(owner) for owner in closed if owner != "lab")
    assert whole == pytest.approx(spent_ns, abs=CLOSE_NS)
    assert spent("role:query") > 0.5 * whole > 0.05e9
    assert "background:main" in closed
    if server.engine == "mysql":
        assert {"background:page cleaner", "background:log writer"} < closed.keys()


def work(connection: pymysql.Connection[Cursor]) -> None:
    """Keeps the connection's thread busy for LOOP_S."""
    end_s = time.monotonic() + LOOP_S
    with connection.cursor() as cursor:
        while time.monotonic() < end_s:
            cursor.execute("SELECT BENCHMARK(50000, SHA2('x', 256))")


def thread_of(server: LabServer, connection_id: int) -> int:
    """The kernel's id of the thread of a connection, as the load generator finds it."""
    sql = {
        "mysql": "SELECT thread_os_id FROM performance_schema.threads WHERE processlist_id = ",
        "mariadb": "SELECT tid FROM information_schema.processlist WHERE id = ",
    }[server.engine]
    ((thread,),) = server.execute(f"{sql}{connection_id}")
    return int(thread)


def process_ns(server: LabServer) -> int:
    """CPU of the whole process by the kernel's own account, to a clock tick."""
    text = Path(f"/proc/{server.postmaster_pid}/stat").read_text()
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) * 10_000_000
