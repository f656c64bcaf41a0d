"""What the probe of MySQL makes of a server's answers, without a server."""

from __future__ import annotations

from typing import Any

import pymysql
import pytest

from dbdyno.engine.mysql.probe import counters, objects, query_plans
from dbdyno.engine.mysql.probe.reader import MysqlProbe, version
from dbdyno.engine.snapshot import UnavailableError
from dbdyno.model.snapshot import Binlog, StatementPlan

MONITOR = """
---
LOG
---
Log sequence number          19618893
Log flushed up to            19618893
Last checkpoint at           19618000
------------
TRANSACTIONS
------------
Trx id counter 1822
History list length 7
"""


class Cursor:
    """Answers each query with the rows that are planted for a piece of it, or refuses."""

    def __init__(self, planted: dict[str, list[dict[str, Any]]]) -> None:
        self.planted, self.rows = planted, list[dict[str, Any]]()

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str, parameters: object = None) -> None:
        """Chooses the rows."""
        for piece, rows in self.planted.items():
            if piece in sql:
                self.rows = rows
                return
        raise pymysql.err.ProgrammingError(1064, "You have an\nerror in your SQL syntax")

    def fetchall(self) -> list[dict[str, Any]]:
        """The rows of the last query."""
        return self.rows


class Connection:
    """A connection that knows some answers."""

    def __init__(self, planted: dict[str, list[dict[str, Any]]]) -> None:
        self.planted = planted

    def cursor(self) -> Cursor:
        """A new cursor."""
        return Cursor(self.planted)


def a_reader(version: str, planted: dict[str, list[dict[str, Any]]] | None = None) -> MysqlProbe:
    """A reader of a server that knows these answers; `planted`: by a piece of the query."""
    known = {"version()": [{"version": version}], "SET SESSION sql_mode": [], **(planted or {})}
    connection: Any = Connection(known)
    return MysqlProbe(connection)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8.4.6", 80406),
        ("9.7.4-2", 90704),
        ("10.11.19-MariaDB-0+deb12u1", 101119),
        ("5.5.5-10.11.19-MariaDB-log", 101119),
        ("5.7.44-log", 50744),
    ],
)
def test_a_version_is_read_as_the_server_says_it(text: str, expected: int) -> None:
    assert version(text)[1] == expected


def test_what_is_no_version_is_said() -> None:
    with pytest.raises(UnavailableError, match="`latest` is not a version"):
        version("latest")


def test_mysql_and_mariadb_are_told_apart() -> None:
    assert a_reader("10.11.19-MariaDB").product == "MariaDB 10.11"
    assert a_reader("8.4.6").product == "MySQL 8.4"


def test_a_refusal_is_kept_in_the_servers_own_words_on_one_line() -> None:
    reader = a_reader("9.7.4")
    assert reader.part("tables", lambda: reader.rows("SELECT nonsense")) is None
    said = "error 1064: You have an error in your SQL syntax"
    assert reader.unavailable == {"tables": said}


def test_numbers_of_the_status_are_numbers_and_texts_are_left_out() -> None:
    rows = [("Uptime", "12"), ("Last_query_cost", "0.25"), ("Rpl_status", "ON"), ("Empty", "")]
    planted = [{"Variable_name": name, "Value": value} for name, value in rows]
    reader = a_reader("9.7.4", {"SHOW GLOBAL STATUS": planted})
    assert counters.global_status(reader) == {"uptime": 12, "last_query_cost": 0.25}


def test_redo_is_read_from_the_status_of_each_engine() -> None:
    mysql = {
        "innodb_redo_log_current_lsn": 900.0,
        "innodb_redo_log_checkpoint_lsn": 600.0,
        "innodb_os_log_fsyncs": 3.0,
    }
    mariadb = {"innodb_lsn_current": 90.0, "innodb_lsn_last_checkpoint": 60.0}
    found = counters.redo(mysql, "")
    assert (found["position_bytes"], found["since_checkpoint_bytes"]) == (900, 300)
    assert found["fsyncs"] == 3
    found = counters.redo(mariadb, MONITOR)
    assert (found["position_bytes"], found["since_checkpoint_bytes"]) == (90, 30)
    assert found["fsyncs"] is None


def test_redo_of_a_version_without_it_in_the_status_is_read_from_the_monitor() -> None:
    found = counters.redo({"innodb_os_log_written": 5.0}, MONITOR)
    assert found["position_bytes"] == 19618893
    assert found["since_checkpoint_bytes"] == 893
    assert found["bytes"] == 5


def test_a_position_that_nothing_tells_is_no_zero() -> None:
    with pytest.raises(UnavailableError, match="log sequence number"):
        counters.redo({}, "")


def test_the_history_list_is_read_wherever_the_version_has_it() -> None:
    assert counters.purge({}, {"trx_rseg_history_len": 5}, MONITOR) == {"history": 5}
    assert counters.purge({"innodb_history_list_length": 0}, {}, MONITOR) == {"history": 0}
    assert counters.purge({}, {}, MONITOR) == {"history": 7}
    with pytest.raises(UnavailableError):
        counters.purge({}, {}, "")


def test_a_binary_log_that_is_off_is_known_to_be() -> None:
    reader = a_reader("8.4.6", {"log_bin": [{"yes": 0}]})
    assert counters.binlog(reader) == Binlog(
        enabled=False, file=None, position_bytes=None, files={}
    )


@pytest.mark.parametrize(
    ("version", "statement"),
    [
        ("8.4.6", "SHOW BINARY LOG STATUS"),
        ("8.0.44", "SHOW MASTER STATUS"),
        ("10.11.19-MariaDB", "SHOW MASTER STATUS"),
        ("11.8.2-MariaDB", "SHOW MASTER STATUS"),
    ],
)
def test_the_binary_log_is_asked_for_in_the_words_of_the_version(version: str, statement: str):
    planted = {
        "log_bin": [{"yes": 1}],
        statement: [{"File": "binlog.000002", "Position": 700}],
        "SHOW BINARY LOGS": [
            {"Log_name": "binlog.000001", "File_size": 900},
            {"Log_name": "binlog.000002", "File_size": 700},
        ],
    }
    found = counters.binlog(a_reader(version, planted))
    assert (found.file, found.position_bytes) == ("binlog.000002", 700)
    assert found.files == {"binlog.000001": 900, "binlog.000002": 700}


@pytest.mark.parametrize(
    ("known", "free", "file", "stale"),
    [
        (16_384, 0, 9_437_184, True),  # the statistics are of an empty table
        (6_291_456, 0, 9_437_184, False),
        (16_384, 8_388_608, 9_437_184, False),  # most of it is free: rows were deleted
        (16_384, 0, 245_760, False),
        (16_384, 0, None, False),
    ],
)
def test_estimates_from_before_the_rows_are_seen_by_the_file(
    known: int, free: int, file: int | None, stale: bool
) -> None:
    table = {"total_bytes": known, "free_bytes": free, "file_bytes": file}
    assert objects.is_stale(table) is stale


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"select_type": "DELETE", "table": "pi1", "type": "range", "key": "PRIMARY",
             "rows": 50, "extra": "Using where"},
            "range on pi1 by PRIMARY: Using where  (rows=50)",
        ),
        (
            {"select_type": "INSERT", "table": "pi1", "type": "ALL", "key": None, "rows": None},
            "insert on pi1  (rows=unknown)",
        ),
        (
            {"select_type": "DERIVED", "table": "t", "type": "ALL", "key": None, "rows": 7},
            "derived: ALL on t  (rows=7)",
        ),
        (
            {"select_type": "SIMPLE", "table": None, "type": None, "key": None, "rows": None,
             "extra": "No tables used"},
            "no access: No tables used  (rows=unknown)",
        ),
    ],
)  # fmt: skip
def test_a_line_of_a_plan_reads_as_what_is_done(row: dict[str, Any], expected: str) -> None:
    assert query_plans.line(row) == expected


def test_a_statement_without_a_plan_does_not_take_the_others_with_it() -> None:
    row = {"select_type": "SIMPLE", "table": "pi1", "type": "const", "key": "PRIMARY", "rows": 1}
    reader = a_reader("10.11.19-MariaDB", {"SELECT c": [row]})
    found = query_plans.plans(reader, {"point": "SELECT c FROM pi1", "alter": "ALTER TABLE pi1"})
    assert found["point"].custom == "const on pi1 by PRIMARY  (rows=1)"
    assert found["alter"] == StatementPlan()
    assert list(reader.unavailable) == ["explain.alter"]
