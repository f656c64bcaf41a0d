"""Values of a workload file in its scripts, on real servers."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dbdyno.engine import LabServer, Server
from dbdyno.engine.mysql.connection import connect
from dbdyno.model import Arm
from mysql_jobs import Ran, at, run
from server_place import a_place, address, ends, started
from workload_reader import job_of, steps

pytestmark = pytest.mark.live

OPERATIONS = 30
FILE = """
[parameters]
protocol = "simple"

[values]
n = { uniform = [1, 1_000_000], per = "transaction" }
digit = { compute = ":n % 10", per = "transaction" }
name = { join = ["O'", { of = ["BAR", "OUGHT"], compute = ":n" }, ":digit"], per = "transaction" }

[transactions.mix]
script = "mix.sql"
protocol = "{protocol}"

[[steps]]
name = "run"
seconds = 1
roles.users = { per = "step", run = "mix", on_error = { retry = ["40001"] } }
"""
MIX = """\\set twice 2 * :n
INSERT INTO seen VALUES (:n, :digit, :name, :twice, 0);
SELECT max(name) AS found FROM seen WHERE n = :n \\gset
\\if :twice = 2 * :n
UPDATE seen SET most = :n WHERE name = :name;
\\endif
"""
TABLE = "CREATE TABLE seen (n bigint, digit int, name varchar(20), twice bigint, most bigint)"
STAR = "SELECT * FROM seen LIMIT 1 \\gset\nSELECT :n;"
REFUSED = "mix.sql:1:1: error storing into variable n, as a value has this name; rename one of them"
AGAIN = """
CREATE SEQUENCE tries;
CREATE SEQUENCE last MINVALUE 0;
CREATE TABLE pairs (first bigint, second bigint);
CREATE FUNCTION fail_once(n bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('tries') % 2 = 1 THEN
        PERFORM setval('last', n);
        RAISE serialization_failure;
    END IF;
    INSERT INTO pairs SELECT last_value, n FROM last;
END $$
"""


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[LabServer]:
    """A server of the oldest version that is here."""
    arm = Arm(name="values", engine="postgres", base_dir=ends()[0])
    with a_place() as place, started(arm, place) as made:
        made.create_database("ib")
        yield made


def ran(server: Server, folder: Path, script: str, protocol: str) -> Ran:
    """The script, by one connection."""
    where = server.address()
    assert where is not None
    (folder / "mix.sql").write_text(script)
    (step,) = steps(FILE, folder, server.engine, parameters={"protocol": protocol})
    made = job_of(step)
    (role,) = made["roles"]
    return run(
        made
        | {"autostart": True, "seed": 7, "engine": server.engine, "server": at(where)}
        | {"roles": [role | {"stop": {"operations": OPERATIONS}}], "stop": {"roles": ["users"]}}
    )


def check(rows: list[tuple[int, int, str, int, int]]) -> None:
    """One execution of the script writes one number everywhere; the next draws another."""
    assert len({n for n, *_ in rows}) == OPERATIONS
    for n, digit, name, twice, most in rows:
        word = "BAR" if n % 2 == 0 else "OUGHT"
        assert (digit, name, twice) == (n % 10, f"O'{word}{n % 10}", 2 * n)
        assert most in {other for other, _, same, *_ in rows if same == name}


@pytest.mark.capability("scripts")
def test_postgresql_gets_the_same_values_by_every_protocol(server: LabServer, tmp_path: Path):
    where, drawn = address(server), []
    with psycopg.connect(
        host=where.host, port=where.port, user=where.user, dbname="ib", autocommit=True
    ) as connection:
        for protocol in ("simple", "extended", "prepared"):
            connection.execute("DROP TABLE IF EXISTS seen")
            connection.execute(TABLE)
            done = ran(server, tmp_path, MIX, protocol).done
            assert done["status"] == "ok", done["reason"]
            drawn.append(connection.execute("SELECT * FROM seen").fetchall())
            check(drawn[-1])
            assert sorted(drawn[-1]) == sorted(drawn[0])
        done = ran(server, tmp_path, STAR, "simple").done
        assert (done["status"], done["reason"]) == ("failed", REFUSED)


def test_a_retried_script_has_the_values_of_its_first_try(server: LabServer, tmp_path: Path):
    where = address(server)
    with psycopg.connect(
        host=where.host, port=where.port, user=where.user, dbname="ib", autocommit=True
    ) as connection:
        connection.execute(AGAIN)
        done = ran(server, tmp_path, "BEGIN;\nSELECT fail_once(:n);\nEND;", "extended").done
        assert done["status"] == "ok", done["reason"]
        pairs = connection.execute("SELECT first, second FROM pairs").fetchall()
    assert len(set(pairs)) == OPERATIONS
    assert all(first == second for first, second in pairs)


@pytest.mark.capability("scripts")
@pytest.mark.parametrize("protocol", ["simple", "prepared"])
def test_mysql_gets_values_as_literals_and_as_parameters(
    mysql_server: Server, tmp_path: Path, protocol: str
) -> None:
    where = mysql_server.address()
    assert where is not None
    with connect(where, "test") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS ib")
        cursor.execute("DROP TABLE IF EXISTS ib.seen")
        cursor.execute(TABLE.replace("seen", "ib.seen"))
        done = ran(mysql_server, tmp_path, MIX, protocol).done
        assert done["status"] == "ok", done["reason"]
        cursor.execute("SELECT * FROM ib.seen")
        check(list(cursor.fetchall()))
    done = ran(mysql_server, tmp_path, STAR, protocol).done
    assert (done["status"], done["reason"]) == ("failed", REFUSED)
