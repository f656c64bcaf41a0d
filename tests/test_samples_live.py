"""Values from files, sessions of roles and limits of statements on real servers."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import LabServer
from dbdyno.model import Arm, Json
from server_place import a_place, newest, started
from step_load import events, only_step

pytestmark = pytest.mark.live

SAMPLES: list[tuple[int, list[Any]]] = [
    (6, [5, "O'Brien", None]),
    (3, [-7.5, "C:\\temp\\'x'", True]),
    (1, [1000, "zwölf\n\t$1 ", False]),
]
PUT = """
[values]
n = {{ sample = {{ file = "x.jsonl", column = 1, type = "numeric" }} }}
t = {{ sample = {{ file = "x.jsonl", column = 2 }} }}
b = {{ sample = {{ file = "x.jsonl", column = 3 }} }}

[statements]
put = {{ any = "INSERT INTO kept VALUES (:n, :t, :b)", protocol = "{protocol}"{types} }}

[[steps]]
name = "put"
roles.put = {{ run = "put", stop = {{ operations = 200 }}, session = {session} }}
"""
ONE = """
[values]
n = {{ sample = {{ file = "x.jsonl", column = 1 }} }}
t = {{ sample = {{ file = "x.jsonl", column = 2 }} }}

[statements]
get = {{ any = "{sql}", protocol = "{protocol}" }}

[[steps]]
name = "get"
roles.query = {{ run = "get", stop = {{ operations = 3 }}{keys} }}
"""
SLOW = ", ".join(f"information_schema.collations {name}" for name in "abcd")
"""What no server joins within a test."""


@pytest.fixture(params=newest(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """PostgreSQL, with a schema that no search path has."""
    arm = Arm(name="a", engine="postgres", base_dir=request.param, settings={"fsync": "off"})
    with a_place() as place, started(arm, place) as made:
        made.create_database("ib")
        made.execute(
            "CREATE TABLE kept (n numeric, t text, b boolean)",
            "CREATE SCHEMA shop",
            "CREATE TABLE shop.only_here AS SELECT 1 AS a",
            "GRANT ALL ON SCHEMA shop TO PUBLIC",
            "GRANT ALL ON ALL TABLES IN SCHEMA shop, public TO PUBLIC",
            database="ib",
        )
        yield made


@pytest.fixture(scope="module")
def maria(mysql_server: LabServer) -> LabServer:
    """MySQL or MariaDB with an empty table."""
    mysql_server.create_database("ib")
    table = "CREATE TABLE kept (n decimal(10,2), t varchar(100), b boolean) CHARACTER SET utf8mb4"
    mysql_server.execute(table, database="ib")
    return mysql_server


def write_samples(folder: Path) -> None:
    """Writes the file of tuples."""
    lines = (json.dumps({"weight": weight, "values": values}) for weight, values in SAMPLES)
    (folder / "x.jsonl").write_text("".join(f"{line}\n" for line in lines))


def ended(server: LabServer, folder: Path, text: str) -> Json:
    """The last event of a workload's one step on a server."""
    write_samples(folder)
    said = events(server, only_step(folder, text, server.engine))
    assert not [event for event in said[:-1] if "Brien" in str(event)]
    return said[-1]


def kept(server: LabServer) -> list[tuple[Any, ...]]:
    """The rows of the table, which is empty afterwards."""
    rows = server.execute("SELECT n, t, b FROM kept ORDER BY n", database="ib")
    server.execute("DELETE FROM kept", database="ib")
    return [(Decimal(n), t, None if b is None else bool(b)) for n, t, b in rows]


def written(protocol: str, *, types: str = "", session: str = "[]") -> str:
    """The workload that keeps what it draws."""
    return PUT.format(protocol=protocol, types=types, session=session)


def assert_drawn(rows: list[tuple[Any, ...]]) -> None:
    """Each row is a tuple of the file, as often as it weighs."""
    counts = [rows.count((Decimal(str(values[0])), values[1], values[2])) for _, values in SAMPLES]
    assert sum(counts) == len(rows) == 200
    assert 80 < counts[0] < 160 > counts[1] > 30 > counts[2] > 3


@pytest.mark.capability("own values")
def test_a_tuple_arrives_whole_whatever_the_protocol(server: LabServer, tmp_path: Path) -> None:
    first = None
    for text in (
        written("simple"),
        written("extended"),
        written("prepared"),
        written("execute", types=', types = ["numeric", "text", "boolean"]'),
        written("simple", session='["SET standard_conforming_strings = off"]'),
    ):
        last = ended(server, tmp_path, text)
        assert last["status"] == "ok", last["reason"]
        rows = kept(server)
        assert_drawn(rows)
        first = first or rows
        assert rows == first


def test_a_tuple_arrives_whole_on_mysql(maria: LabServer, tmp_path: Path) -> None:
    first = None
    for protocol in ("simple", "prepared"):
        last = ended(maria, tmp_path, written(protocol))
        assert last["status"] == "ok", last["reason"]
        rows = kept(maria)
        assert_drawn(rows)
        first = first or rows
        assert rows == first


def test_a_sample_that_stands_twice_is_one_parameter(server: LabServer, tmp_path: Path) -> None:
    sql = "SELECT a / :n::numeric, count(*) FROM generate_series(1, 9) a GROUP BY a / :n::numeric"
    for protocol in ("extended", "prepared"):
        last = ended(server, tmp_path, ONE.format(sql=sql, protocol=protocol, keys=""))
        assert last["status"] == "ok", last["reason"]


@pytest.mark.parametrize("connect", ["once", "each"])
def test_each_connection_of_a_role_begins_with_its_session(
    server: LabServer, tmp_path: Path, connect: str
) -> None:
    sql = "SELECT a FROM only_here WHERE :t <> ''"
    keys = f', connect = "{connect}", session = ["SET search_path = shop"]'
    for protocol in ("simple", "prepared"):
        last = ended(server, tmp_path, ONE.format(sql=sql, protocol=protocol, keys=keys))
        assert last["status"] == "ok", last["reason"]
    last = ended(server, tmp_path, ONE.format(sql=sql, protocol="prepared", keys=""))
    assert 'relation "only_here" does not exist' in last["reason"]


def test_a_session_that_is_refused_is_named(server: LabServer, tmp_path: Path) -> None:
    text = ONE.format(sql="SELECT :n", protocol="simple", keys=', session = ["SET ROLE nobody"]')
    last = ended(server, tmp_path, text)
    assert last["status"] == "failed"
    assert last["reason"].startswith("role `query`, `session`: the server answered: ")


def test_a_statement_that_the_server_ends_is_timed_out(server: LabServer, tmp_path: Path) -> None:
    keys = ", statement_limit_s = 0.25"
    text = ONE.format(sql="SELECT pg_sleep(60), :n", protocol="simple", keys=keys)
    last = ended(server, tmp_path, text)
    assert last["reason"] == (
        "get: timed out: the server ended it at its limit of 0.25 s (SQLSTATE 57014)"
    )


def test_a_statement_that_mysql_ends_is_timed_out(maria: LabServer, tmp_path: Path) -> None:
    sql = f"SELECT count(*), :n FROM {SLOW}"
    keys = ", statement_limit_s = 0.25"
    for protocol in ("simple", "prepared"):
        last = ended(maria, tmp_path, ONE.format(sql=sql, protocol=protocol, keys=keys))
        assert last["reason"].startswith("get: timed out: the server ended it at its limit of 0.25")


def test_what_the_server_says_of_a_value_is_left_out(server: LabServer, tmp_path: Path) -> None:
    for protocol in ("simple", "extended"):
        text = ONE.format(sql="SELECT CAST(:t AS int)", protocol=protocol, keys="")
        last = ended(server, tmp_path, text)
        assert "invalid input syntax" in last["reason"]
        assert not any(part in last["reason"] for part in ("Brien", "temp", "zw"))
        assert "22P02" in last["reason"]
    log = server.log_path.read_text()
    assert log
    assert "Brien" not in log and "22P02" not in log and "invalid input" not in log


def test_what_mysql_says_of_a_value_is_left_out(maria: LabServer, tmp_path: Path) -> None:
    text = ONE.format(sql="SELECT 1 FROM kept WHERE :n :t", protocol="simple", keys="")
    last = ended(maria, tmp_path, text)
    assert "You have an error in your SQL syntax" in last["reason"]
    assert not any(part in last["reason"] for part in ("Brien", "temp", "zw"))


def test_a_file_that_changed_since_the_job_was_made_ends_the_step_before_its_start(
    server: LabServer, tmp_path: Path
) -> None:
    write_samples(tmp_path)
    step = only_step(tmp_path, ONE.format(sql="SELECT :n", protocol="simple", keys=""))
    (tmp_path / "x.jsonl").write_text('{"values": [1, 2, 3]}\n')
    said = events(server, step)
    assert [event["event"] for event in said] == ["hello", "done"]
    assert said[-1]["reason"].startswith(f"`{tmp_path}/x.jsonl`: is not the file")
