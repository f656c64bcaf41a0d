"""Scripts that dyno-loadgen runs on real servers, beside pgbench where that can do the same."""

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dbdyno.engine import Server
from dbdyno.engine.mysql.connection import connect
from dbdyno.model import Address, Arm, Json
from dbdyno.run.driver.pgbench import client
from mysql_jobs import Ran, at, job, run, with_role
from server_place import a_place, address, ends, started

pytestmark = pytest.mark.live

DRAWS_EACH, TRANSACTIONS = 25, 400
"""How often a transaction draws of each kind, and how many transactions there are."""
"""Standard deviations that a normal number exceeds once in fifty million times."""
FIVE = {"name": "five", "initial": {"client": {"first": 5}}}
PI = {
    "variables": [FIVE, {"name": "v1"}],
    "assignments": [{"variable": 1, "expression": ["pi"], "place": "x.sql:1:1"}],
}
"""A variable that is set to pi."""


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[Server]:
    """A server of the oldest version that is here."""
    arm = Arm(name="scripts", engine="postgres", base_dir=ends()[0], settings={"fsync": "off"})
    with a_place() as place, started(arm, place) as made:
        made.create_database("ib")
        yield made


def rows(server: Server, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    where = address(server)
    with psycopg.connect(
        host=where.host, port=where.port, user=where.user, dbname="ib", autocommit=True
    ) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def statement(name: str, *pieces: object, protocol: str = "simple", **keys: object) -> Json:
    """A statement; a piece that is a number is the variable of that index."""
    made = [{"variable": one} if isinstance(one, int) else one for one in pieces]
    return {"name": name, "protocol": protocol, "pieces": made, "place": f"{name}:1:1", **keys}


def script(
    where: Address,
    statements: list[Json],
    code: list[list[Any]],
    engine: str = "postgres",
    **keys: Any,
) -> Json:
    """A job of one script that one client runs once."""
    server = at(where, database="ib")
    made = job(engine, server, statements, programs=[{"name": "script", "code": code}], **keys)
    return with_role(made | {"tables": {}}, table=None)


def pgbench(
    server: Server, folder: Path, lines: list[str], *options: str
) -> subprocess.CompletedProcess[str]:
    """Runs a script by pgbench with one client; a variable `five` is 5."""
    found = client.newest()
    if found is None:
        pytest.skip("no pgbench here: `apt-get install postgresql`")
    path, where = folder / "script.sql", address(server)
    path.write_text("\n".join(["\\set five 5", *lines, ""]))
    command = [str(found.path), "-n", "-f", str(path), "--random-seed=7", "-t", "1", *options]
    known = ["-h", where.host, "-p", str(where.port), "-U", where.user, "ib"]
    return subprocess.run(
        [*command, *known], capture_output=True, text=True, check=False, env=os.environ
    )


def ok(ran: Ran) -> Ran:
    """The run, which went well."""
    assert ran.done["status"] == "ok", ran.done["reason"]
    return ran


def counts(found: list[tuple[Any, ...]]) -> dict[tuple[str, int], Counter[int]]:
    """By who drew and what was drawn from: how often each integer came."""
    made: dict[tuple[str, int], Counter[int]] = {}
    for who, kind, value, count in found:
        made.setdefault((who, kind), Counter())[value] = count
    return made


@pytest.mark.capability("scripts")
@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_variables_take_results_decide_branches_and_go_through_pipelines(
    server: Server, protocol: str
) -> None:
    rows(server, "DROP TABLE IF EXISTS kept; CREATE TABLE kept (n int, value text)")
    send = {"protocol": protocol}
    statements = [
        statement("temporary", "CREATE TEMPORARY TABLE IF NOT EXISTS mine (n int, t text)", **send),
        statement("insert", "INSERT INTO mine VALUES (", 1, ", 'it')", **send),
        statement(
            "read",
            "SELECT n AS found, t AS word, NULL AS none, 1 AS other FROM mine WHERE n = ",
            1,
            into={"columns": {"found": 2, "word": 3, "none": 4}, "every": False},
            **send,
        ),
        statement("truncate", "TRUNCATE mine", **send),
        statement("keep", "INSERT INTO kept VALUES (", 2, ", '' || ", 5, ")", **send),
    ]
    made = [
        {"variable": 1, "expression": ["add", ["variable", 1], ["integer", 1]], "place": "p:1:1"},
        {"variable": 5, "expression": ["integer", 7], "place": "p:2:1"},
    ]
    odd = ["eq", ["remainder", ["variable", 2], ["integer", 2]], ["integer", 1]]
    once = [["set", 0], *(["send", n] for n in range(4)), ["unless", 0], ["set", 1]]
    piped = [["pipeline", 0], ["send", 4], ["sync", 0], ["send", 4], ["flush", 0]]
    end = [["send", 4], ["send", 4]] if protocol == "simple" else piped
    names = ("five", "n", "found", "word", "none", "value")
    first = {"n": {"integer": 0}, "value": {"text": "3"}}
    job_of = script(
        address(server),
        statements,
        [*once, *end],
        variables=[FIVE, *({"name": name, "initial": first.get(name)} for name in names[1:])],
        assignments=made,
        branches=[{"unless": odd, "to": len(once), "place": "p:3:1"}],
        capture=[],
    )
    ran = ok(run(with_role(job_of, stop={"operations": 3})))
    found = rows(server, "SELECT n, value FROM kept ORDER BY n")
    assert found == [(1, "7"), (1, "7"), (2, "7"), (2, "7"), (3, "7"), (3, "7")]
    counts: Counter[str] = Counter()
    for tick in ran.of("tick"):
        counts.update({name: part["count"] for name, part in tick["operations"].items()})
    assert counts == {
        "script": 3, "temporary": 3, "insert": 3, "read": 3, "truncate": 3, "keep": 6
    }  # fmt: skip


def test_every_result_of_a_compound_goes_into_variables_and_none_is_passed_over(server: Server):
    every = {"columns": {"one": 1, "two": 2}, "every": True}
    compound = "SELECT 1 AS one UNION ALL SELECT 11 ORDER BY 1; SELECT 2 AS two WHERE false"
    statements = [statement("aset", compound, into=every), statement("show", "SELECT ", 1, ", ", 2)]
    variables = [FIVE, {"name": "one"}, {"name": "two", "initial": {"boolean": True}}]
    ran = ok(
        run(script(address(server), statements, [["send", 0], ["send", 1]], variables=variables))
    )
    assert ran.rows("show") == [["11", "t"]]
    last = {"columns": {"one": 1}, "every": False}
    statements[0] = statement("gset", "SELECT 1 AS one; SELECT 2 WHERE false", into=last)
    ran = run(script(address(server), statements, [["send", 0], ["send", 1]], variables=variables))
    assert ran.done["reason"] == "gset:1:1: expected one row, got 0"


def test_a_transaction_that_a_script_leaves_open_fails_the_step(server: Server) -> None:
    ran = run(
        script(
            address(server),
            [statement("begin", "BEGIN")],
            [["send", 0], ["set", 0]],
            **PI,
        )
    )
    assert "end of script reached without completing the last transaction" in ran.done["reason"]


@pytest.mark.parametrize("protocol", ["simple", "prepared"])
def test_on_mysql_variables_have_the_kind_that_they_hold(mysql_server: Server, protocol: str):
    where = mysql_server.address()
    assert where is not None
    with connect(where, "test") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS ib")
        cursor.execute("DROP TABLE IF EXISTS ib.kinds")
        cursor.execute("CREATE TABLE ib.kinds (n bigint, value double, word varchar(20))")
    send = {"protocol": protocol}
    quote = "'" if protocol == "simple" else ""
    statements = [
        statement(
            "insert", "INSERT INTO kinds VALUES (", 1, ", ", 2, f", {quote}", 3, f"{quote})", **send
        ),
        statement(
            "read",
            "SELECT n AS big, value, concat(word, '!') AS word FROM kinds ORDER BY n DESC LIMIT 1",
            into={"columns": {"big": 1, "value": 2, "word": 3}, "every": False},
            **send,
        ),
    ]
    trees = [
        ["add", ["variable", 1], ["integer", 1]],
        ["divide", ["variable", 2], ["integer", 2]],
        ["null"],
    ]
    assignments = [
        {"variable": variable, "expression": tree, "place": "m:1:1"}
        for variable, tree in zip((1, 2, 2), trees, strict=True)
    ]
    variables = [
        FIVE,
        {"name": "big", "initial": {"integer": 2**40}},
        {"name": "value", "initial": {"double": 1.5}},
        {"name": "word", "initial": {"text": "x"}},
    ]
    code = [
        ["send", 0],
        ["send", 1],
        ["set", 0],
        ["set", 1],
        ["send", 0],
        ["set", 0],
        ["set", 2],
        ["send", 0],
    ]
    made = script(
        where, statements, code, mysql_server.engine, variables=variables, assignments=assignments
    )
    ok(run(made))
    with connect(where, "test") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT n, value, word FROM ib.kinds ORDER BY n")
        found = list(cursor.fetchall())
    assert found == [(2**40, 1.5, "x"), (2**40 + 1, 0.75, "x!"), (2**40 + 2, None, "x!")]


def test_a_script_that_sends_nothing_ends_with_its_window_beside_one_that_does(server: Server):
    made = script(address(server), [statement("one", "SELECT 1")], [["set", 0]], **PI)
    made["programs"].append({"name": "other", "code": [["send", 0]]})
    role = made["roles"][0] | {"stop": None}
    other = role | {"name": "other", "choose": [{"program": 1, "weight": 1}]}
    timed = made | {"roles": [role, other], "stop": {"seconds": 1.5}, "threads": 1, "clients": 2}
    ran = ok(run(timed | {"capture": []}))
    totals = ran.done["totals"]
    assert totals["main"]["count"] > 0
    assert totals["other"]["count"] > 0
    assert ran.of("window_close")[0]["active_ns"] == 1_500_000_000
    clients = ran.of("tick")
    assert {tick["role"] for tick in clients} == {"main", "other"}
