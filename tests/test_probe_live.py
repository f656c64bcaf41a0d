"""Snapshots of real servers, of every major version that is here, and the sampler on one."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest

from dbdyno.engine import LabServer
from dbdyno.engine.postgres import probe
from dbdyno.engine.snapshot import SnapshotSubject
from dbdyno.host.observe import device
from dbdyno.host.observe.sampler import Sampler
from dbdyno.model import Address, Arm
from dbdyno.model.error import ServerError
from dbdyno.model.snapshot import Snapshot, StatementPlan
from dbdyno.store import JsonLines
from server_place import a_place, address, each, started

pytestmark = pytest.mark.live

TABLES = tuple(f"pi{number}" for number in range(1, 13))
SNAPSHOT_S_MAX = 1.0
"""Far over what a snapshot takes (0.04 s), as test machines are busy."""

EXPLAIN = {
    "insert": "INSERT INTO pi1 (k, price, made, data) VALUES "
    + ", ".join(f"(${4 * n + 1}, ${4 * n + 2}, ${4 * n + 3}, ${4 * n + 4})" for n in range(50)),
    "delete": "DELETE FROM pi1 WHERE id IN "
    "(SELECT id FROM pi1 WHERE id >= $1 ORDER BY id LIMIT $2)",
    "query": "SELECT k, id FROM pi1 WHERE k >= $1 ORDER BY k, data LIMIT 10",
    "between": "SELECT id FROM pi1 WHERE made >= $1 AND price BETWEEN $2 AND $3",
    "plain": "SELECT count(*) FROM pi2",
}


@pytest.fixture(params=each(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server with twelve small tables in the database `ib`."""
    arm = Arm(
        name="probed",
        engine="postgres",
        base_dir=request.param,
        settings={"autovacuum": "off", "shared_buffers": "32MB"},
    )
    with a_place() as place, started(arm, place) as made:
        made.create_database("ib")
        made.execute(*tables_sql(), database="ib")
        yield made


def tables_sql() -> list[str]:
    """Makes and fills the tables."""
    statements = []
    for table in TABLES:
        columns = "id bigserial PRIMARY KEY, k int, price numeric, made timestamp, data text"
        statements += [
            f"CREATE TABLE {table} ({columns})",
            f"INSERT INTO {table} (k, data) SELECT n, 'x' FROM generate_series(1, 1000) AS n",
            f"CREATE INDEX {table}_k ON {table} (k, data)",
            f"ANALYZE {table}",
        ]
    return statements


def subject(server: LabServer, tables: tuple[str, ...]) -> SnapshotSubject:
    """What the runner takes a snapshot of."""
    return SnapshotSubject(address(server), tables, EXPLAIN, (), server.data_dir, server.wal_dir)


def snapshot(server: LabServer, tables: tuple[str, ...] = TABLES) -> Snapshot:
    """A snapshot as the runner takes it before a step."""
    return probe.before(subject(server, tables))


def snapshot_after(server: LabServer, tables: tuple[str, ...] = TABLES) -> Snapshot:
    """A snapshot as the runner takes it after a step."""
    return probe.after(subject(server, tables))


def rows(server: LabServer, sql: str) -> list[tuple[object, ...]]:
    """What a query of our own gives."""
    where = address(server)
    with psycopg.connect(host=where.host, port=where.port, user=where.user, dbname="ib") as asked:
        return asked.execute(sql.encode()).fetchall()


PARTS = {
    *("mono_ns", "unix_ns", "version_num", "wal", "checkpoints", "background_writer"),
    *("database", "io", "tables", "indexes", "sizes", "autovacuum_runs", "buffers"),
    *("visibility", "bloat", "leaves", "vacuum", "running", "horizon"),
    *("explain", "unavailable", "took_us"),
}
"""Of PostgreSQL."""


def test_a_snapshot_is_json_and_has_every_documented_part(server: LabServer) -> None:
    found = snapshot(server)
    written = json.dumps(msgspec.to_builtins(found), allow_nan=False)
    assert msgspec.json.decode(written, type=Snapshot) == found
    assert json.loads(written).keys() | found.unavailable.keys() >= PARTS
    assert found.wal.keys() == {
        *("position_bytes", "since_checkpoint_bytes", "since_checkpoint_s"),
        *("records", "full_page_images", "bytes", "buffers_full"),
    }
    assert {"timed", "requested", "write_ms", "sync_ms", "buffers"} <= found.checkpoints.keys()
    version = server.facts().version_num
    assert found.version_num == version
    assert (found.io is None) == (version < 160000)
    assert (found.wal["records"] is None) == (version < 140000)
    assert None not in found.buffers.values()


def test_whatever_is_null_is_named_with_its_reason(server: LabServer) -> None:
    found = snapshot(server)
    missing = {name for name in PARTS if getattr(found, name) is None}
    for name in ("wal", "checkpoints", "background_writer", "sizes"):
        part = getattr(found, name)
        missing |= {f"{name}.{key}" for key, value in part.items() if value is None}
    assert missing <= found.unavailable.keys()
    assert not missing & {"wal.position_bytes", "checkpoints", "database", "tables", "indexes"}
    assert all("\n" not in reason for reason in found.unavailable.values())


@pytest.mark.capability("probe")
def test_what_the_server_did_is_the_difference_of_two_snapshots(server: LabServer) -> None:
    before = snapshot(server)
    server.execute(
        "INSERT INTO pi3 (k, data) SELECT n, 'y' FROM generate_series(1, 500) AS n",
        "DELETE FROM pi3 WHERE data = 'y' AND k <= 200",
        "CHECKPOINT",
        database="ib",
    )
    time.sleep(1.5)  # statistics are flushed late
    after = snapshot_after(server)
    grown = {
        key: after.tables["pi3"][key] - before.tables["pi3"][key]
        for key in ("n_tup_ins", "n_tup_del", "n_dead_tup")
    }
    assert grown == {"n_tup_ins": 500, "n_tup_del": 200, "n_dead_tup": 200}
    assert after.wal["position_bytes"] - before.wal["position_bytes"] > 500 * 50
    assert after.checkpoints["requested"] == before.checkpoints["requested"] + 1
    assert after.database["tup_inserted"] >= before.database["tup_inserted"] + 500


def test_looking_leaves_no_traces_in_the_tables_counters(server: LabServer) -> None:
    changed = "UPDATE pi4 SET data = 'z' WHERE id = 500"
    server.execute(*(f"VACUUM {table}" for table in TABLES), changed, database="ib")
    snapshot(server)
    time.sleep(1.5)
    before = snapshot(server)
    time.sleep(1.5)
    after = snapshot_after(server)
    for name in ("n_tup_ins", "n_tup_upd", "n_tup_del", "seq_scan", "n_dead_tup"):
        assert after.tables["pi1"][name] == before.tables["pi1"][name]
    assert before.bloat["pi4"]["scanned_percent"] > 0  # pages were read, but not counted
    for name in ("heap_blks_hit", "heap_blks_read"):
        assert after.tables["pi4"][name] == before.tables["pi4"][name]
    assert after.wal["position_bytes"] - before.wal["position_bytes"] < 4096


def test_sizes_are_the_servers_own_and_those_of_the_files(server: LabServer) -> None:
    found = snapshot(server)
    ((heap, index, total, database),) = rows(
        server,
        "SELECT pg_relation_size('pi1'), pg_indexes_size('pi1'), pg_total_relation_size('pi1'), "
        "pg_database_size('ib')",
    )
    table = found.tables["pi1"]
    assert (table["heap_bytes"], table["index_bytes"], table["total_bytes"]) == (heap, index, total)
    assert sum(found.indexes[name]["bytes"] for name in ("pi1_pkey", "pi1_k")) == index
    assert found.indexes["pi1_k"]["table"] == "pi1"
    sizes = found.sizes
    assert sizes["database_bytes"] == pytest.approx(database, rel=0.01)
    assert sizes["data_dir_bytes"] > sizes["wal_dir_bytes"] + sizes["database_bytes"]
    assert sizes["wal_dir_bytes"] >= sizes["wal_files"] * (1 << 24) > 0


def test_the_log_is_measured_over_sql_where_the_folder_is_not_known(server: LabServer) -> None:
    found = probe.before(SnapshotSubject(address(server)))
    assert found.sizes["data_dir_bytes"] is None
    assert "sizes.data_dir_bytes" in found.unavailable
    known = snapshot(server).sizes["wal_files"]
    if found.version_num >= 100000:
        assert found.sizes["wal_files"] == known
    else:
        assert "9.6" in found.unavailable["sizes.wal_dir_bytes"]


def test_a_table_that_is_not_there_is_left_out_and_named(server: LabServer) -> None:
    found = snapshot(server, ("pi1", "nowhere"))
    assert found.tables.keys() == {"pi1"}
    assert found.unavailable["tables.nowhere"] == "there is no such table"
    assert found.indexes.keys() == {"pi1_pkey", "pi1_k"}


@pytest.mark.capability("probe")
def test_every_statement_has_its_plans_and_none_is_run(server: LabServer) -> None:
    before = rows(server, "SELECT count(*), min(id) FROM pi1")
    found = snapshot(server)
    for name in EXPLAIN:
        assert "cost=" in found.explain[name].custom
    assert found.explain["insert"].custom.startswith("Insert on pi1")
    assert "Delete on pi1" in found.explain["delete"].custom
    if found.version_num >= 120000:
        assert "$1" in found.explain["query"].generic
        assert "$1" not in found.explain["query"].custom
    else:
        assert found.explain["query"].generic is None
        assert "explain.generic" in found.unavailable
    assert rows(server, "SELECT count(*), min(id) FROM pi1") == before


def test_a_statement_without_a_plan_does_not_hinder_the_others(server: LabServer) -> None:
    statements = {
        "vacuum": "VACUUM pi1",
        "gone": "SELECT * FROM nowhere WHERE a = $1",
        "query": EXPLAIN["query"],
    }
    found = probe.before(SnapshotSubject(address(server), TABLES, statements))
    assert found.explain["vacuum"] == StatementPlan()
    assert found.explain["query"].custom is not None
    assert "nowhere" in found.unavailable["explain.gone"]
    assert found.database["numbackends"] >= 1


@pytest.mark.soak
def test_a_snapshot_is_quick(server: LabServer) -> None:
    took_s = sorted(snapshot(server).took_us / 1e6 for _ in range(3))
    assert took_s[0] < SNAPSHOT_S_MAX


def test_each_owner_of_a_real_server_is_told_apart(server: LabServer, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    where = address(server)
    with psycopg.connect(host=where.host, port=where.port, user=where.user, dbname="ib") as worked:
        watch = Sampler(JsonLines(path), device=device.find(server.data_dir), server=server)
        watch.add_role(worked.info.backend_pid, "query")
        watch.read("open", time.monotonic_ns())
        worked.execute("SELECT count(*) FROM generate_series(1, 2000000)")
        server.execute("SELECT count(*) FROM generate_series(1, 1000000)", database="ib")
        watch.read("close", time.monotonic_ns())
        time.sleep(0.5)  # what ends during a reading is counted at the next
        watch.read("end")
        watch.stop()
    opened, _, closed = (json.loads(line) for line in path.read_text().splitlines())

    def spent_ms(owner: str) -> float:
        before = opened["owners"].get(owner, {"cpu_ns": 0})["cpu_ns"]
        return float(closed["owners"][owner]["cpu_ns"] - before) / 1e6

    assert {"background:checkpointer", "background:walwriter"} <= closed["owners"].keys()
    assert spent_ms("role:query") > 50
    # The backend of `execute` came between two readings, and may have been seen before it went.
    others = {"exited", "backend:other"} & closed["owners"].keys()
    assert sum(map(spent_ms, others)) > 20
    assert closed["owners"]["role:query"]["processes"] == 1
    assert closed["rss_bytes"] > 1 << 20


def test_a_server_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    nowhere = Address(host=str(tmp_path), port=5432, user="dyno", database="ib")
    with pytest.raises(ServerError, match=r"database `ib` at .*5432") as raised:
        probe.before(SnapshotSubject(nowhere))
    assert "\n" not in str(raised.value)
