"""Dyno's own sessions: whatever the environment, a server, a database or a role say, they reach the
server of the arm and read what it sends. Sessions that are measured have the user's settings."""

import datetime
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import LabServer
from dbdyno.engine.mysql import connection as mysql
from dbdyno.engine.postgres import connection as postgres
from dbdyno.engine.postgres.initdb import SUPERUSER
from dbdyno.engine.snapshot import SnapshotSubject
from dbdyno.model import Arm
from server_place import a_place, address, started
from step_load import events, only_step

pytestmark = pytest.mark.live

ENVIRONMENT = {
    "PGSERVICE": "prod",
    "PGSERVICEFILE": "/nowhere",
    "PGHOST": "prod.invalid",
    "PGHOSTADDR": "192.0.2.1",
    "PGPORT": "1",
    "PGUSER": "nobody",
    "PGDATABASE": "nothing",
    "PGPASSWORD": "wrong",
    "PGPASSFILE": "/nowhere",
    "PGOPTIONS": "-c no_such_setting=1",
    "PGSSLMODE": "verify-full",
    "PGSSLROOTCERT": "/nowhere",
    "PGSSLNEGOTIATION": "direct",
    "PGGSSENCMODE": "require",
    "PGCHANNELBINDING": "require",
    "PGREQUIREAUTH": "scram-sha-256",
    "PGREQUIREPEER": "nobody-of-that-name",
    "PGTARGETSESSIONATTRS": "standby",
    "PGLOADBALANCEHOSTS": "random",
    "PGCONNECT_TIMEOUT": "soon",
    "PGCLIENTENCODING": "EUC_TW",
    "PGDATESTYLE": "no such style",
    "PGTZ": "No/Where",
    "PGGEQO": "perhaps",
    "MYSQL_HOST": "prod.invalid",
    "MYSQL_TCP_PORT": "1",
    "MYSQL_UNIX_PORT": "/nowhere",
    "MYSQL_PWD": "wrong",
}
OF_THE_SERVER = {
    "datestyle": "german, dmy",
    "intervalstyle": "sql_standard",
    "timezone": "Asia/Kathmandu",
    "bytea_output": "escape",
}
OF_THE_ROLE = {
    "standard_conforming_strings": "off",
    "extra_float_digits": "-10",
    "client_encoding": "LATIN1",
    "default_transaction_read_only": "on",
    "quote_all_identifiers": "on",
    "row_security": "off",
    "statement_timeout": "1000",
    "lock_timeout": "1000",
    "idle_in_transaction_session_timeout": "1000",
    "search_path": "shadow, pg_catalog",
    "client_min_messages": "error",
}
VALUES = (
    "SELECT timestamptz '2026-01-02 03:04:05+00', interval '3 days 4 h', bytea '\\xff', "
    "float8 '0.1' + float8 '0.2', 'a\\b', 'ł', 1259::regclass::text, pg_sleep(1.2)::text"
)


PROGRESS = """
[statements]
loop = { postgres = "DO $$ BEGIN RAISE NOTICE 'total: 7'; END $$", progress = "total: " }

[[steps]]
name = "loop"
headline = { metric = "qps", role = "query", count = "rows" }
roles.query = { run = "loop", stop = { operations = 1 } }
"""


@pytest.fixture(autouse=True)
def hostile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment, and files in the home folder, by which clients go elsewhere."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".pg_service.conf").write_text("[prod]\nhost=prod.invalid\n")
    (tmp_path / ".pgpass").write_text("*:*:*:*:wrong\n")
    (tmp_path / ".my.cnf").write_text("[client]\nhost=prod.invalid\n")


@pytest.fixture(scope="module")
def server(base_dir: Path) -> Iterator[LabServer]:
    """A server that begins all sessions otherwise than clients expect."""
    arm = Arm(name="a", engine="postgres", base_dir=base_dir, settings=OF_THE_SERVER)
    with a_place() as place, started(arm, place) as server:
        server.create_database("shop")
        server.execute(
            "CREATE SCHEMA shadow",
            # What hides the catalog's own where the schema comes first.
            "CREATE TABLE shadow.pg_class (oid oid, relname text)",
            "CREATE TABLE shadow.goods (id int PRIMARY KEY)",
            "INSERT INTO shadow.goods SELECT generate_series(1, 1000)",
            "ANALYZE shadow.goods",
            *(
                f"ALTER ROLE {SUPERUSER} SET {name} = {value}"
                for name, value in OF_THE_ROLE.items()
            ),
            "ALTER DATABASE shop SET timezone = 'America/Caracas'",
        )
        yield server


def test_own_sessions_read_the_same_whatever_the_server_begins_with(server: LabServer) -> None:
    ((moment, span, raw, number, text, letter, name, _),) = server.execute(VALUES)
    assert moment == datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert span == datetime.timedelta(days=3, hours=4)
    assert (raw, number, text, letter, name) == (b"\xff", 0.1 + 0.2, "a\\b", "ł", "pg_class")
    server.execute("CREATE TABLE written (id int)", "VACUUM written", "DROP TABLE written")


def test_facts_are_those_of_sessions_that_dyno_does_not_pin(server: LabServer) -> None:
    facts = server.facts()
    settings = facts.settings or {}
    assert settings["DateStyle"] == "German, DMY"
    assert settings["standard_conforming_strings"] == "off"
    assert settings["statement_timeout"] == "1s"
    assert settings["TimeZone"] == "America/Caracas"
    assert not [line for line in facts.departures or () if "datestyle" in line.lower()]
    with postgres.opened(address(server), "as a user's") as other:
        assert other.execute("SHOW DateStyle").fetchone() == ("German, DMY",)


def test_snapshots_are_read_under_any_settings(server: LabServer) -> None:
    subject = SnapshotSubject(
        address(server), tables=["goods"], explain={"read": "SELECT id FROM goods"}
    )
    for when in ("before", "after"):
        snapshot: Any = server.client.snapshot(when, subject)
        assert not {name: why for name, why in snapshot.unavailable.items() if "goods" in name}
        assert snapshot.tables["goods"]
    assert "goods" in str(snapshot.explain["read"].custom)


def test_the_load_generator_reads_notices_that_the_role_keeps_from_its_sessions(
    server: LabServer, tmp_path: Path
) -> None:
    step = only_step(tmp_path, PROGRESS)
    done = events(server, step)[-1]
    assert (done["status"], done["totals"]["query"]["rows"]) == ("ok", 7), done["reason"]


def test_what_keeps_a_server_from_answering_stands_in_the_line(
    server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbdyno.engine.postgres.server.START_S_MAX", 0.2)
    monkeypatch.setattr(server, "own_database", "gone")
    with pytest.raises(Exception, match=r'does not answer within 0 s \(.*"gone" does not exist'):
        server._wait_for_answer()  # type: ignore[attr-defined]


# --- MySQL and MariaDB ------------------------------------------------------------------------

GLOBALS = {
    "sql_mode": "ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH",
    "autocommit": 0,
    "time_zone": "+05:45",
    "character_set_server": "latin1",
    "max_join_size": 1,
    "sql_select_limit": 1,
    "wait_timeout": 60,
    "completion_type": "CHAIN",
    "init_connect": "SET NAMES latin1, autocommit = 0, sql_safe_updates = 1",
}
GOODS = (
    "CREATE TABLE goods (id int, name varchar(9) CHARACTER SET utf8mb4, made timestamp NULL)",
    "INSERT INTO goods VALUES (1, 'ł', FROM_UNIXTIME(1)), (2, \"a\\\\b\", NULL)",
    "SELECT name, made FROM goods WHERE id > 0 ORDER BY id",
)


@pytest.fixture
def shop(mysql_server: LabServer) -> Iterator[LabServer]:
    """A server that begins sessions otherwise than clients expect, with a user who sees it all."""
    own = replace(address(mysql_server), database="")
    read_only = "transaction_read_only" if mysql_server.engine == "mysql" else "tx_read_only"
    changed = GLOBALS | {read_only: 1}
    kept = mysql.execute(own, [f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in changed)}"], 10)
    mysql_server.create_database("shop")
    visitor = "visitor@'%'"
    made = [f"SET GLOBAL {name} = {value!r}" for name, value in changed.items()]
    mysql.execute(own, [f"CREATE USER {visitor}", f"GRANT ALL ON shop.* TO {visitor}", *made], 10)
    yield mysql_server
    back = [f"SET GLOBAL {name} = {value!r}" for name, value in zip(changed, kept[0], strict=True)]
    mysql.execute(own, [*back, f"DROP USER {visitor}"], 10)


@pytest.mark.parametrize("user", ["dyno", "visitor"])
def test_own_sessions_of_mysql_read_the_same_whatever_the_server_begins_with(
    shop: LabServer, user: str
) -> None:
    own = replace(address(shop), database="shop", user=user)
    rows = mysql.execute(own, GOODS, 10)
    assert rows == [("ł", datetime.datetime(1970, 1, 1, 0, 0, 1)), ("a\\b", None)]
    subject = SnapshotSubject(own, tables=["goods"], explain={"read": 'SELECT "id" FROM goods'})
    snapshot: Any = shop.client.snapshot("after", subject)
    assert "goods" in str(snapshot.explain["read"].custom), snapshot.unavailable
    assert "ANSI_QUOTES" in str((shop.facts().settings or {})["sql_mode"])
