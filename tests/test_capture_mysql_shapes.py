"""Logs of MySQL and MariaDB in all shapes that servers and services write; damaged ones, too."""

import json
import random
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from captured_mysql import LOGS
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.capture.digest_view import meaning
from dbdyno.capture.log.mysql_time import seconds_of
from dbdyno.capture.mysql_mode import ModeReading, reading_of
from dbdyno.capture.mysql_session import settings_of
from dbdyno.capture.mysql_sql import MysqlSql
from dbdyno.capture.mysql_token import IN_QUOTES
from dbdyno.model.error import DynoError
from dbdyno.model.literal import of_setting

SELECT = "SELECT a FROM t WHERE b = 'x'"
TIMES = "# Query_time: 0.002000  Lock_time: 0.000001 Rows_sent: 2  Rows_examined: 9"
USER = "# User@Host: app[app] @  [10.0.0.5]  Id:    12\n"
SET = "SET timestamp=1795687200;\n"
BANNERS = (
    "/usr/sbin/mysqld, Version: 8.4.3 (MySQL Community Server - GPL). started with:\n"
    "Tcp port: 3306  Unix socket: /tmp/mysql.sock\nTime                 Id Command    Argument\n",
    "C:\\Program Files\\MySQL\\MySQL Server 8.4\\bin\\mysqld.exe, Version: 8.4.3 (MySQL Community "
    "Server - GPL). started with:\nTCP Port: 3306, Named Pipe: MySQL\n"
    "Time                 Id Command    Argument\n",
    "/rdsdbbin/mysql/bin/mysqld, Version: 8.4.3 (Source distribution). started with:\n"
    "Tcp port: 3306  Unix socket: /tmp/mysql.sock\nTime                 Id Command    Argument\n",
)
SHAPES = {
    "mysql 5.1": "# Time: 240101  1:02:03\n# User@Host: app[app] @ web [10.0.0.5]\n"
    "# Query_time: 0  Lock_time: 0  Rows_sent: 2  Rows_examined: 9\nuse shop;\n" + SET,
    "mysql 8.4": f"# Time: 2024-01-01T01:02:03.123456Z\n{USER}{TIMES} Thread_id: 12 Errno: 0 "
    "Killed: 0 Bytes_received: 0 Bytes_sent: 182 Read_first: 0 Read_last: 0 Read_key: 1 "
    "Read_next: 0 Read_prev: 0 Read_rnd: 0 Read_rnd_next: 0 Sort_merge_passes: 0 "
    "Sort_range_count: 0 Sort_rows: 0 Sort_scan_count: 0 Created_tmp_disk_tables: 0 "
    "Created_tmp_tables: 0 Start: 2024-01-01T01:02:03.121456Z End: 2024-01-01T01:02:03.123456Z\n"
    f"use shop;\n{SET}",
    "log_timestamps = SYSTEM": f"# Time: 2024-01-01T03:02:03.123456+02:00\n{USER}{TIMES}\n"
    f"use shop;\n{SET}",
    "Percona Server": f"# Time: 2024-01-01T01:02:03.123456Z\n{USER}"
    "# Schema: shop  Last_errno: 0  Killed: 0\n"
    f"{TIMES}  Rows_affected: 0  Bytes_sent: 66\n"
    "  Tmp_tables: 1  Tmp_disk_tables: 2  Tmp_table_sizes: 3\n# InnoDB_trx_id: 1500\n"
    "# QC_Hit: No  Full_scan: Yes  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No\n"
    "# Filesort: No  Filesort_on_disk: No  Merge_passes: 0\n#   InnoDB_IO_r_ops: 0  "
    f"InnoDB_IO_r_bytes: 0  InnoDB_IO_r_wait: 0.000000\n{SET}",
    "MariaDB 11": "# Time: 240101  1:02:03\n# User@Host: app[app] @ localhost []\n"
    "# Thread_id: 12  Schema: shop  QC_hit: No\n"
    "# Query_time: 0.002000  Lock_time: 0.000001  Rows_sent: 2  Rows_examined: 9\n"
    "# Rows_affected: 0  Bytes_sent: 85\n# Tmp_tables: 1  Tmp_disk_tables: 0  "
    "Tmp_table_sizes: 256\n# Full_scan: Yes  Full_join: No  Tmp_table: Yes  Tmp_table_on_disk: No\n"
    "# Filesort: No  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: No\n"
    "# Pages_accessed: 184  Pages_read: 95  Pages_prefetched: 0  Pages_updated: 0  "
    "Old_rows_read: 1\n# Pages_read_time: 17.0204  Engine_time: 248.1297\n#\n"
    "# explain: id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tr_rows\n"
    f"# explain: 1\tSIMPLE\tt\tALL\tNULL\tNULL\tNULL\tNULL\t9\t9.00\n#\n{SET}",
}
ENDS = {"plain": "", "blank lines": "\n\n"}


def captured(log: Path, **more: Any) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The queries of a log by their texts, and what is said of its source."""
    out = log.parent / "app"
    capture(CaptureRequest(logs=[log], server=None, engine="", out=out, **more), lambda line: None)
    file = tomllib.loads((out / "workload.toml").read_text())
    texts = {(out / each["text"]).read_text()[:-1]: each for each in file["queries"].values()}
    return texts, file["source"]


@pytest.mark.parametrize("after", ENDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_slow_log_of_any_shape(shape: str, after: str, line_end: str, tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    record = SHAPES[shape]
    command = f"{record}# administrator command: Prepare;\n{ENDS[after]}"
    text = "".join(banner + f"{command}{record}{SELECT};\n{ENDS[after]}" for banner in BANNERS)
    log.write_bytes(text.replace("\n", line_end).encode())
    queries, source = captured(log)
    query = queries["SELECT a FROM t WHERE b = $1"]
    assert (query["calls"], query["rows"], source["calls"]) == (3, 6, 3)
    assert query["time_s"] == pytest.approx(0 if "5.1" in shape else 0.006)
    assert source["version"] == "8.4.3"
    assert source["first"].startswith(
        "2024-01-01 01:02:03" if "Z" in record or "+" in record else "2026"
    )
    assert not re.search(r"lines|without an end", (tmp_path / "app/coverage.md").read_text())


@pytest.mark.parametrize(
    "text",
    [
        "# one\n# Time: to go\nSELECT a\n# two\nFROM t",
        "SELECT a\n\n# User@Host: not this\n\nFROM t;\n",
        "-- x\nSELECT a\n# Query_time: of it\nFROM t",
    ],
)
def test_lines_of_a_text_may_begin_with_a_sharp(text: str, tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_text("".join(SHAPES["mysql 8.4"] + f"{text};\n" for _ in range(2)))
    queries, _ = captured(log)
    assert {" ".join(text.split()): each["calls"] for text, each in queries.items()} == {
        "SELECT a FROM t": 2
    }


def test_statements_of_routines_are_not_the_application_s(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    routine = f"# Stored routine: shop.p\n{SET}"
    log.write_text(
        SHAPES["Percona Server"].replace(SET, routine)
        + f"{SELECT};\n"
        + SHAPES["Percona Server"]
        + "SELECT 1;\n"
    )
    queries, source = captured(log)
    assert set(queries) == {"SELECT $1"}
    assert [each["reason"] for each in source["left_out"]] == [
        "within functions, run by what calls them"
    ]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_general_log_tells_what_functions_and_triggers_ran(line_end: str, tmp_path: Path) -> None:
    log = tmp_path / "general.log"
    lines = [
        "2026-11-29T20:40:57.471993Z\t   21 Connect\tpmm@localhost on shop using TCP/IP",
        "2026-11-29T20:40:57.480000Z\t   21 Query\tSELECT * FROM performance_schema.threads",
        "2026-11-29T20:40:57.490000Z\t   21 Change user\tapp@localhost on shop",
        "2026-11-29T20:40:57.634048Z\t   21 Query\tSELECT g(7)",
        "2026-11-29T20:40:57.634423Z\t   21 Query\tSELECT count(*) INTO y FROM n WHERE a =  "
        "NAME_CONST('x',7)",
        "2026-11-29T20:40:57.634760Z\t   21 Query\tUPDATE n SET a = 6",
        "2026-11-29T20:40:57.634955Z\t   21 Query\tINSERT INTO o (p) VALUES (NEW.a, 1)",
        "",
    ]
    log.write_bytes((BANNERS[1] + "\n".join(lines)).replace("\n", line_end).encode())
    queries, source = captured(log)
    assert set(queries) == {"SELECT g($1)", "UPDATE n SET a = $1"}
    assert {each["reason"]: each["calls"] for each in source["left_out"]} == {
        "within functions, run by what calls them": 2,
        "monitoring (`pmm`)": 1,
    }


@pytest.mark.parametrize(
    "stamp",
    ["240101  1:02:03", "240101 01:02:03", "2024-01-01T01:02:03Z", "2024-01-01T03:02:03+02:00"],
)
def test_times_of_every_form_are_one_moment(stamp: str) -> None:
    assert seconds_of(stamp) == 1704070923.0
    fraction = re.sub(r"(:03)", r"\1.250000", stamp)
    assert seconds_of(fraction) == 1704070923.25


# --- Damaged logs -----------------------------------------------------------------------------

INSERTED = (
    b"'",
    b'"',
    b";\n",
    b"\n",
    b"#",
    b"# Time: ",
    b"\x00",
    b"\\",
    b"/*",
    b"?",
    b"\xff",
    b"\r",
)
FILES = sorted(path.name for path in LOGS.glob("*.log"))
TRIES = 12


def damaged(whole: bytes, draw: random.Random) -> bytes:
    """The log with bytes changed, lost, put in, swapped or doubled, or cut off."""
    content = bytearray(whole)
    for _ in range(draw.randrange(1, 6)):
        place, other = (draw.randrange(len(content)) for _ in range(2))
        match draw.randrange(6):
            case 0:
                content[place] = draw.randrange(256)
            case 1:
                del content[place : place + draw.randrange(1, 60)]
            case 2:
                content[place:place] = draw.choice(INSERTED)
            case 3:
                content[place:place] = content[other : other + 80]
            case 4:
                content[place], content[other] = content[other], content[place]
            case _:
                del content[max(place, 200) :]
    return bytes(content)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_log_is_a_folder_or_a_line_and_no_other_text(
    name: str, seed: int, tmp_path: Path
) -> None:
    draw = random.Random(f"{name}{seed}")
    log = tmp_path / name
    for _ in range(TRIES):
        log.write_bytes(damaged((LOGS / name).read_bytes(), draw))
        try:
            queries, _ = captured(log)
        except DynoError as error:
            assert "\n" not in str(error)
            assert "Brien" not in str(error)
            continue
        said = " ".join(log.read_text(errors="surrogateescape").split())
        for text, query in queries.items():
            for piece in re.split(rf"'{IN_QUOTES}|\$\d+|unhex\(|\s+", text):
                assert piece.strip("()") in said, text
            values = tmp_path / "app" / query.get("values", "coverage.md")
            for line in values.read_text().splitlines() if "values" in query else ():
                json.loads(line)
        assert "Brien" not in (tmp_path / "app/coverage.md").read_text()
        shutil.rmtree(tmp_path / "app")


# Capture reads texts of MySQL as their session did: quotes and backslashes by `sql_mode`.


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
