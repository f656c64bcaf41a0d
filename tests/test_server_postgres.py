"""A real PostgreSQL from its data directory to its end, on every major version that is here."""

import dataclasses
import os
import signal
import socket
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from dbdyno.engine import LabServer, Place
from dbdyno.engine.arm_server import provide
from dbdyno.engine.postgres.connection import opened
from dbdyno.host import process
from dbdyno.model import Arm
from dbdyno.model.error import HostError, PlanError, ServerError
from dbdyno.model.step_files import LogEvent
from server_place import a_place, address, ends, started, within

pytestmark = pytest.mark.live
WAIT_S = 10.0
until = partial(within, WAIT_S)


@pytest.fixture
def own(place: Place, base_dir: Path) -> Iterator[LabServer]:
    """A server for one test alone."""
    with started(an_arm(base_dir), place) as server:
        yield server


@pytest.fixture(scope="module")
def shared(base_dir: Path) -> Iterator[LabServer]:
    """A server for the tests that leave it as it was."""
    settings = {"autovacuum_naptime": "1s", "autovacuum_vacuum_threshold": "10"}
    with a_place() as place, started(an_arm(base_dir, settings=settings), place) as server:
        yield server


def an_arm(base_dir: Path, **changes: object) -> Arm:
    arm = Arm(name="a", engine="postgres", base_dir=base_dir, config="x10a", memory="256MB")
    return dataclasses.replace(arm, **changes)


def a_connection(server: LabServer) -> psycopg.Connection:
    address = server.address()
    assert address is not None
    return psycopg.connect(
        host=address.host, port=address.port, user=address.user, dbname=address.database
    )


@pytest.mark.capability("servers")
def test_it_answers_over_its_socket_and_listens_nowhere_else(shared: LabServer):
    assert shared.load_address == shared.address()
    assert shared.execute("SELECT 1") == [(1,)]
    assert shared.execute("SHOW listen_addresses") == [("",)]


def test_statements_run_each_by_itself_and_the_last_gives_its_rows(shared: LabServer):
    shared.create_database("ib")
    rows = shared.execute(
        "CREATE TABLE t (a int)", "INSERT INTO t VALUES (7)", "VACUUM t", "TABLE t"
    )
    assert rows == [(7,)]
    assert shared.address().database == "ib"
    shared.create_database("ib")
    with pytest.raises(ServerError, match=r"arm a: `TABLE t`: .*does not exist"):
        shared.execute("TABLE t")


def test_a_statement_has_a_time_limit(shared: LabServer):
    begun = time.monotonic()
    with pytest.raises(ServerError, match="statement timeout"):
        shared.execute("SELECT pg_sleep(60)", limit_s=0.3)
    assert time.monotonic() - begun < WAIT_S


def test_it_runs_as_an_unprivileged_account_with_checksums_on(shared: LabServer):
    facts = shared.facts()
    owner = Path(f"/proc/{shared.postmaster_pid}").stat().st_uid
    assert owner != 0
    assert facts.user != "root"
    assert facts.data_checksums == "on"
    assert shared.execute("SHOW data_checksums") == [("on",)]


def test_facts_tell_version_compiler_and_every_setting_with_its_unit(
    shared: LabServer, base_dir: Path
):
    facts = shared.facts()
    assert facts.engine == "postgres"
    assert facts.version.startswith(base_dir.name.split(".")[0])
    assert "gcc" in facts.compiler or "clang" in facts.compiler
    assert facts.settings["shared_buffers"] == "184MB"
    assert facts.nondefault["synchronous_commit"] == "off"
    assert "work_mem" not in facts.nondefault
    assert facts.settings["statement_timeout"] == "0", "our own session's is no fact of the server"
    assert facts.preset["shared_buffers"] == "184MB"
    assert any("shared_buffers" in sentence for sentence in facts.departures)
    assert 0 < facts.initdb_s < 60
    assert 0 < facts.start_s < 60


def test_processes_are_told_apart_by_what_they_are_for(shared: LabServer):
    with a_connection(shared) as connection:
        pid = connection.info.backend_pid
        assert until(lambda: shared.processes().get(pid) == "backend")
        kinds = shared.processes()
        assert {"checkpointer", "background writer", "walwriter", "autovacuum launcher"} <= set(
            kinds.values()
        )
        # A worker that is just born has no title yet; it has one when it is looked at again.
        assert until(lambda: "other" not in shared.processes().values())
        assert shared.postmaster_pid not in kinds
    assert until(lambda: pid not in shared.processes())


def test_children_found_by_a_scan_are_those_that_the_kernel_lists(shared: LabServer):
    pid = shared.postmaster_pid
    assert until(lambda: set(process.children(pid)) == set(process.children_by_scan(pid)) != set())


def test_it_is_well_until_a_backend_is_killed(own: LabServer):
    assert own.failure() is None
    with a_connection(own) as connection, pytest.raises(psycopg.OperationalError):
        os.kill(connection.info.backend_pid, signal.SIGKILL)
        connection.execute("SELECT pg_sleep(10)")
    assert until(own.failure)
    assert "crashed and restarted" in own.failure()
    assert "signal 9" in own.failure()
    # It stays, though the server is up again.
    assert until(lambda: own.execute("SELECT 1") == [(1,)] if is_up(own) else False)
    assert "signal 9" in own.failure()


def is_up(server: LabServer) -> bool:
    try:
        a_connection(server).close()
    except psycopg.Error:
        return False
    return True


def test_ending_a_backend_by_the_server_is_no_crash(shared: LabServer):
    with a_connection(shared) as connection, pytest.raises(psycopg.OperationalError):
        shared.execute(f"SELECT pg_terminate_backend({connection.info.backend_pid})")
        connection.execute("SELECT 1")
    assert shared.failure() is None


@pytest.mark.capability("servers")
def test_a_killed_postmaster_is_a_failure_and_leaves_nothing_behind(own: LabServer):
    pid = own.postmaster_pid
    children = list(own.processes())
    mapped = [Path(path) for path in files_mapped_by(pid)]
    assert mapped
    os.kill(pid, signal.SIGKILL)
    assert until(own.failure)
    assert "ended with signal 9" in own.failure()
    assert own.postmaster_pid is None
    own.stop()
    # One that has just ended is there until init has taken note of it.
    assert until(lambda: not any(process.start_ticks(child) for child in children))
    assert not any(path.exists() for path in mapped)
    assert str(pid) not in creators_of_segments()


def files_mapped_by(pid: int) -> set[str]:
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if "/dev/shm/PostgreSQL" in line}


def creators_of_segments() -> list[str]:
    return [line.split()[4] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]


def test_a_shutdown_writes_a_checkpoint_and_another_start_finds_the_data(own: LabServer):
    own.create_database("ib")
    own.execute("CREATE TABLE t AS SELECT 1 AS a")
    before = own.log_position()
    own.stop()
    assert own.postmaster_pid is None
    said = "\n".join(own.log_tail())
    assert "database system is shut down" in said
    assert [event.name for event in own.log_events(before)][-1] == "checkpoint complete"
    own.start()
    assert own.execute("TABLE t") == [(1,)]
    assert own.failure() is None


def test_the_log_gives_events_with_times_and_durations(shared: LabServer):
    shared.create_database("ib")
    begun_ms = time.time() * 1000
    since = shared.log_position()
    with opened(address(shared), "somebody") as other, pytest.raises(psycopg.Error):
        other.execute("SELECT nothing")
    with pytest.raises(ServerError):
        shared.execute("SELECT our_own")
    shared.execute("CHECKPOINT")
    events = {event.name: event for event in shared.log_events(since)}
    by_itself = {"automatic vacuum", "automatic analyze"}
    assert set(events) - by_itself == {"error", "checkpoint starting", "checkpoint complete"}
    assert begun_ms - 1000 < events["error"].unix_ms < time.time() * 1000 + 1000
    assert 'column "nothing" does not exist' in events["error"].text, "ours is not the server's"
    assert 0 <= events["checkpoint complete"].duration_s < 60


def test_an_autovacuum_is_an_event_with_its_duration(shared: LabServer):
    shared.create_database("ib")
    shared.execute("CREATE TABLE t AS SELECT * FROM generate_series(1, 2000) a", "DELETE FROM t")
    assert until(lambda: vacuums_of(shared, "ib.public.t"))
    (event, *_) = vacuums_of(shared, "ib.public.t")
    assert event.duration_s is not None


def vacuums_of(server: LabServer, table: str) -> list[LogEvent]:
    events = [one for one in server.log_events(0) if one.name == "automatic vacuum"]
    return [one for one in events if f'"{table}"' in one.text]


def test_prepare_makes_the_data_anew_and_remove_leaves_only_the_log(place: Place, base_dir: Path):
    place = dataclasses.replace(place, wal_root=place.data_root.parent / "wal")
    with started(an_arm(base_dir), place) as server:
        server.create_database("ib")
        server.stop()
        server.prepare()
        server.start()
        databases = [name for (name,) in server.execute("SELECT datname FROM pg_database")]
        assert sorted(databases) == ["postgres", "template0", "template1"]
        assert server.wal_dir == place.wal_root / "a" / "wal"
        assert [path for path in server.wal_dir.iterdir() if len(path.name) == 24]
    assert server.log_path.read_text()
    assert not list(place.data_root.iterdir())
    assert not list(place.wal_root.iterdir())
    assert not [path for path in place.run_root.rglob("*") if path.is_file()]


def test_a_setting_that_the_build_does_not_know_is_found_before_anything_is_made(
    place: Place, base_dir: Path
):
    server = provide(an_arm(base_dir, settings={"wrok_mem": "8MB"}), place=place)
    with pytest.raises(PlanError, match=r"^arms.a.settings.wrok_mem: .*did you mean `work_mem`\?$"):
        server.prepare()
    assert not list(place.data_root.iterdir())


def test_a_value_that_the_build_does_not_take_names_the_key(place: Place, base_dir: Path):
    server = provide(an_arm(base_dir, settings={"work_mem": "8 bananas"}), place=place)
    with pytest.raises(PlanError, match=r'arms.a.settings.work_mem: invalid value .*"8 bananas"'):
        server.check()


def test_more_shared_buffers_than_memory_are_refused(place: Place, base_dir: Path):
    for changes, key in (
        ({"settings": {"shared_buffers": "8TB"}}, "settings.shared_buffers"),
        ({"memory": "16TB"}, "memory"),
    ):
        with pytest.raises(HostError, match=f"^arms.a.{key}: .*GB of memory: ask for less$"):
            provide(an_arm(base_dir, **changes), place=place)


def test_a_port_in_use_is_one_line(place: Place, base_dir: Path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        server = provide(an_arm(base_dir, settings={"port": port}), place=place)
        with pytest.raises(ServerError, match=f"^arms.a.settings.port: port {port} is in use"):
            server.prepare()


def test_a_data_folder_in_use_is_not_taken(own: LabServer, place: Place, base_dir: Path):
    second = provide(an_arm(base_dir), place=place)
    with pytest.raises(ServerError, match=f"in use by process {own.postmaster_pid}"):
        second.prepare()
    assert own.execute("SELECT 1") == [(1,)]


def test_a_folder_of_somebody_else_is_not_removed(place: Place, base_dir: Path):
    (place.data_root / "a").mkdir()
    (place.data_root / "a" / "thesis.txt").write_text("years of work")
    with pytest.raises(ServerError, match="was not made by dyno"):
        provide(an_arm(base_dir), place=place).prepare()
    assert (place.data_root / "a" / "thesis.txt").read_text() == "years of work"


def test_a_data_folder_closed_to_the_account_is_named(place: Place, base_dir: Path):
    if not place.account.other:
        pytest.skip("dyno runs as the servers' account here, to which nothing of its own is closed")
    closed = place.data_root / "closed"
    closed.mkdir(mode=0o700)
    server = provide(an_arm(base_dir), place=dataclasses.replace(place, data_root=closed))
    with pytest.raises(HostError, match=f"cannot enter `{closed}`"):
        server.prepare()


def test_connections_of_the_load_raise_the_servers_limit(place: Place, base_dir: Path):
    server = provide(an_arm(base_dir), place=place, connections=300)
    assert server.setting("max_connections") == "310"
    with pytest.raises(PlanError, match=r"arms.a.settings.max_connections: .* make it 310 or more"):
        provide(an_arm(base_dir, settings={"max_connections": "200"}), place=place, connections=300)


def test_a_server_that_cannot_start_says_why(place: Place):
    libraries = {"shared_preload_libraries": "no_such_library"}
    server = provide(an_arm(ends()[-1], settings=libraries), place=place)
    server.prepare()
    try:
        with pytest.raises(
            ServerError, match=r"arm a: the server does not start: .*no_such_library"
        ):
            server.start()
    finally:
        server.stop()
        server.remove()
