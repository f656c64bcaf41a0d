"""Rows that programs and files give, on real servers: the same in all engines, or one line."""

import hashlib
from pathlib import Path

import psycopg
import pytest

from dbdyno.engine import Server
from dbdyno.engine.mysql.connection import connect
from dbdyno.model import Address, Arm, Json
from mysql_jobs import Ran, at, job, run
from server_place import a_place, ends, started

pytestmark = pytest.mark.live

GIVES = (
    'echo id,words; for i in $(seq 1 2000); do echo "$((2000 * $0 + i)),\\"it\'s \\\\ $i'
    ' \\"\\"é\\"\\",\nx\\""; done'
)
"""A shell's program that writes a header, and rows with all that CSV, SQL and LOAD DATA cut by."""
CREATE = "CREATE TABLE t (id int PRIMARY KEY, words varchar(60))"
READ = "SELECT id, words FROM t ORDER BY id"
EXPECTED = [(2000 * part + i, f'it\'s \\ {i} "é",\nx') for part in range(3) for i in range(1, 2001)]


def fill(
    engine: str, server: Json, *parts: Json, header: bool = True, frozen: bool = False
) -> Json:
    """A job that fills the table `t` from these parts."""
    source = {"format": "csv", "header": header, "folder": "/", "parts": list(parts)}
    made = {"table": "t", "streams": 2, "rows": 5, "from": source, "frozen": frozen}
    nothing: Json = {"roles": [], "programs": [], "capture": [], "stop": {"roles": []}}
    return job(engine, server, (), (), fills=[made], tables={"t": 0}, **nothing)


def shell(text: str, number: int) -> Json:
    """A part that a shell writes, whose $0 is a number."""
    return {"command": ["sh", "-c", text, str(number)]}


def refused(ran: Ran) -> str:
    """Why a run failed, in one line."""
    assert ran.done["status"] == "failed"
    reason = str(ran.done["reason"])
    assert "\n" not in reason
    return reason


class Table:
    """The table `t` of a server, made anew."""

    def __init__(self, engine: str, address: Address) -> None:
        self.engine, self.address = engine, address
        self.ask("DROP TABLE IF EXISTS t", CREATE)

    def ask(self, *texts: str) -> list[tuple[object, ...]]:
        """Sends statements; the rows of the last one, if it has any."""
        if self.engine == "postgres":
            where = self.address
            place = f"host={where.host} port={where.port} user={where.user} dbname=ib"
            with psycopg.connect(place, autocommit=True) as connection:
                for text in texts:
                    cursor = connection.execute(text.encode())
                return cursor.fetchall() if cursor.description else []
        with connect(self.address, "test") as connection, connection.cursor() as cursor:
            cursor.execute("USE ib")
            for text in texts:
                cursor.execute(text)
            return list(cursor.fetchall())

    def fill(self, *parts: Json, **more: bool) -> Ran:
        """Fills it."""
        return run(fill(self.engine, at(self.address), *parts, **more))


def of(server: Server) -> Table:
    """The table of a server, in a database of its own."""
    server.create_database("ib")
    address = server.address()
    assert address is not None
    return Table(server.engine, address)


def check(table: Table, tmp_path: Path) -> None:
    """Fills the table well and badly."""
    ran = table.fill(*(shell(GIVES, part) for part in range(3)))
    assert ran.done["status"] == "ok", ran.done["reason"]
    assert table.ask(READ) == EXPECTED
    gave = ran.of("gave")
    assert [(one["table"], one["part"], one["rows"]) for one in gave] == [
        ("t", part, 2000) for part in range(3)
    ]
    assert len({one["sha256"] for one in gave}) == 3
    assert ran.done["totals"]["fill"]["rows"] == 6000

    table.ask("DELETE FROM t")
    file = tmp_path / "rows.csv"
    file.write_text('1,NULL\n2,"NULL"')
    ran = table.fill({"file": str(file)}, header=False)
    assert ran.done["status"] == "ok", ran.done["reason"]
    assert table.ask(READ) == [(1, None), (2, "NULL")]
    assert ran.of("gave")[0]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()

    table.ask("DELETE FROM t")
    reason = refused(table.fill(shell("echo id,words; echo 1,x; echo no >&2; exit 7", 0)))
    assert reason == "filling `t`, stream 0: `sh` ended with exit status 7: no"
    reason = refused(table.fill({"command": ["/no/such/program"]}))
    assert reason.startswith("filling `t`, stream 0: `program` cannot be started: No such file")
    reason = refused(table.fill(shell("echo a,b; echo x,y", 0)))
    assert "filling `t`, stream 0: " in reason and "integer" in reason
    assert table.ask(READ) == []


def test_programs_and_files_fill_a_table_of_postgresql(tmp_path: Path) -> None:
    arm = Arm(name="a", engine="postgres", base_dir=ends()[-1])
    with a_place() as place, started(arm, place) as server:
        table = of(server)
        check(table, tmp_path)
        ran = table.fill(shell(GIVES, 0), shell(GIVES, 1), frozen=True)
        assert ran.done["status"] == "ok", ran.done["reason"]
        assert table.ask(READ) == EXPECTED[:4000]


def test_programs_and_files_fill_a_table_of_mysql_and_mariadb(mysql_server: Server, tmp_path: Path):
    check(of(mysql_server), tmp_path)
