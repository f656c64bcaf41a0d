"""Values from files on real servers of MySQL and MariaDB: by which type they are bound."""

import json
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import LabServer
from step_load import events, only_step

pytestmark = pytest.mark.live

ROWS, CALLS = 2000, 3
GET = """
[values]
v = {{ sample = {{ file = "x.jsonl", column = 1 }} }}
[statements]
get = {{ any = "SELECT count(*) FROM coded WHERE {column} = :v", protocol = "{protocol}" }}
[[steps]]
name = "get"
roles.query = {{ run = "get", stop = {{ operations = {calls} }} }}
"""
PUT = """
[values]
v = {{ sample = {{ file = "x.jsonl", column = 1 }} }}
[statements]
put = {{ any = "INSERT INTO told VALUES (:v)", protocol = "{protocol}" }}
[[steps]]
name = "put"
roles.query = {{ run = "put", stop = {{ operations = 1 }}, session = {session} }}
"""
PLAIN = "[\"SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'\"]"
READS = (
    "SELECT SUM(variable_value) FROM {schema}.global_status WHERE variable_name IN "
    "('Handler_read_next', 'Handler_read_rnd_next')"
)


@pytest.fixture(name="server", scope="module")
def _server(mysql_server: LabServer) -> LabServer:
    """MySQL or MariaDB with a table whose numbers are kept as texts, too."""
    mysql_server.create_database("ib")
    numbers = "SELECT 0 AS n" + "".join(f" UNION SELECT {n}" for n in range(1, 50))
    mysql_server.execute(
        "CREATE TABLE coded (id int PRIMARY KEY, code varchar(20) NOT NULL, KEY (code))",
        f"INSERT INTO coded SELECT x.n * 50 + y.n, x.n * 50 + y.n FROM ({numbers}) AS x, "
        f"({numbers}) AS y WHERE x.n < {ROWS // 50}",
        "ANALYZE TABLE coded",
        "CREATE TABLE told (t varchar(100)) CHARACTER SET utf8mb4",
        database="ib",
    )
    return mysql_server


def ran(server: LabServer, folder: Path, value: Any, text: str) -> None:
    """Runs a workload's one step with a value."""
    (folder / "x.jsonl").write_text(json.dumps({"values": [value]}) + "\n")
    last = events(server, only_step(folder, text, server.engine))[-1]
    assert last["status"] == "ok", last["reason"]


def reads(server: LabServer) -> float:
    """How many rows the server has read one after the other, since it began."""
    schema = "performance_schema" if server.engine == "mysql" else "information_schema"
    return float(server.execute(READS.format(schema=schema))[0][0])


@pytest.mark.parametrize("protocol", ["simple", "prepared"])
@pytest.mark.parametrize(
    ("column", "value", "by_index"),
    [
        ("id", 42, True),
        ("id", "42", True),
        ("code", "42", True),
        ("code", 42, False),  # each text is made a number: the index is of no use
        ("id", 42.5, True),
        ("code", 42.5, False),
    ],
)
def test_a_bound_value_finds_rows_as_the_literal_does(
    server: LabServer, tmp_path: Path, protocol: str, column: str, value: Any, by_index: bool
) -> None:
    before = reads(server)
    ran(server, tmp_path, value, GET.format(column=column, protocol=protocol, calls=CALLS))
    read = reads(server) - before
    assert (read < ROWS) is by_index, read


@pytest.mark.parametrize("protocol", ["simple", "prepared"])
@pytest.mark.parametrize("session", ["[]", PLAIN])
def test_a_backslash_arrives_as_it_was_whatever_the_session_makes_of_it(
    server: LabServer, tmp_path: Path, protocol: str, session: str
) -> None:
    ran(server, tmp_path, "a\\'b\\", PUT.format(protocol=protocol, session=session))
    assert server.execute("SELECT t FROM told", database="ib") == [("a\\'b\\",)]
    server.execute("DELETE FROM told", database="ib")


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63), 1.25, "1e3", None, True])
def test_a_bound_value_is_what_it_was(server: LabServer, tmp_path: Path, value: Any) -> None:
    ran(server, tmp_path, value, PUT.format(protocol="prepared", session="[]"))
    expected = None if value is None else str(int(value)) if value is True else str(value)
    assert server.execute("SELECT t FROM told", database="ib") == [(expected,)]
    server.execute("DELETE FROM told", database="ib")
