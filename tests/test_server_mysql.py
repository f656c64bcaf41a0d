"""A real MySQL and a real MariaDB, from their data directory to their end."""

import contextlib
import dataclasses
import os
import signal
import socket
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec import structs

from dbdyno.engine import LabServer, Place, golden
from dbdyno.engine.arm_server import provide
from dbdyno.engine.golden_copy import Copy, CopyOrigin
from dbdyno.engine.mysql import buffer_pool
from dbdyno.engine.mysql.connection import connect
from dbdyno.host import process
from dbdyno.model.error import HostError, PlanError, ServerError
from mysql_place import an_arm, build_of, needs
from server_place import a_place, address, reached, started, within

ORIGIN = CopyOrigin(workload="w", step="fill", block_begun_unix_ns=5)

pytestmark = pytest.mark.live
WAIT_S = 20.0
until = partial(within, WAIT_S)


@pytest.fixture(name="where")
def _where(mysql_engine: str) -> Iterator[Place]:
    """A place for the servers of one test."""
    with a_place(mysql_engine) as made:
        yield made


# --- A server that all of these leave as it was ------------------------------------------------


def test_it_answers_over_its_socket_and_over_the_loopback_and_nowhere_else(mysql_server: LabServer):
    for place, host in ((address(mysql_server), "localhost"), (reached(mysql_server), "127.0.0.1")):
        with connect(place, "test") as connection, connection.cursor() as cursor:
            cursor.execute("SELECT CURRENT_USER(), @@local_infile")
            assert cursor.fetchone() == (f"dyno@{host}", 1)
    pid = mysql_server.postmaster_pid
    assert listening(pid) == {("127.0.0.1", mysql_server.address().port)}


def listening(pid: int) -> set[tuple[str, int]]:
    """The TCP addresses on which a process listens (proc(5), net/tcp: state 0A)."""
    links = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            links.append(os.readlink(link))
    sockets = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in sockets:
                host, port = words[1].split(":")
                plain = socket.inet_ntoa(bytes.fromhex(host)[::-1]) if table == "tcp" else host
                found.add((plain, int(port, 16)))
    return found


def test_statements_run_each_by_itself_and_the_last_gives_its_rows(mysql_server: LabServer):
    mysql_server.create_database("ib")
    rows = mysql_server.execute(
        "CREATE TABLE t (a int, b text)", "INSERT INTO t VALUES (7, 'ü%s')", "SELECT * FROM t"
    )
    assert rows == [(7, "ü%s")]
    assert mysql_server.address().database == "ib"
    mysql_server.create_database("ib")
    with pytest.raises(ServerError, match=r"^arm a: `SELECT \* FROM t`: .*doesn't exist"):
        mysql_server.execute("SELECT * FROM t")


def test_a_statement_has_a_time_limit_and_does_not_go_on_after_it(mysql_server: LabServer):
    begun = time.monotonic()
    with pytest.raises(ServerError, match=r"`SELECT SLEEP\(60\)`: it took longer than 0\.3 s$"):
        mysql_server.execute("SELECT SLEEP(60)", limit_s=0.3)
    assert time.monotonic() - begun < WAIT_S
    running = "SELECT info FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(60%'"
    assert until(lambda: not mysql_server.execute(running))


def test_facts_tell_version_every_variable_and_which_were_set(mysql_server: LabServer):
    facts = mysql_server.facts()
    assert facts.engine == mysql_server.engine
    assert facts.version_text.startswith(facts.version)
    assert facts.settings["innodb_buffer_pool_size"] == str(64 << 20)
    if is_since_80(mysql_server.engine):
        assert facts.nondefault["innodb_buffer_pool_size"] == str(64 << 20)
    assert "sort_buffer_size" not in facts.nondefault
    assert facts.departures == ()
    assert facts.block_size == 16384
    owner = Path(f"/proc/{mysql_server.postmaster_pid}").stat().st_uid
    assert owner != 0 and facts.user != "root"


def test_threads_are_told_apart_and_a_connection_is_none_of_the_background(mysql_server: LabServer):
    needs(mysql_server.engine, "threads by their kinds", mysql=80000)
    before = mysql_server.processes()
    kinds = set(before.values())
    if mysql_server.engine == "mysql":
        assert {"page cleaner", "log writer", "io read", "io write", "purge"} <= kinds
    else:
        assert "background" in kinds
    assert mysql_server.postmaster_pid not in before
    with connect(mysql_server.address(), "test") as connection, connection.cursor() as cursor:
        cursor.execute(THREAD_OF_SESSION[mysql_server.engine])
        ((thread,),) = cursor.fetchall()
        assert mysql_server.processes()[thread] in ("connection", "other")


THREAD_OF_SESSION = {
    "mysql": "SELECT thread_os_id FROM performance_schema.threads "
    "WHERE processlist_id = CONNECTION_ID()",
    "mariadb": "SELECT tid FROM information_schema.processlist WHERE id = CONNECTION_ID()",
}


# --- Servers of one test -----------------------------------------------------------------------


@pytest.mark.capability("servers")
def test_it_shuts_down_crashes_recovers_says_why_it_cannot_start_and_is_gone(
    where: Place, mysql_engine: str
):
    with started(an_arm(mysql_engine), where) as server:
        server.create_database("ib")
        server.execute(
            "CREATE TABLE t (a int primary key) ENGINE = InnoDB", "INSERT INTO t VALUES (1)"
        )
        server.stop()
        assert server.postmaster_pid is None and server.processes() == {}
        assert "Shutdown complete" in "\n".join(server.log_tail())
        server.start()
        server.execute("INSERT INTO t VALUES (2)")
        since = server.log_position()
        os.kill(server.postmaster_pid, signal.SIGKILL)
        assert until(server.failure)
        assert "arm a ended with signal 9" in server.failure()
        server.stop()
        server.start()
        assert server.failure() is None
        assert server.execute("SELECT a FROM t ORDER BY a") == [(1,), (2,)]
        assert "crash recovery" in [event.name for event in server.log_events(since)]
        server.stop()
        (server.data_dir / "ibdata1").write_bytes(b"no tablespace" * 1_000_000)
        why = ".*[Ss]pace" if is_since_80(mysql_engine) else ""
        with pytest.raises(ServerError, match=f"the server does not start: {why}"):
            server.start()
    assert server.log_path.read_text()
    assert not list(where.data_root.iterdir())
    assert not [path for path in where.run_root.rglob("*") if path.is_file()]


def is_since_80(engine: str) -> bool:
    """Whether a server says more than MySQL before 8.0 does."""
    return engine == "mariadb" or build_of(engine).version_num >= 80000


def test_an_option_or_value_that_the_build_does_not_take_is_found_before_anything_is_made(
    where: Place, mysql_engine: str
):
    for settings, message in (
        ({"innodb_bufer_pool_size": "8M"}, r"settings.innodb_bufer_pool_size: .* has no such "
         r"option; did you mean `innodb_buffer_pool_size`\?$"),
        ({"innodb_buffer_pool_size": "5bananas"}, r"settings.innodb_buffer_pool_size: "),
        ({"innodb_flush_method": "PRAYER"}, r"settings.innodb_flush_method: .*'PRAYER'"),
        ({"datadir": "/tmp"}, r"settings.datadir: dyno sets this itself"),
        ({"log_bin": "/tmp/x"}, r"settings.log_bin: write on or off"),
    ):  # fmt: skip
        if "PRAYER" in message and not is_since_80(mysql_engine):
            continue
        with pytest.raises(PlanError, match=f"^arms.a.{message}"):
            provide(an_arm(mysql_engine, settings=settings), place=where).prepare()
    lacking = an_arm(mysql_engine, environment={"LD_PRELOAD": "/no/libjemalloc.so.2"})
    with pytest.raises(PlanError, match=r"^arms.a.environment.LD_PRELOAD: `/no/libjemalloc.so.2` "):
        provide(lacking, place=where).prepare()
    assert not list(where.data_root.iterdir())
    with pytest.raises(HostError, match=r"^arms.a.settings.innodb_buffer_pool_size: .*ask for"):
        provide(an_arm(mysql_engine, settings={"innodb_buffer_pool_size": "9T"}), place=where)


def test_an_allocator_that_an_arm_preloads_is_in_its_server(where: Place, mysql_engine: str):
    found = [*Path("/usr/lib").glob("*/libjemalloc.so.2"), *Path("/usr/lib").glob("*/libz.so.1")]
    arm = an_arm(mysql_engine, environment={"LD_PRELOAD": str(found[0])})
    with started(arm, where) as server:
        assert server.execute("SELECT 1") == [(1,)]
        maps = Path(f"/proc/{server.postmaster_pid}/maps").read_text()
        assert found[0].resolve().name in maps


def test_a_value_that_the_server_takes_otherwise_is_said_and_logs_lie_where_the_plan_says(
    where: Place, mysql_engine: str
):
    place = dataclasses.replace(where, wal_root=where.data_root.parent / "wal")
    settings = {"innodb_io_capacity": "10", "sync_binlog": "0", "log_bin": "on"}
    with started(an_arm(mysql_engine, settings=settings), place) as server:
        sentence = "innodb_io_capacity is 100, not 10: the server changed it"
        assert sentence in server.facts().departures
        assert server.execute("SELECT @@log_bin") == [(1,)]
        names = {path.name for path in server.wal_dir.iterdir()}
        assert {"binlog.index", "binlog.000001"} <= names
        assert {"#innodb_redo", "ib_logfile0"} & names
        assert not {path.name for path in server.data_dir.glob("binlog*")}
        goes_on_from_a_golden_copy(server, place)


def goes_on_from_a_golden_copy(server: LabServer, place: Place) -> None:
    """Rows and logs are there in a copy; one in which a server was started is known as such."""
    server.create_database("ib")
    rows = ", ".join(f"({number}, {number % 7})" for number in range(500))
    server.execute(
        "CREATE TABLE t (a int primary key, b int, key by_b (b)) ENGINE = InnoDB",
        f"INSERT INTO t VALUES {rows}",
    )
    copy = server.keep({"server": server.identity}, ORIGIN)
    assert golden.damage(copy) is None
    server.prepare_from(copy, shared_blocks=False)
    server.start()
    server.use_database("ib")
    assert server.execute("SELECT COUNT(*), SUM(b) FROM t") == [(500, 1494)]
    logs = server.execute("SHOW BINARY LOGS")
    assert logs[0][0] == "binlog.000001" and len(logs) > 1
    assert server.facts().copy_s > 0
    warmed = server.client.warm_up("scan", server.execute)
    assert (warmed.relations, warmed.left_out) == (2, [])
    if is_since_80(server.engine):
        pages = "FROM information_schema.INNODB_BUFFER_PAGE WHERE INDEX_NAME = 'by_b'"
        assert server.execute(f"SELECT COUNT(*) {pages}")[0][0] > 0
    server.execute("UPDATE t SET b = b + 1")
    limit = server.execute("SELECT @@innodb_max_dirty_pages_pct")
    server.client.checkpoint(server.execute)
    assert buffer_pool.dirty_pages(server.execute) <= buffer_pool.DIRTY_PAGES_MAX
    assert server.execute("SELECT @@innodb_max_dirty_pages_pct") == limit
    server.stop()
    copied = dataclasses.replace(
        copy, facts=structs.replace(copy.facts, wal_dir=str(server.wal_dir))
    )
    assert "was started in it" in golden.damage(Moved(copied, server.data_dir))
    assert golden.damage(copy) is None
    assert golden.remove(place.data_root, [copy.key])


class Moved:
    """A copy's facts with data that lie elsewhere."""

    def __init__(self, copy: Copy, data_dir: Path) -> None:
        self.facts, self.wal_dir, self.data_dir = copy.facts, copy.wal_dir, data_dir


def test_a_folder_in_use_and_a_port_in_use_are_one_line_each(
    mysql_server: LabServer, where: Place, mysql_engine: str
):
    settings = {"port": str(mysql_server.address().port)}
    with pytest.raises(ServerError, match=r"^arms.a.settings.port: port \d+ is in use"):
        provide(an_arm(mysql_engine, settings=settings), place=where).check()
    taken = dataclasses.replace(where, data_root=mysql_server.data_dir.parent.parent)
    with pytest.raises(ServerError, match=f"in use by process {mysql_server.postmaster_pid}"):
        provide(an_arm(mysql_engine), place=taken).check()
    assert mysql_server.execute("SELECT 1") == [(1,)]
    assert process.start_ticks(mysql_server.postmaster_pid)


def test_the_other_engine_in_a_folder_is_named(where: Place, mysql_engine: str):
    other = "mariadb" if mysql_engine == "mysql" else "mysql"
    arm = dataclasses.replace(an_arm(mysql_engine), engine=other)
    with pytest.raises(ServerError, match=rf'base_dir: .* write engine = "{mysql_engine}"'):
        provide(arm, place=where)
