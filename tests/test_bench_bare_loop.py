"""The bare loop of `make bench`: what the table calls its ways; it counts what servers count."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import arms, figure, jobs, limits, mysql, point, server
from bench.compare import Bench
from dbdyno.engine import LabServer, Server
from mysql_place import needs
from server_place import a_place

LOOKS_MAX = 150
CONNECTIONS = 3
WIDTH_MAX = 80
BUILDS_IT = "cargo build --release --example bare_loop"


def test_each_way_has_a_name_that_fits_the_table_on_either_server() -> None:
    others = {*arms.WAYS, limits.OURS} - {arms.EPOLL}
    names = [*limits.POSTGRES.values(), *limits.MYSQL.values()]
    assert set(limits.POSTGRES) == set(limits.MYSQL) == others
    assert len(set(names)) == len(names)
    assert all(len(name) < figure.COLUMNS[0][1] for name in names)


def test_limits_say_where_there_is_no_mysql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "on_postgres", lambda bench: iter(()))
    monkeypatch.setattr(mysql, "newest", lambda engine: None)
    (only,) = limits.measure(Bench(generator=Path("none"), pairs=1, seconds=1, rows=1))
    assert only.result == "no MySQL here" and "DYNO_MYSQL" in (only.missing or "")
    assert len(only.row()) <= WIDTH_MAX


# --- On a server -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    """A PostgreSQL with pgbench's tables."""
    with a_place() as place, server.running_at(place) as one:
        server.make_accounts(one, scale=1)
        yield one


@pytest.fixture(scope="module")
def accounts(mysql_server: LabServer) -> Server:
    """A MySQL or a MariaDB with pgbench's accounts."""
    needs(mysql_server.engine, "FLUSH TABLES … FOR EXPORT", mysql=50606)
    mysql_server.create_database(server.DATABASE)
    mysql.make_accounts(mysql_server, scale=1)
    return mysql_server


@pytest.mark.live
@pytest.mark.parametrize("way", arms.WAYS)
def test_the_bare_loop_asks_as_often_as_the_server_answers(running: Server, way: str) -> None:
    """The server counts a lookup for each answer."""
    check_operations(running, way, "postgres", index_reads)


@pytest.mark.live
@pytest.mark.parametrize("way", arms.WAYS)
def test_the_bare_loop_asks_as_often_as_a_mysql_answers(accounts: Server, way: str) -> None:
    """The server counts an execution for each answer."""
    check_operations(accounts, way, "mysql", executions)


@pytest.mark.live
def test_accounts_on_mysql_have_every_key_once(accounts: Server) -> None:
    (found,) = accounts.execute("SELECT count(*), min(aid), max(aid) FROM pgbench_accounts")
    assert found == (jobs.ACCOUNTS_OF_SCALE, 1, jobs.ACCOUNTS_OF_SCALE)


def check_operations(
    answering: Server, way: str, protocol: str, counted: Callable[[Server], int]
) -> None:
    """Lets the loop run, and holds what it says against what the server counts."""
    loop = arms.bare_loop(
        server.address_of(answering),
        point.ACCOUNT.sql,
        key_max=jobs.ACCOUNTS_OF_SCALE,
        connections=CONNECTIONS,
        way=way,
        protocol=protocol,
    )
    if loop.missing is not None:
        pytest.skip(f"{loop.name} is not here: `{BUILDS_IT}`")
    before = counted(answering)
    operations = loop.run(1).operations
    # Each connection executes once before, to see a row, and may be asking when the time is over.
    beside = counted(answering) - before - operations
    assert CONNECTIONS <= beside <= 2 * CONNECTIONS


def executions(accounts: Server) -> int:
    """How many prepared statements were executed until now, once nobody else is connected."""
    for _ in range(LOOKS_MAX):
        status = dict(
            accounts.execute(
                "SHOW GLOBAL STATUS WHERE Variable_name IN "
                "('Threads_connected', 'Com_stmt_execute')"
            )
        )
        if int(status["Threads_connected"]) == 1:
            return int(status["Com_stmt_execute"])
        time.sleep(0.2)
    raise AssertionError("the bare loop's sessions do not end")


def index_reads(running: Server) -> int:
    """How often accounts were looked up by key, once all that have ended have reported it."""
    found = -1
    for _ in range(LOOKS_MAX):
        ((now,),) = running.execute(
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'pgbench_accounts_pkey'"
        )
        ((busy,),) = running.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bare_loop'"
        )
        if busy == 0 and now == found:
            return int(now)
        found = now
        time.sleep(0.2)
    raise AssertionError("the bare loop's sessions do not end")
