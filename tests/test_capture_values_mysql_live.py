"""Values of all types: real servers of MySQL and MariaDB log them, and they are run again.

What was sent stands in tables `sent_…`; the captured queries fill `got_…`, as a race runs them.
"""

import itertools
import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import captured_mysql
from captured_log import DRAWN
from captured_mysql import DATABASE, connect, opened
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.engine import LabServer
from dbdyno.model.literal import literal, of_setting
from mysql_place import ENGINES, an_arm
from server_place import a_place, started, within

pytestmark = pytest.mark.live

KINDS = {
    "int": "BIGINT",
    "decimal": "DECIMAL(30,10)",
    "double": "DOUBLE",
    "text": "TEXT",
    "bytes": "VARBINARY(40)",
    "day": "DATE",
    "moment": "DATETIME(6)",
    "time": "TIME(6)",
    "year": "YEAR",
    "json": "JSON",
    "mood": "ENUM('sad', 'it''s ok')",
    "few": "SET('a', 'b')",
    "bool": "BOOLEAN",
}
BARE = ("int", "decimal", "double", "year", "bool")
"""Kinds whose values a program writes without quotes."""
MODES = ("", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES")
CHARACTERS = st.sampled_from("ab'\"\\$?,;(){}-/*%_#\n\t\r é日😀") | st.characters(
    exclude_categories=["Cs", "Cc"]
)
TEXTS = st.text(CHARACTERS, max_size=12) | st.sampled_from(
    ["NULL", "null", "", "'", "\\'", "0x41", "?", "# Time: 1", "x\n# User@Host: a", ";\n", "-- x"]
)
VALUES: dict[str, st.SearchStrategy[str]] = {
    "int": st.integers(-(2**63), 2**63 - 1).map(str),
    "decimal": st.decimals(-(10**9), 10**9, places=4).map(str),
    "double": st.floats(-1e300, 1e300).map(repr),
    "text": TEXTS,
    "bytes": st.binary(min_size=9, max_size=20).map(lambda raw: f"X'{raw.hex()}'"),
    "day": st.dates().map(str),
    "moment": st.datetimes().map(lambda at: at.isoformat(sep=" ")),
    "time": st.sampled_from(["-838:59:59", "00:00:00.000001", "12:30:00"]),
    "year": st.sampled_from(["1901", "2155"]),
    "json": st.recursive(st.text("ab'\"\\é") | st.integers(0, 9), st.lists, max_leaves=4).map(
        json.dumps
    ),
    "mood": st.sampled_from(["sad", "it's ok"]),
    "few": st.sampled_from(["", "a", "a,b"]),
    "bool": st.sampled_from(["TRUE", "false", "0"]),
}
SENDINGS = st.tuples(
    st.sampled_from(MODES),
    st.lists(
        st.sampled_from(sorted(VALUES)).flatmap(
            lambda kind: st.tuples(st.just(kind), VALUES[kind] | st.none())
        ),
        min_size=10,
        max_size=25,
    ),
)


@pytest.fixture(params=ENGINES, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server that logs everything, with tables of all kinds."""
    arm = an_arm(request.param, transport="tcp", settings=captured_mysql.settings())
    with a_place(request.param) as place, started(arm, place) as made:
        connect(made, f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        for kind, type_ in KINDS.items():
            for table in ("sent", "got"):
                connect(made, f"USE {DATABASE};CREATE TABLE {table}_{kind} (id INT, v {type_})")
        yield made


def said(value: str | None, kind: str, mode: str) -> str:
    """A value as a literal of a session."""
    if value is None:
        return "NULL"
    escapes = "NO_BACKSLASH_ESCAPES" not in mode
    return value if kind in (*BARE, "bytes") else literal(value, backslash_escapes=escapes)


def call(text: str, values: list[str | None], mode: str) -> str:
    """The text of a call, as the load generator writes it."""
    written = [
        "NULL" if value is None else value if isinstance(value, Bare) else said(value, "", mode)
        for value in values
    ]
    return re.sub(r"\$(\d+)", lambda match: f" {written[int(match[1]) - 1]}", text)


class Bare(str):
    """A value that stood bare."""


def run(server: LabServer, folder: Path) -> None:
    """Runs what was captured, each query in a session with its settings."""
    file = tomllib.loads((folder / "workload.toml").read_text())
    session = opened(server, DATABASE)
    with session.cursor() as cursor:
        for query in file["queries"].values():
            text = (folder / query["text"]).read_text()
            if "INTO sent_" not in text:
                continue
            mode = query.get("settings", {}).get("sql_mode", "")
            cursor.execute(f"SET SESSION sql_mode = {of_setting(mode)}")
            into = text.replace("INTO sent_", "INTO got_")
            for line in (folder / query["values"]).read_text().split("\n")[:-1]:
                sample = json.loads(line, parse_float=Bare, parse_int=Bare)
                values = [
                    Bare(str(value).upper()) if isinstance(value, bool) else value
                    for value in sample["values"]
                ]
                for _ in range(int(sample["weight"])):
                    cursor.execute(call(into, values, mode))
    session.close()


@pytest.mark.capability("capture")
def test_values_of_all_types_come_back(server: LabServer, tmp_path: Path) -> None:
    numbers = itertools.count(1, 1000)
    session = opened(server, DATABASE)
    cursor = session.cursor()

    @DRAWN
    @given(SENDINGS)
    def sends(sending: tuple[str, list[tuple[str, str | None]]]) -> None:
        mode, values = sending
        cursor.execute(f"SET SESSION sql_mode = '{mode}'")
        for number, (kind, value) in enumerate(values, next(numbers)):
            insert = f"INSERT INTO sent_{kind} (id, v) VALUES "
            cursor.execute(f"{insert}({-number}, {said(value, kind, mode)})")
            if kind not in ("bytes", "double"):  # the server logs fewer digits of a variable
                cursor.execute(f"PREPARE p FROM '{insert}(?, ?)'")
                cursor.execute(f"SET @a = {number}, @b = {said(value, kind, mode)}")
                cursor.execute("EXECUTE p USING @a, @b")

    sends()
    cursor.execute("SELECT 'the end'")
    assert server.data_dir is not None
    for name in ("slow.log", "general.log"):
        log = server.data_dir / name
        assert within(60, lambda log=log: b"the end" in log.read_bytes())
        copy = Path(shutil.copy(log, tmp_path / name))
        out = tmp_path / f"app-{name}"
        wish = CaptureRequest(logs=[copy], server=None, engine="", out=out, database=DATABASE)
        capture(wish, lambda line: None)
        run(server, out)
        for kind in KINDS:
            tables = (f"sent_{kind}", f"got_{kind}")
            rows = []
            for table in tables:
                cursor.execute(f"SELECT id, HEX(CAST(v AS CHAR)), v FROM {table} ORDER BY id")
                rows.append(cursor.fetchall())
            unlike = [pair for pair in zip(*rows, strict=False) if pair[0] != pair[1]]
            assert unlike == [], (name, kind)
            assert len(rows[0]) == len(rows[1]) > 0, (name, kind)
            cursor.execute(f"DELETE FROM got_{kind}")
    session.close()
