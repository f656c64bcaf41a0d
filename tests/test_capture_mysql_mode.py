"""Capture reads texts of MySQL as their session did: quotes and backslashes by `sql_mode`."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.capture.digest_view import meaning
from dbdyno.capture.mysql_mode import ModeReading, reading_of
from dbdyno.capture.mysql_session import settings_of
from dbdyno.capture.mysql_sql import MysqlSql
from dbdyno.model.literal import of_setting

PLAIN = {"sql_mode": "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES"}
ANSI = {"sql_mode": "ANSI"}
BOTH = {"sql_mode": "ansi_quotes,no_backslash_escapes"}


@pytest.mark.parametrize(
    ("settings", "text", "values", "written"),
    [
        ({}, r"""SELECT "a" FROM t WHERE b = 'x\\y\'z'""", ["a", r"x\y'z"], "SELECT $1 FROM t"),
        (PLAIN, r"SELECT b FROM t WHERE b = 'x\y\'", ["x\\y\\"], "SELECT b FROM t WHERE b = $1"),
        (PLAIN, r"""SELECT b FROM t WHERE b = "\" """, ["\\"], "SELECT b FROM t WHERE b = $1"),
        (ANSI, """SELECT "a""b" FROM "t" WHERE "c" = 'x'""", ["x"], 'SELECT `a"b` FROM `t`'),
        (BOTH, r"""SELECT "a\" FROM t WHERE b LIKE '5\%'""", [r"5\%"], r"SELECT `a\` FROM t"),
        (BOTH, r"SELECT b FROM t -- it's \ ' a" "\nWHERE b = 'x'", ["x"], "SELECT b FROM t"),
    ],
)
def test_a_text_is_read_as_its_session_read_it(
    settings: dict[str, str], text: str, values: list[str], written: str
) -> None:
    statement = MysqlSql().within(settings).read(text)
    assert [json.loads(value) for value in statement.literals] == values
    pieces = "$1".join(statement.form.pieces)
    assert " ".join(pieces.split()).startswith(written)
    assert not statement.form.refused


def test_a_literal_that_stays_in_the_text_has_its_own_backslashes() -> None:
    text = r"SELECT a FROM t WHERE b = 'x\y' AND c = ?"
    for settings in ({}, PLAIN):
        dialect = MysqlSql().within(settings)
        (value,) = dialect.read(text).literals
        assert dialect.quoted(value) == (r"'x\y'" if settings else "'xy'")


@given(st.text(alphabet="a'\"\\`#- \n;/*$1"), st.booleans(), st.booleans())
def test_any_value_comes_back_whatever_the_mode(value: str, ansi: bool, plain: bool) -> None:
    reading = ModeReading(ansi_quotes=ansi, plain_backslashes=plain)
    mode = ",".join(["ANSI_QUOTES"] * ansi + ["NO_BACKSLASH_ESCAPES"] * plain)
    assert reading_of(mode) == reading
    inner = value if plain else value.replace("\\", "\\\\")
    literal = "'" + inner.replace("'", "''") + "'"
    dialect = MysqlSql().within({"sql_mode": mode})
    statement = dialect.read(f"SELECT a FROM t WHERE b = {literal} LIMIT 7")
    assert [json.loads(each) for each in statement.literals] == [value, 7]
    assert (
        dialect.read(f"SELECT {dialect.quoted(statement.literals[0])}").literals[0]
        == (statement.literals[0])
    )


def test_a_message_is_divided_as_its_session_read_it() -> None:
    text = r"SELECT '\'; SELECT 'x'"
    assert len(MysqlSql().split(text)) == 1
    assert MysqlSql().within(PLAIN).split(text) == [r"SELECT '\'", "SELECT 'x'"]


RECORD = """# User@Host: app[app] @ localhost []  Id: {session}
# Query_time: 0.1  Lock_time: 0 Rows_sent: 1  Rows_examined: 1
SET timestamp=1700000000;
{text};
"""


def test_what_a_session_sets_holds_for_its_texts_alone(tmp_path: Path) -> None:
    text = r"SELECT b FROM t WHERE b = 'a\\b'"
    log = tmp_path / "slow.log"
    log.write_text(
        "".join(
            RECORD.format(session=session, text=each)
            for session, each in (
                (1, "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'"),
                (1, text),
                (2, text),
                (1, "SET SESSION sql_mode = DEFAULT"),
                (1, text),
            )
        )
    )
    out = tmp_path / "app"
    capture(CaptureRequest(logs=[log], server=None, engine="", out=out), lambda line: None)
    queries = tomllib.loads((out / "workload.toml").read_text())["queries"].values()
    kept = {
        query.get("settings", {}).get("sql_mode"): (
            query["calls"],
            json.loads((out / query["values"]).read_text())["values"],
        )
        for query in queries
    }
    assert kept == {None: (2, ["a\\b"]), "NO_BACKSLASH_ESCAPES": (1, [r"a\\b"])}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "SET SESSION sql_mode=(SELECT REPLACE(@@sql_mode,'ONLY_FULL_GROUP_BY',''))",
            "REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', '')",
        ),
        (
            'SET @@SESSION.sql_mode = CONCAT(@@SESSION.sql_mode, ",ANSI_QUOTES"), wait_timeout = 5',
            "CONCAT(@@sql_mode, ',ANSI_QUOTES')",
        ),
        ("SET sql_mode = (SELECT CONCAT(@@time_zone, ',X'))", None),
        ("SET sql_mode = 'TRADITIONAL'", "TRADITIONAL"),
    ],
)
def test_what_changes_a_mode_is_kept_as_it_is(text: str, kept: str | None) -> None:
    assert {setting.name: setting.value for setting in settings_of(text)} == (
        {} if kept is None else {"sql_mode": kept}
    )
    if kept is not None:
        assert reading_of(kept).ansi_quotes is ("ANSI_QUOTES" in kept)
        before = ModeReading(plain_backslashes=True)
        assert reading_of(kept, before).plain_backslashes is ("@@" in kept)
        written = of_setting(kept)
        assert written == (kept if "@@" in kept else f"'{kept}'")


def test_of_a_servers_mode_sessions_get_what_decides_the_meaning_of_texts() -> None:
    assert meaning("STRICT_TRANS_TABLES", "SYSTEM") == {}
    assert meaning("ANSI,STRICT_TRANS_TABLES", "+02:00") == {
        "sql_mode": "ANSI,STRICT_TRANS_TABLES",
        "time_zone": "+02:00",
    }
