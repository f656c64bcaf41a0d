"""What others than the application sent is named, counted, and left out unless it is asked for."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dbdyno
from captured_log import STDERR_PREFIX, WrittenLog
from dbdyno.capture import join
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.capture.postgres_sql import PostgresSql
from dbdyno.capture.senders import OWN, by_name, by_text
from dbdyno.capture.view import ServerView, StatementCost

STATISTICS = "SELECT datname, numbackends FROM pg_stat_database"
SENT = {
    "monitoring (postgres_exporter)": {"application": "postgres_exporter"},
    "monitoring (pganalyze)": {"application": "pganalyze_collector"},
    "monitoring (pmm-agent)": {"text": "SELECT /* pmm-agent:pgstatstatements */ a FROM t"},
    "monitoring (datadog-agent)": {"text": "/* service='datadog-agent' */ SELECT a FROM t"},
    "monitoring (`datadog`)": {"user": "datadog", "text": STATISTICS},
    "monitoring (`zabbix`)": {"user": "zabbix", "text": "SELECT 1 FROM pg_catalog.pg_class"},
    "monitoring (`rdsadmin`)": {"user": "rdsadmin"},
    "monitoring (`cloudsqladmin`)": {"user": "cloudsqladmin"},
    "dumps of the database": {"application": "pg_dump"},
    "maintenance (vacuumdb)": {"application": "vacuumdb"},
    "replication (patroni)": {"application": "Patroni"},
    "replication": {"text": "START_REPLICATION SLOT x LOGICAL 0/0"},
}
KEPT = {
    "SELECT b FROM items": {"user": "zabbix"},  # Zabbix's own database
    "SELECT relname FROM pg_class": {"application": "web", "user": "app"},  # an ORM's
    "SELECT datname FROM pg_stat_database": {"application": "web", "user": "monitor"},
    "SELECT c FROM dynos": {"application": "dynosaur"},
}


def captured(log: Path, **more: Any) -> tuple[set[str], dict[str, int], str]:
    """The texts of a log's queries, what is left out, and coverage.md."""
    out = log.parent / "app"
    capture(CaptureRequest(logs=[log], server=None, engine="", out=out, **more), lambda line: None)
    file = tomllib.loads((out / "workload.toml").read_text())
    texts = {(out / query["text"]).read_text().strip() for query in file["queries"].values()}
    left_out = {each["reason"]: each["calls"] for each in file["source"].get("left_out", [])}
    return texts, left_out, (out / "coverage.md").read_text()


def a_log(folder: Path) -> Path:
    log = WrittenLog(folder / "postgresql.csv")
    for more in SENT.values():
        log.call(**({"text": "SELECT a FROM t"} | more))  # type: ignore[arg-type]
    for text, more in KEPT.items():
        log.call(text, **more)  # type: ignore[arg-type]
    log.call("SELECT d FROM t", application="dyno-loadgen")
    return log.write()


def test_what_others_sent_is_left_out_by_name(tmp_path: Path) -> None:
    texts, left_out, page = captured(a_log(tmp_path))
    assert texts == set(KEPT)
    assert left_out == dict.fromkeys(SENT, 1)
    assert "- 1 calls of 0.001 s are dyno's own and no part of this." in page


def test_one_option_keeps_it_but_for_dyno_s_own(tmp_path: Path) -> None:
    texts, left_out, _ = captured(a_log(tmp_path), with_monitoring=True)
    assert {STATISTICS, "SELECT a FROM t", *KEPT} <= texts
    assert "SELECT d FROM t" not in texts
    assert left_out == {}


def test_a_view_tells_senders_by_users_and_marks() -> None:
    rows = [
        counted("SELECT a FROM t WHERE b = $1"),
        counted("SELECT wal_records FROM pg_stat_wal", user="postgres_exporter"),
        counted("/* dyno capture */\nSELECT 1"),
        counted("SELECT a FROM t WHERE b = $1", user="rdsadmin"),
    ]
    view = ServerView(rows=rows, seconds=None, version="17", encoding="", locale="")
    for keeps, calls in ((False, 1), (True, 2)):
        sums = join.summed(view, "shop", PostgresSql(), with_monitoring=keeps)
        (total,) = [each for each in sums.sums if "FROM t" in each.text]
        assert total.calls == calls
        assert OWN in [each.reason for each in sums.left_out]


def counted(text: str, user: str = "app") -> StatementCost:
    return StatementCost(
        text=text, query_id=1, database="shop", user=user, calls=1, time_s=1, rows=1
    )


def test_every_session_of_dyno_is_known_by_its_name() -> None:
    folder = Path(dbdyno.__file__).parent
    names = set()
    for path in (folder / "engine").rglob("*.py"):
        text = path.read_text()
        names |= set(re.findall(r'APPLICATION = "(.+)"|connect\(\s*[\w.]+, "([^"]+)"', text))
    names = {name for pair in names for name in pair if name}
    assert len(names) >= 6
    loadgen = (folder.parent / "loadgen/src/session/targets.rs").read_text()
    names |= set(re.findall(r'APPLICATION_NAME: &str = "(.*)"', loadgen))
    for name in names:
        sender = by_name(name, "app")
        assert sender is not None, name
        assert sender.reason == OWN, name


@pytest.mark.parametrize("text", ["/* dyno capture */ SELECT 1", "SELECT /* dyno */ 1"])
def test_dyno_s_marks_are_known(text: str) -> None:
    sender = by_text(text)
    assert sender is not None
    assert sender.reason == OWN
    assert by_text(text.replace("dyno", "dynamo")) is None


def slow(text: str, user: str, thread: int) -> str:
    return (
        f"# User@Host: {user}[{user}] @ localhost []\n# Thread_id: {thread}  Schema: shop\n"
        "# Query_time: 0.001000  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1\n"
        f"SET timestamp=1795687200;\n{text};\n"
    )


def test_a_session_of_mysql_is_told_by_how_it_begins(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_text(
        slow("SELECT a FROM t", "app", 1)
        + slow("/* dyno */ SET SESSION sql_mode = ''", "app", 2)
        + slow("SELECT b FROM t", "app", 2)
        + slow("/*!40100 SET @@SQL_MODE='' */", "app", 3)
        + slow("SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`", "app", 3)
        + slow("SELECT c FROM t", "app", 3)
        + slow("SELECT * FROM performance_schema.threads", "pmm", 4)
        + slow("SELECT d FROM t", "pmm", 4)
        + slow("UPDATE t SET a = 1", "SQL_SLAVE", 5)
    )
    texts, left_out, page = captured(log)
    assert texts == {"SELECT a FROM t", "SELECT d FROM t"}
    assert left_out == {
        "dumps of the database": 3,
        "monitoring (`pmm`)": 1,
        "replication (`SQL_SLAVE`)": 1,
    }
    assert "- 2 calls of 0.002 s are dyno's own" in page


@pytest.mark.parametrize("form", ["csv", "json", "stderr"])
def test_a_plan_of_a_statement_within_a_function_is_no_call(form: str, tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    plan = 'duration: 1.000 ms  plan:\n{{\n  "Query Text": "{}"\n}}'
    for text, context in (
        ("SELECT a FROM t WHERE b = x", "PL/pgSQL function f(integer) line 3 at SQL statement"),
        ("INSERT INTO t VALUES (1)", 'SQL function "g" statement 1'),
        ("SELECT f(5)", ""),
        ("SELECT 1 + $1", "unnamed portal with parameters: $1 = '5'"),
    ):
        log.add(plan.format(text), context=context)
    path = {"csv": log.write, "json": log.write_json, "stderr": log.write_stderr}[form]()
    texts, _, page = captured(path, prefix=STDERR_PREFIX)
    assert texts == {"SELECT f($1)", "SELECT 1 + $1"}
    assert "2 plans are of statements within functions" in page
