"""Capture reads logs of MySQL and MariaDB of many releases: each call once, values as they were."""

import gzip
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from captured_mysql import CODE, LOGS, MARKER, PREPARED
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.capture.coverage import Coverage
from dbdyno.capture.engines import family
from dbdyno.capture.mysql_sql import MysqlSql
from dbdyno.model.error import DynoError

PREPARED_LIMIT = "SELECT a FROM t WHERE b = ? LIMIT ?"
SLOW = sorted(path.name for path in LOGS.glob("*.slow.log"))
GENERAL = sorted(path.name for path in LOGS.glob("*.general.log"))


@dataclass(frozen=True)
class Application:
    """A captured folder, as tests look at it."""

    folder: Path
    coverage: Coverage

    @property
    def file(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / "workload.toml").read_text())

    def only(self, beginning: str) -> dict[str, Any]:
        """The query whose text begins so."""
        (query,) = [
            query
            for query in self.file["queries"].values()
            if (self.folder / query["text"]).read_text().startswith(beginning)
        ]
        return dict(query)

    def text(self, beginning: str) -> str:
        return (self.folder / self.only(beginning)["text"]).read_text().rstrip("\n")

    def values(self, beginning: str) -> list[tuple[int, list[object]]]:
        lines = (self.folder / self.only(beginning)["values"]).read_text().splitlines()
        read = [json.loads(line, parse_float=str) for line in lines]
        return [(line["weight"], line["values"]) for line in read]


def captured(log: Path, folder: Path, **more: Any) -> Application:
    wish = CaptureRequest(logs=[log], server=None, engine="", out=folder, **more)
    return Application(folder, capture(wish, lambda line: None))


def a_log(folder: Path, text: str) -> Path:
    path = folder / "slow.log"
    path.write_text(text)
    return path


def a_call(text: str, *, seconds: float = 0.001, thread: int = 5, head: str = "") -> str:
    return (
        "# User@Host: app[app] @ localhost []\n"
        f"# Thread_id: {thread}  Schema: shop  QC_hit: No\n"
        f"# Query_time: {seconds:.6f}  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1\n"
        f"{head}SET timestamp=1795687200;\n{text};\n"
    )


# --- Logs of real servers ---------------------------------------------------------------------


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_log_gives_each_query_with_its_values(name: str, tmp_path: Path) -> None:
    application = captured(LOGS / name, tmp_path / "app", database="shop")
    source = application.file["source"]
    assert name.startswith(f"{source['engine']}-{'.'.join(source['version'].split('.')[:2])}")
    texts = {
        "INSERT INTO products": [
            (1, [number, MARKER, "1.50", None, f"{CODE}{number:02d}"]) for number in (1, 2)
        ],
        "SELECT name, price\nFROM products": [(1, [1]), (1, [2])],
        "SELECT p.name, COUNT(*)": [(1, [MARKER, number, -7, 10]) for number in (1, 2)],
        "UPDATE products": [(1, [1, 1]), (1, [2, 1])],
        "INSERT INTO orders": [(1, [1, 2, 3, 4]), (1, [2, 2, 3, 4])],
        "SELECT COUNT(*) FROM orders": [(2, [3])],
        "SELECT id, price": [(1, [1, MARKER, -1]), (1, [2, MARKER, -1])],
    }
    for beginning, values in texts.items():
        query = application.only(beginning)
        assert (query["calls"], query["protocol"]) == (2, "simple")
        assert query["time_s"] > 0
        assert application.values(beginning) == values
        reads = beginning.startswith("SELECT") and "FROM orders" not in beginning
        assert query["writes"] is not reads
    assert application.only("SELECT name, price")["rows"] == 2
    assert application.text("SELECT p.name").endswith(
        "WHERE p.name = $1 AND p.id IN ($2, $3) GROUP BY 1 ORDER BY 2 DESC LIMIT $4"
    )
    insert = application.only("INSERT INTO products")
    assert re.fullmatch(r"timestamp '2026-11-2\d \d\d:\d\d:\d\d'", insert["clock"]["6"])
    assert application.text("INSERT INTO products").endswith("($1, $2, $3, $4, $6, unhex($5))")
    if any("sessions apart" in note for note in application.coverage.notes):
        assert name == "mysql-5.5.slow.log"
        assert "settings" not in insert
    else:
        assert insert["settings"] == {"character_set_connection": "utf8mb4"}


@pytest.mark.parametrize("name", GENERAL)
def test_a_general_log_gives_bound_values_and_no_times(name: str, tmp_path: Path) -> None:
    application = captured(LOGS / name, tmp_path / "app", database="shop")
    assert application.file["source"]["time_s"] == 0
    prepared = application.only("SELECT id, price")
    assert (prepared["protocol"], prepared["calls"]) == ("prepared", 2)
    assert application.text("SELECT id, price") == PREPARED.replace("?", "$1", 1).replace("?", "$2")
    assert application.values("SELECT id, price") == [(1, [1, MARKER]), (1, [2, MARKER])]
    assert application.values("SELECT p.name") == [(1, [MARKER, n, -7, 10]) for n in (1, 2)]
    assert "rows" not in prepared
    assert "1970" not in application.file["description"]
    note = "A general log has no times: queries are weighed by their calls alone"
    assert note in application.coverage.notes


@pytest.mark.parametrize("name", [SLOW[0], GENERAL[0]])
def test_values_are_nowhere_but_in_the_files_of_values(name: str, tmp_path: Path) -> None:
    captured(LOGS / name, tmp_path / "app", database="shop")
    for path in (tmp_path / "app").rglob("*"):
        if path.is_file() and path.parent.name != "values":
            assert "Brien" not in path.read_text()
    captured(LOGS / name, tmp_path / "none", database="shop", keeps_values=False)
    assert not list((tmp_path / "none" / "values").iterdir())


# --- What slow logs have besides --------------------------------------------------------------


def test_a_torn_last_record_is_dropped_and_said(tmp_path: Path) -> None:
    log = a_log(tmp_path, a_call("SELECT 1 FROM t") + a_call("SELECT 2 FROM u")[:-4])
    application = captured(log, tmp_path / "app")
    assert application.only("SELECT")["calls"] == 1
    assert application.coverage.notes == ["The log has 1 records without an end"]


def test_events_of_connections_are_no_calls(tmp_path: Path) -> None:
    log = a_log(tmp_path, a_call("SELECT 1 FROM t") + a_call("# administrator command: Quit"))
    application = captured(log, tmp_path / "app")
    assert application.coverage.calls == 1


def test_rotated_files_are_read_in_order_also_packed_ones(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    later = a_call("SELECT a FROM t WHERE b = 5").replace("1795687200", "1795687300")
    (logs / "slow.log").write_text(later)
    first = a_call("SET SESSION sql_mode = 'ANSI'") + a_call("SELECT a FROM t WHERE b = 4")
    (logs / "slow.log.1.gz").write_bytes(gzip.compress(first.encode()))
    application = captured(logs, tmp_path / "app")
    query = application.only("SELECT a")
    assert (query["calls"], query["settings"]) == (2, {"sql_mode": "ANSI"})
    assert application.file["source"]["seconds"] == pytest.approx(100.001)


def test_failed_calls_of_mysql_are_counted_and_not_run(tmp_path: Path) -> None:
    text = (
        "# Time: 2026-11-27T22:33:55.997665Z\n"
        "# User@Host: app[app] @ localhost []  Id:    20\n"
        "# Query_time: 0.000101  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0 "
        "Thread_id: 20 Errno: {} Killed: 0 Bytes_received: 46 Start: x End: y\n"
        "use shop;\nSET timestamp=1795818835;\nSELECT a FROM t WHERE id = 1;\n"
    )
    log = a_log(tmp_path, text.format(1054) + text.format(0))
    application = captured(log, tmp_path / "app")
    assert application.only("SELECT")["calls"] == 1
    assert application.coverage.errors == {"1054": 1}
    assert application.file["source"]["engine"] == "mysql"


def test_a_sampled_log_says_so(tmp_path: Path) -> None:
    rate = "# Log_slow_rate_type: query  Log_slow_rate_limit: 10\n"
    application = captured(a_log(tmp_path, a_call("SELECT a FROM t", head=rate)), tmp_path / "app")
    assert application.coverage.notes == ["The log has one of 10 calls (`log_slow_rate_limit`)"]


def test_a_log_without_short_calls_says_so(tmp_path: Path) -> None:
    application = captured(a_log(tmp_path, a_call("SELECT 1 FROM t", seconds=2)), tmp_path / "app")
    (note,) = application.coverage.notes
    assert "no call shorter than 2 s" in note
    assert "long_query_time = 0" in note


def test_a_log_without_statements_is_refused_in_a_line(tmp_path: Path) -> None:
    log = a_log(tmp_path, a_call("# administrator command: Quit"))
    with pytest.raises(DynoError, match="holds no statements: set slow_query_log = ON and long"):
        captured(log, tmp_path / "app")
    assert not (tmp_path / "app").exists()


def test_temporary_tables_are_left_out_with_what_reads_them(tmp_path: Path) -> None:
    log = a_log(
        tmp_path,
        a_call("CREATE TEMPORARY TABLE scratch (a INT)")
        + a_call("SELECT a FROM scratch WHERE a = 1")
        + a_call("SELECT a FROM t"),
    )
    application = captured(log, tmp_path / "app")
    assert len(application.file["queries"]) == 1
    left = {each.reason: each.calls for each in application.coverage.left_out}
    assert left["temporary tables"] == 2


# --- Texts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "literals"),
    [
        ("SELECT a FROM t WHERE b = 'it''s' AND c=\"x\"", "b = $1 AND c=$2", ('"it\'s"', '"x"')),
        ("SELECT a FROM t WHERE b = -5 AND c -5 > 1e3", "b = $1 AND c -$2 > $3", "-5 5 1e3"),
        ("SELECT a FROM t WHERE b IS NULL AND c = NULL", "b IS NULL AND c = $1", "null"),
        ("SELECT a FROM t WHERE b = 1.50 ORDER BY 2", "b = $1 ORDER BY 2", "1.50"),
        ("SELECT a FROM t WHERE b LIKE 'a\\%b\\n'", "b LIKE $1", ('"a\\\\%b\\n"',)),
        ("SELECT a FROM t WHERE b = CAST('2' AS DECIMAL(10,2))", "CAST($1 AS DECIMAL(10,2))", None),
        ("SELECT a FROM t WHERE `b 5` = .5 # 7", "`b 5` = $1", "0.5"),
        ("SELECT a FROM t WHERE b > NOW() - INTERVAL 5 DAY", "NOW() - INTERVAL $1 DAY", "5"),
        ("SELECT a FROM t WHERE b = 0x0f AND c = b'101'", "b = 0x0f AND c = b'101'", ()),
        ("SELECT /*+ MAX_EXECUTION_TIME(9) */ a FROM t", "/*+ MAX_EXECUTION_TIME(9) */", ()),
        ("SELECT a FROM t1 WHERE t1.b2 = 007", "t1.b2 = $1", "7"),
        ('SELECT "a" FROM "t" WHERE "t"."b" = \'x\'', '"t"."b" = $1', ('"x"',)),
    ],
)
def test_literals_are_taken_out_and_the_form_stays(
    text: str, key: str, literals: str | tuple[str, ...] | None
) -> None:
    statement = MysqlSql().read(text)
    assert key in statement.form.key
    if literals is not None:
        assert statement.literals == (
            tuple(literals.split()) if isinstance(literals, str) else literals
        )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT SLEEP(1)", "SLEEP"),
        ("SELECT get_lock('a', 1)", "GET_LOCK"),
        ("SELECT a INTO OUTFILE '/x' FROM t", "SELECT INTO"),
        ("SELECT @x + 1", "variables of a session (@x)"),
        ("SELECT @r := @r + 1 FROM t, (SELECT @r := 0) x", ""),
        ("SELECT 'SLEEP(1)' FROM t", ""),
        ("/* page */ COMMIT", "transaction control"),
        ("LOCK TABLES t WRITE", "LOCK"),
    ],
)
def test_what_cannot_run_by_itself_is_left_out(text: str, reason: str) -> None:
    assert MysqlSql().read(text).form.left_out == reason


def test_a_statement_that_is_no_query_keeps_its_tag_alone() -> None:
    statement = MysqlSql().read("CREATE USER x IDENTIFIED BY 'secret'")
    assert statement.form.pieces == ("definitions",)
    assert statement.literals == ()


def test_a_text_that_the_parser_refuses_is_kept_and_says_nothing(caplog: pytest.LogCaptureFixture):
    dialect = MysqlSql()
    statement = dialect.read("SELECT a FROM t WHERE b = 'x' PROCEDURE ANALYSE(10)")
    assert statement.form.refused
    assert statement.form.key == "SELECT a FROM t WHERE b = $1 PROCEDURE ANALYSE($2)"
    assert dialect.read("REPLACE INTO t SET a = 1").form.verb == "replace"
    assert not caplog.records


def test_texts_of_one_skeleton_differ_by_what_is_part_of_the_form() -> None:
    dialect = MysqlSql()
    forms = [dialect.read(f"SELECT a, b FROM t ORDER BY {n} LIMIT 5").form.key for n in (1, 2, 1)]
    assert forms[0] == forms[2] != forms[1]


def test_lists_of_any_length_share_a_fingerprint() -> None:
    dialect = MysqlSql()
    texts = ("INSERT INTO t VALUES (1,'a')", "INSERT INTO t VALUES (1,'a'),(2,'b'),(3,'c')")
    one, three = (dialect.read(text).form for text in texts)
    assert one.fingerprint == three.fingerprint
    assert one.key != three.key


def test_a_value_comes_back_as_a_literal() -> None:
    dialect = MysqlSql()
    for value in (MARKER, "\\", "a\\'b", ""):
        literal = dialect.quoted(json.dumps(value))
        (read,) = dialect.read(f"SELECT a FROM t WHERE b = {literal}").literals
        assert json.loads(read) == value


def test_a_set_of_several_variables_sets_each() -> None:
    text = "SET NAMES utf8mb4, @@session.sql_mode = 'A,B', SESSION sort_buffer_size = 5, x = 1"
    settings = {each.name: each.value for each in MysqlSql().settings(text)}
    assert settings == {
        "character_set_connection": "utf8mb4",
        "sql_mode": "A,B",
        "sort_buffer_size": "5",
    }
    assert not MysqlSql().settings("SET GLOBAL sort_buffer_size = 5, sql_mode = 'A'")
    assert not MysqlSql().settings("SET STATEMENT sort_buffer_size = 5 FOR SELECT 1")


def test_a_log_of_another_family_than_the_server_is_refused_in_a_line() -> None:
    with pytest.raises(DynoError, match="the log is none of PostgreSQL's: name one"):
        family("postgres", "slow")
    with pytest.raises(DynoError, match="capture reads no server of fake"):
        family("fake", None)


@pytest.mark.long
def test_a_text_of_thousands_of_rows_is_not_parsed_and_no_worse() -> None:
    dialect = MysqlSql()
    rows = ",".join(f"({number},'a{number}',NOW(6))" for number in range(20_000))
    statement = dialect.read(f"INSERT INTO shop.t (a, b, c) VALUES {rows}")
    form = statement.form
    assert (form.verb, form.tables, form.writes, form.refused) == (
        "insert",
        ("shop.t",),
        True,
        False,
    )
    assert (form.literals, len(form.slots)) == (40_000, 60_000)
    assert statement.literals[-2:] == ("19999", '"a19999"')
    short = dialect.read("INSERT INTO shop.t (a, b, c) VALUES (1,'a',NOW(6))").form
    assert short.fingerprint == form.fingerprint


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5", "5"),
        ("-1.50", "-1.50"),
        (".5", "0.5"),
        ("'5'", '"5"'),
        ("NULL", "null"),
        ("TIMESTAMP'2026-01-02 03:04:05'", '"2026-01-02 03:04:05"'),
        ("'a\\'b''c'", "\"a'b'c\""),
        ("x'C3BC'", '"ü"'),
    ],
)
def test_a_bound_number_stays_a_number_and_a_text_a_text(written: str, value: str) -> None:
    dialect = MysqlSql()
    ran = dialect.executed(f"SELECT a FROM t WHERE b = {written} LIMIT 3", PREPARED_LIMIT)
    assert ran is not None
    assert ran.values is not None
    assert [dialect.bound(each) for each in ran.values] == [value, "3"]


def test_an_execute_of_another_text_gives_no_values() -> None:
    dialect = MysqlSql()
    assert dialect.executed("SELECT a FROM u WHERE b = 5 LIMIT 3", PREPARED_LIMIT) is None
    assert dialect.executed("SELECT a FROM t WHERE b = x'FF' LIMIT 3", PREPARED_LIMIT) is None


def test_a_literal_of_bytes_and_null_in_its_place_are_kept_apart() -> None:
    dialect = MysqlSql()
    pieces = {
        written: dialect.read(f"INSERT INTO t VALUES (1, {written})").form.key
        for written in ("NULL", f"x'{CODE}01'", "x'41'", "'a'", "0b11", "NULL")
    }
    assert pieces == {
        "NULL": "INSERT INTO t VALUES ($1, $2)",
        f"x'{CODE}01'": "INSERT INTO t VALUES ($1, unhex($2))",
        "x'41'": "INSERT INTO t VALUES ($1, x'41')",
        "'a'": "INSERT INTO t VALUES ($1, $2)",
        "0b11": "INSERT INTO t VALUES ($1, 0b11)",
    }
