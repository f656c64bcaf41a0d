"""The debt that the probe sees on real servers, against other queries and what they do then."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from dbdyno.engine import LabServer
from dbdyno.engine.postgres import probe
from dbdyno.engine.postgres.probe import pages
from dbdyno.engine.snapshot import SnapshotSubject
from dbdyno.findings.state.step import state
from dbdyno.model import Arm
from dbdyno.model.snapshot import Snapshot
from server_place import a_place, address, newest, started

pytestmark = pytest.mark.live

ROWS = 50_000
FLUSH_S = 0.8
"""After so long a server's statistics are complete (dbdyno.run.step)."""
PATIENCE_S = 60.0
OPTIONS = "WITH (autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0.01)"
"""Autovacuum comes to such a table of ROWS rows beyond 600 dead ones."""


@pytest.fixture(params=newest(), ids=lambda path: path.name, scope="module")
def one_server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server without autovacuum."""
    settings = {"autovacuum": "off", "shared_buffers": "64MB", "autovacuum_naptime": "1s"}
    arm = Arm(name="indebted", engine="postgres", base_dir=request.param, settings=settings)
    with a_place() as place, started(arm, place) as made:
        yield made


@pytest.fixture
def server(one_server: LabServer) -> LabServer:
    """It with the database `ib`, empty, and with its first settings."""
    one_server.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")
    one_server.create_database("ib")
    return one_server


def look(
    server: LabServer, *tables: str, take: Callable[[SnapshotSubject], Snapshot] = probe.before
) -> Snapshot:
    """A snapshot, with all that has happened counted."""
    time.sleep(FLUSH_S)
    return take(SnapshotSubject(address(server), tables, {}, server.data_dir, server.wal_dir))


def ask(server: LabServer, sql: str) -> tuple[Any, ...]:
    """The only row of a query of our own."""
    (row,) = server.execute(sql, database="ib")
    return row


def fill(server: LabServer, table: str, options: str = "") -> None:
    """A table of ROWS rows and an index beside its key's, vacuumed."""
    for statement in (
        f"CREATE TABLE {table} (id bigserial PRIMARY KEY, k int, data text) {options}",
        f"INSERT INTO {table} (k, data) SELECT n % 1000, 'some text' "
        f"FROM generate_series(1, {ROWS}) AS n",
        f"CREATE INDEX {table}_k ON {table} (k, id)",
        f"VACUUM ANALYZE {table}",
    ):
        server.execute(statement, database="ib")  # each in a session, or VACUUM is counted first


def test_dead_rows_and_free_space_are_what_a_whole_scan_finds(server: LabServer) -> None:
    fill(server, "pi1")
    clean = state(look(server, "pi1"))
    assert (clean["dead_rows"], clean["all_visible_share"]) == (0.0, 100.0)
    server.execute(f"DELETE FROM pi1 WHERE id <= {ROWS // 10}", database="ib")
    snapshot = look(server, "pi1")
    owing = state(snapshot)
    assert owing["dead_rows"] == ROWS // 10
    assert owing["live_rows"] == ROWS * 9 // 10
    assert owing["dead_share"] == pytest.approx(10.0)
    dead, length, visible, pages_count = ask(
        server,
        "SELECT dead_tuple_count, table_len, (SELECT count(*) FILTER (WHERE all_visible) "
        "FROM pg_visibility_map('pi1')), pg_relation_size('pi1') / 8192 FROM pgstattuple('pi1')",
    )
    assert snapshot.bloat["pi1"]["dead_rows"] == dead == ROWS // 10
    assert snapshot.bloat["pi1"]["bytes"] == length
    assert snapshot.visibility["pi1"]["pages"] == pages_count
    assert owing["all_visible_share"] == pytest.approx(100 * visible / pages_count)
    assert 85 < owing["all_visible_share"] < 95
    server.execute("VACUUM pi1", database="ib")
    paid = state(look(server, "pi1"))
    assert (paid["dead_rows"], paid["all_visible_share"]) == (0.0, 100.0)
    (free,) = ask(server, "SELECT free_percent FROM pgstattuple('pi1')")
    assert paid["free_share"] == pytest.approx(free, abs=0.5)
    assert 8 < free < 12


def test_the_leaves_of_indexes_are_as_full_as_they_are(server: LabServer) -> None:
    fill(server, "pi1")
    found = look(server, "pi1", take=probe.after).leaves
    assert found.keys() == {"pi1_pkey", "pi1_k"}
    assert found["pi1_k"]["density_percent"] > 85
    server.execute(f"DELETE FROM pi1 WHERE id > {ROWS // 2}", "VACUUM pi1", database="ib")
    assert look(server, "pi1").leaves["pi1_k"]["density_percent"] < 60


def test_dirty_buffers_are_those_of_the_list_and_gone_after_a_checkpoint(server: LabServer) -> None:
    fill(server, "pi1")
    found = look(server, "pi1").buffers
    listed = "SELECT count(*) FILTER (WHERE isdirty), count(relfilenode) FROM pg_buffercache"
    dirty, used = ask(server, listed)
    assert found["dirty"] == pytest.approx(dirty, abs=20)
    assert found["used"] == pytest.approx(used, abs=200)
    assert found["dirty_bytes"] == found["dirty"] * 8192 > 1 << 20
    server.execute("CHECKPOINT", database="ib")
    assert look(server, "pi1").buffers["dirty"] < 20


def test_wal_since_the_checkpoint_is_what_was_written_since(server: LabServer) -> None:
    fill(server, "pi1")
    server.execute("CHECKPOINT", database="ib")
    after = look(server, "pi1").wal  # it made the extensions
    server.execute("CHECKPOINT", database="ib")
    first = look(server, "pi1").wal
    assert first["since_checkpoint_bytes"] < 10_000 < after["since_checkpoint_bytes"]
    assert FLUSH_S * 0.9 < first["since_checkpoint_s"] < 60
    server.execute("INSERT INTO pi1 (k) SELECT 1 FROM generate_series(1, 20000)", database="ib")
    last = look(server, "pi1").wal
    written = last["position_bytes"] - first["position_bytes"]
    grown = last["since_checkpoint_bytes"] - first["since_checkpoint_bytes"]
    assert grown == written > 1 << 20
    assert last["since_checkpoint_s"] > first["since_checkpoint_s"]


def test_tables_that_are_due_are_those_to_which_autovacuum_comes(server: LabServer) -> None:
    """601 dead rows bring a vacuum, 599 do not; from 13 on 11,001 inserted ones do."""
    inserts = "autovacuum_vacuum_insert_threshold = 1000"
    newer = server.facts().version_num >= 130000
    fill(server, "beyond", OPTIONS)
    fill(server, "within", OPTIONS)
    fill(server, "grown", f"WITH ({inserts})" if newer else "")
    fill(server, "still")
    server.execute(
        "DELETE FROM beyond WHERE id <= 601",
        "DELETE FROM within WHERE id <= 599",
        "INSERT INTO grown (k) SELECT 1 FROM generate_series(1, 11005)",
        database="ib",
    )
    tables = ("beyond", "within", "grown", "still")
    snapshot = look(server, *tables)
    found = state(snapshot)
    due = {"beyond", "grown"} if newer else {"beyond"}
    assert snapshot.vacuum["beyond"]["dead_rows_max"] == 600
    assert found["vacuum_due_tables"] == len(due)
    share = ask(server, "SELECT reltuples FROM pg_class WHERE relname = 'grown'")[0]
    assert share == ROWS
    backlog = 1 + (11_005 - inserted_max(snapshot) if newer else 0)
    assert found["vacuum_backlog_rows"] == pytest.approx(backlog)
    server.execute("ALTER SYSTEM SET autovacuum = on", "SELECT pg_reload_conf()")
    counts = "SELECT relname FROM pg_stat_user_tables WHERE autovacuum_count > 0"

    def came() -> set[str]:
        return {row[0] for row in server.execute(counts, database="ib")}

    wait_for(lambda: came() >= due)
    time.sleep(3.0)  # rounds in which it could come to others
    assert came() == due
    assert state(look(server, *tables))["vacuum_due_tables"] == 0


def inserted_max(snapshot: Snapshot) -> float:
    """The threshold of the table that only grew: as 18 takes frozen pages off, 13 does not."""
    found = snapshot.vacuum["grown"]["inserted_rows_max"]
    assert isinstance(found, float)
    assert 1_000 <= found <= 1_000 + 0.2 * ROWS
    return found


def wait_for(reached: Callable[[], bool]) -> None:
    """Waits until something is so; fails where it takes too long."""
    end_s = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < end_s, "it never came"
        time.sleep(0.2)


def test_what_holds_vacuum_up_is_seen(server: LabServer) -> None:
    fill(server, "pi1")
    where = address(server)
    assert look(server, "pi1").horizon["xmin_age"] is None
    server.execute("SELECT pg_create_physical_replication_slot('kept', true)", database="ib")
    with psycopg.connect(host=where.host, port=where.port, user=where.user, dbname="ib") as holding:
        holding.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        holding.execute("INSERT INTO pi1 (k) VALUES (1)")
        server.execute(*["INSERT INTO pi1 (k) VALUES (1)"] * 30, database="ib")
        found = look(server, "pi1").horizon
    server.execute("SELECT pg_drop_replication_slot('kept')", database="ib")
    assert found["xmin_age"] >= 30
    assert found["transaction_age"] >= 30
    assert found["transaction_s"] >= FLUSH_S
    assert found["prepared_transactions"] == 0
    slots = found["slots"]
    assert isinstance(slots, list) and len(slots) == 1
    (slot,) = slots
    assert (slot["name"], slot["type"], slot["active"]) == ("kept", "physical", False)
    assert slot["position_bytes"] > 1 << 20


def test_an_autovacuum_that_runs_is_seen_with_its_start(server: LabServer) -> None:
    fill(server, "pi1", OPTIONS)
    server.execute(
        f"DELETE FROM pi1 WHERE id <= {ROWS // 2}",
        "ALTER TABLE pi1 SET (autovacuum_vacuum_cost_delay = 100)",
        "ALTER TABLE pi1 SET (autovacuum_vacuum_cost_limit = 1)",
        "ALTER SYSTEM SET autovacuum = on",
        database="ib",
    )
    before_ms = time.time() * 1000
    server.execute("SELECT pg_reload_conf()")
    shown = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'autovacuum: VACUUM%'"
    wait_for(lambda: ask(server, shown)[0] > 0)
    (run,) = look(server, "pi1", take=probe.after).running
    assert (run.name, run.table) == ("automatic vacuum", "public.pi1")
    assert before_ms < run.since_unix_ms < time.time() * 1000 - FLUSH_S * 1000


def test_partitions_stand_for_their_table(server: LabServer) -> None:
    if server.facts().version_num < 110000:
        pytest.skip("PostgreSQL 10 has no keys of partitions: `dyno server fetch postgres 12` has")
    server.execute(
        "CREATE TABLE parts (id bigint PRIMARY KEY, k int) PARTITION BY RANGE (id)",
        "CREATE TABLE parts_p0 PARTITION OF parts FOR VALUES FROM (0) TO (30000)",
        "CREATE TABLE parts_p1 PARTITION OF parts FOR VALUES FROM (30000) TO (MAXVALUE)",
        f"INSERT INTO parts SELECT n, n FROM generate_series(1, {ROWS}) AS n",
        database="ib",
    )
    server.execute("DELETE FROM parts WHERE id <= 1000", database="ib")
    snapshot = look(server, "parts", "nowhere")
    assert list(snapshot.tables) == ["parts_p0", "parts_p1"]
    assert snapshot.indexes.keys() == {"parts_p0_pkey", "parts_p1_pkey"}
    assert snapshot.unavailable["tables.nowhere"] == "there is no such table"
    found = state(snapshot)
    assert (found["live_rows"], found["dead_rows"]) == (ROWS - 1000, 1000)
    (size,) = ask(server, "SELECT sum(pg_table_size(inhrelid)) FROM pg_inherits "
                          "WHERE inhparent = 'parts'::regclass")  # fmt: skip
    assert found["table_bytes"] == size


def test_more_pages_than_may_be_read_are_left_unread_with_the_reason(
    server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(server, "pi1")
    server.execute("UPDATE pi1 SET k = 0", database="ib")
    look(server, "pi1")  # makes the extensions
    monkeypatch.setattr(pages, "PAGES_READ_MAX", 10)
    monkeypatch.setattr(pages, "SHARE_READ_MAX", 1.0)
    read = "SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables"
    (before,) = ask(server, read)
    found = look(server, "pi1")
    time.sleep(FLUSH_S)
    assert ask(server, read)[0] - before < 3, "more than the visibility map was read"
    assert found.bloat is found.leaves is None
    assert "more than the 10 that are read" in found.unavailable["bloat"]
    assert "pages of indexes" in found.unavailable["leaves"]
    assert state(found)["free_share"] is None
    assert state(found)["all_visible_share"] == 0.0


def test_a_table_that_has_just_been_loaded_is_not_read(server: LabServer) -> None:
    """Its hint bits are left for the step that comes to it first, such as l.x."""
    for statement in (
        "CREATE TABLE loaded (id bigint)",
        "INSERT INTO loaded SELECT generate_series(1, 10000)",
    ):
        server.execute(statement, database="ib")
    found = look(server, "loaded")
    assert found.bloat is None
    assert found.unavailable["bloat"] == (
        "45 of 45 pages of tables that changed since their last vacuum: more than the 11 that are "
        "read"
    )


def test_a_list_of_too_many_buffers_is_not_asked_for(
    server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbdyno.engine.postgres.probe.statistics.BUFFERS_LISTED_MAX", 100)
    found = look(server)
    if found.version_num >= 160000:
        assert found.buffers["used"] > 100
    else:
        assert found.buffers == {"dirty": None, "dirty_bytes": None}
        assert "a list of 8,192 buffers is too long" in found.unavailable["buffers"]
