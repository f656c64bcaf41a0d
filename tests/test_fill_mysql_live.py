"""Fills on real servers of MySQL and MariaDB: the very rows that PostgreSQL's have, or one line."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from dbdyno.engine import Server
from dbdyno.engine.mysql.connection import connect
from dbdyno.model import Address, Arm, Json
from mysql_jobs import Ran, at, job, run, value
from server_place import a_place, ends, started

pytestmark = pytest.mark.live

ROWS = 3_000
PATTERN = "it's é \\ \\N #@\t-\n#"
"""What LOAD DATA would read otherwise, unless it is escaped, and a letter of two bytes."""
COLUMNS = {"id": "int4", "big": "int8", "price": "text", "words": "text", "filler": "text"} | {
    "born": "timestamp",
    "customer": "int4",
    "part": "int4",
    "cost": "float4",
}
VALUES = [
    value("id", "integer", row=1),
    value("big", "integer", uniform=[-(1 << 62), 1 << 62]),
    value("price", "decimal2", uniform=[-500, 500]),
    value("words", "text", pattern=PATTERN),
    value("filler", "text", text={"fill": "\\", "length": [0, 20], "random": 0.4}),
    value("born", "timestamp", uniform=[-2_000_000_000, 4_000_000_000]),
    value("customer", "integer", uniform=[0, 99_999]),
    value("part", "integer", uniform=[0, 499]),
    value("cost", "hundredths", add={"value": 6, "other": 7}),
]
CREATE = (
    "CREATE TABLE t{number} (id int PRIMARY KEY, big bigint NOT NULL, price varchar(12) NOT NULL,"
    " words varchar(40) NOT NULL, filler varchar(20) NOT NULL, born {time} NOT NULL,"
    " customer int NOT NULL, part int NOT NULL, cost {single} NOT NULL)"
)
SELECT = (
    "SELECT id, big, price, words, filler, born, customer, part, cost FROM t{number} ORDER BY id"
)


def fill(engine: str, server: Json, *, streams: int, tables: int = 1) -> Json:
    """A job that fills tables t1 … with rows of every type."""
    columns = [
        {"name": name, "type": form, "value": index}
        for index, (name, form) in enumerate(COLUMNS.items())
    ]
    made = {"table": "t", "streams": streams, "rows": ROWS, "columns": columns}
    nothing: Json = {"roles": [], "programs": [], "capture": [], "stop": {"roles": []}}
    return job(engine, server, (), VALUES, fills=[made], tables={"t": tables}, **nothing)


@pytest.fixture(name="expected", scope="module")
def _expected() -> Iterator[list[tuple[Any, ...]]]:
    """The rows that PostgreSQL has after its fill."""
    arm = Arm(name="a", engine="postgres", base_dir=ends()[-1])
    with a_place() as place, started(arm, place) as server:
        server.create_database("ib")
        address = server.address()
        assert address is not None
        place_of = f"host={address.host} port={address.port} user={address.user} dbname=ib"
        with psycopg.connect(place_of, autocommit=True) as connection:
            connection.execute(CREATE.format(number=1, time="timestamp", single="real").encode())
            done(run(fill("postgres", at(address), streams=2)))
            yield connection.execute(SELECT.format(number=1).encode()).fetchall()


@pytest.fixture(name="address")
def _address(mysql_server: Server) -> Address:
    """Where the server answers; its database `ib` has two empty tables."""
    mysql_server.create_database("ib")
    address = mysql_server.address()
    assert address is not None
    make = [CREATE.format(number=number, time="datetime", single="float") for number in (1, 2)]
    execute(
        address,
        "USE ib",
        "DROP TABLE IF EXISTS t1, t2",
        *(f"{one} CHARACTER SET utf8mb4" for one in make),
    )
    return address


def execute(address: Address, *statements: str) -> list[tuple[Any, ...]]:
    """Runs statements by PyMySQL; the rows of the last one."""
    with connect(address, "test") as connection, connection.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql)
        return list(cursor.fetchall())


def done(ran: Ran) -> Ran:
    """The run, which went well."""
    assert ran.done["status"] == "ok", ran.done["reason"]
    return ran


def failed(ran: Ran) -> str:
    """Why a run failed, in one line."""
    assert ran.done["status"] == "failed"
    reason = str(ran.done["reason"])
    assert "\n" not in reason
    return reason


@pytest.mark.capability("fills")
@pytest.mark.parametrize("streams", [1, 3])
def test_a_fill_has_the_very_rows_of_postgresqls(
    mysql_server: Server, address: Address, expected: list[tuple[Any, ...]], streams: int
) -> None:
    ran = done(run(fill(mysql_server.engine, at(address), streams=streams, tables=1)))
    assert ran.done["totals"]["fill"]["rows"] == ROWS
    assert len(ran.of("connected")) == streams
    assert execute(address, "USE ib", SELECT.format(number=1)) == expected
    assert {type(one) for one in expected[0]} >= {int, str, float}
    assert all(round(100 * cost) == customer + part for *_, customer, part, cost in expected)


def test_tables_are_filled_side_by_side_with_rows_of_their_own(
    mysql_server: Server, address: Address
) -> None:
    done(run(fill(mysql_server.engine, at(address), streams=2, tables=2)))
    first, second = (execute(address, "USE ib", SELECT.format(number=n)) for n in (1, 2))
    assert len(first) == len(second) == ROWS
    assert not set(first) & set(second)


def test_values_that_the_server_would_change_fail_the_fill_and_leave_nothing(
    mysql_server: Server, address: Address
) -> None:
    execute(address, "USE ib", "ALTER TABLE t1 MODIFY words varchar(5) NOT NULL")
    reason = failed(run(fill(mysql_server.engine, at(address), streams=1)))
    assert reason.startswith("filling `t1`, stream 0: ")
    assert "did not take the rows as they are" in reason
    assert "'words' at row 1" in reason
    assert execute(address, "SELECT count(*) FROM ib.t1") == [(0,)]


def test_rows_that_are_there_already_fail_the_fill(mysql_server: Server, address: Address) -> None:
    made = fill(mysql_server.engine, at(address), streams=1)
    done(run(made))
    reason = failed(run(made))
    # MySQL 5.5 tells no warning of what it leaves out; that nothing came is told by the count.
    assert "1062 Duplicate entry '1'" in reason or f"kept 0 of {ROWS} rows" in reason
    assert execute(address, "SELECT count(*) FROM ib.t1") == [(ROWS,)]


def test_a_server_that_takes_no_data_from_clients_is_told_what_it_needs(
    mysql_server: Server, address: Address
) -> None:
    execute(address, "SET GLOBAL local_infile = OFF")
    try:
        reason = failed(run(fill(mysql_server.engine, at(address), streams=1)))
    finally:
        execute(address, "SET GLOBAL local_infile = ON")
    assert "a fill needs `local_infile = ON`" in reason
