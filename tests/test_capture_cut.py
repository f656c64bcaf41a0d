"""A text that may have lost its end is never run where it writes, and marked where it reads."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from captured_log import WrittenLog
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.capture.dialect import ParsedText
from dbdyno.capture.mysql_sql import MysqlSql
from dbdyno.capture.postgres_sql import PostgresSql

WRITES = "UPDATE t SET a = 'it''s', b = \"c\" WHERE d IN (1, 2) AND e[3] = $q$x$q$ /* now */"
MYSQL = "UPDATE t SET a = 'it''s', b = `c` WHERE d IN (1, 2) AND e = 'x' AND f LIKE 'y' AND (g = 1)"
OPEN = (
    *("DELETE FROM t WHERE", "DELETE FROM t WHERE a = 1 AND", "UPDATE t SET", "UPDATE t SET a ="),
    *("INSERT INTO t VALUES (1, 'x", "INSERT INTO t (a, b", "UPDATE t SET a = 1,", "DELETE FROM"),
    *(
        "UPDATE t SET a = 1 WHER",
        "INSERT INTO t (a, b)",
        "UPDATE t SE",
        "DELETE FROM t WHERE a BETW",
    ),
    *("DELETE FROM t WHERE a IN (1, 2", "UPDATE t SET a = 1 WHERE b BETWEEN 1 AND"),
    *("DELETE FROM t WHERE a = 1 OR /* why", "INSERT INTO t SELECT a FROM s JOIN"),
)
PREFIX = "2026-11-26 10:00:00.{0:03d} UTC [7] LOG:  duration: 1.000 ms  statement: "


def captured(log: Path, **more: Any) -> tuple[dict[str, bool], dict[str, int]]:
    """The texts of a log's queries and whether each is marked, and what is left out."""
    out = log.parent / "app"
    capture(CaptureRequest(logs=[log], server=None, engine="", out=out, **more), lambda line: None)
    file = tomllib.loads((out / "workload.toml").read_text())
    queries = {
        (out / query["text"]).read_text().strip(): query.get("cut", False)
        for query in file["queries"].values()
    }
    left_out = {each["reason"]: each["calls"] for each in file["source"].get("left_out", [])}
    return queries, left_out


def stderr(folder: Path, *texts: str) -> Path:
    """A log from stderr of these texts, each as it comes after the prefix of its first line."""
    log = folder / "postgresql.log"
    log.write_text("".join(f"{PREFIX.format(n)}{text}\n" for n, text in enumerate(texts)))
    return log


@pytest.mark.parametrize("text", OPEN)
def test_a_write_with_an_open_end_is_left_out_in_both_dialects(text: str, tmp_path: Path) -> None:
    assert PostgresSql().read(text).form.open
    assert MysqlSql().read(text).form.open
    log = WrittenLog(tmp_path / "postgresql.csv")
    log.call(text)
    log.call("SELECT a FROM t WHERE b = 1")
    log.call("SELECT a FROM t WHERE b IN (1")
    queries, left_out = captured(log.write())
    assert queries == {
        "SELECT a FROM t WHERE b = $1": False,
        "SELECT a FROM t WHERE b IN ($1": True,
    }
    assert left_out == {"texts that may be cut": 1}
    page = (tmp_path / "app/coverage.md").read_text()
    assert "may be cut (`cut = true`); they read" in page


@pytest.mark.parametrize(
    ("read", "whole"), [(PostgresSql().read, WRITES), (MysqlSql().read, MYSQL)]
)
def test_a_write_that_is_cut_anywhere_is_open_or_a_statement(
    read: Callable[[str], ParsedText], whole: str
) -> None:
    statements = set()
    for length in range(1, len(whole)):
        form = read(whole[:length]).form
        assert form.open or not form.refused, whole[:length]
        statements |= set() if form.open else {whole[:length].split()[-1]}
    assert statements <= {"'it'", "'it''s'", "b", '"c"', "`c`", "d", "2)", "e", "e[3]"} | {
        *("$q$x$q$", "'x'", "f", "'y'")
    }


@pytest.mark.parametrize(
    "text",
    [
        WRITES,
        "SELECT a FROM t WHERE id=1OR id=2",
        "SELECT 5 !",
        "SELECT a FROM t FOR UPDATE",
        "SELECT \"a(\" FROM t WHERE b = E'it\\'s (' -- (",
        "INSERT INTO t DEFAULT VALUES",
        "SELECT $a$ it's ($a$",
    ],
)
def test_a_whole_text_is_not_open(text: str) -> None:
    assert not PostgresSql().read(text).form.open


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE b = 'it\\'s (' FOR UPDATE",
        'SELECT `a(` FROM t WHERE b = "it\'s [" # (',
        "INSERT INTO t () VALUES ()",
        "SELECT /*! SQL_NO_CACHE */ a$b$c FROM t ORDER BY a DESC",
    ],
)
def test_a_whole_text_of_mysql_is_not_open(text: str) -> None:
    assert not MysqlSql().read(text).form.open


@pytest.mark.parametrize("whole", ["DELETE FROM t WHERE a = 1", "delete from t\n\twhere a = 1"])
def test_a_write_without_where_may_be_a_longer_ones_first_line(whole: str, tmp_path: Path) -> None:
    first = whole[: whole.lower().index("where")].strip()
    queries, left_out = captured(stderr(tmp_path, first, whole, "UPDATE u SET b = 1"))
    assert sorted(" ".join(text.split()).upper() for text in queries) == [
        "DELETE FROM T WHERE A = $1",
        "UPDATE U SET B = $1",
    ]
    assert left_out == {"texts that may be cut": 1}


def test_a_csvlog_says_where_a_text_ends(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    log.call("DELETE FROM t")
    log.call("DELETE FROM t WHERE a = 1")
    assert len(captured(log.write())[0]) == 2


def test_lines_that_are_not_understood_make_the_text_before_them_doubtful(tmp_path: Path) -> None:
    log = stderr(tmp_path, "DELETE FROM t\nWHERE a = 1", "SELECT a\nFROM t", "SELECT 1")
    queries, left_out = captured(log, prefix="%m [%p] ", accepts_loss=True)
    assert queries == {"SELECT $1": False} | {text: True for text in queries if "a" in text}
    assert left_out["texts that may be cut"] >= 1


@pytest.mark.parametrize("limit", [1023, 4096, 2000])
def test_the_longest_texts_at_a_usual_limit_may_be_cut(limit: int, tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    write = "DELETE FROM t WHERE a = 1 AND b = 22"
    log.call(write + " /*" + "x" * (limit - len(write) - 5) + "*/")
    log.call("SELECT 1")
    assert captured(log.write()) == ({"SELECT $1": False}, {"texts that may be cut": 1})


def test_many_texts_that_end_at_one_length_are_cut_there(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    for table in ("a", "bb", "ccc", "dddd"):
        log.call(f"SELECT x FROM {table} WHERE y IN (1, 2, 3) AND z IN ({'4, ' * 99}"[:300])
    log.call(f"DELETE FROM e WHERE y = 1 AND z = '{'4' * 300}"[:299] + "'")
    queries, left_out = captured(log.write())
    assert len(queries) == 4
    assert all(queries.values())
    assert left_out == {"texts that may be cut": 1}


def test_one_length_of_whole_texts_is_no_limit(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    for table in ("p_01", "p_02", "p_03", "p_04"):
        log.call(f"INSERT INTO {table} (a, b) VALUES (1, 'x')")
    assert list(captured(log.write())[0].values()) == [False] * 4
