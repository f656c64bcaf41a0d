"""Values of all types: a real PostgreSQL logs them, capture reads them, and they are run again.

What was sent stands in tables `sent_…`; the captured queries fill `got_…`, as a race runs them.
"""

import itertools
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from captured_log import DRAWN, LOGGING, STDERR_PREFIX
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.engine import LabServer
from dbdyno.model import Address, Arm
from dbdyno.model.literal import literal
from server_place import a_place, address, logged, outermost, restart_with, started

pytestmark = pytest.mark.live

KINDS = {
    "int": "bigint",
    "numeric": "numeric",
    "float": "double precision",
    "text": "text",
    "bytea": "bytea",
    "date": "date",
    "timestamp": "timestamptz",
    "interval": "interval",
    "bool": "boolean",
    "uuid": "uuid",
    "json": "jsonb",
    "inet": "inet",
    "ints": "int[]",
    "texts": "text[]",
    "pair": "pair",
    "range": "daterange",
    "mood": "mood",
}
TYPES = (
    "CREATE TYPE pair AS (a int, b text, c date)",
    "CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'ha\"ppy\\')",
)
DATES = {
    "ISO, MDY": "%Y-%m-%d",
    "SQL, MDY": "%m/%d/%Y",
    "SQL, DMY": "%d/%m/%Y",
    "German, DMY": "%d.%m.%Y",
    "Postgres, DMY": "%d-%m-%Y",
}
INTERVALS = ("-1 2:03:04", "1 day -02:03:04", "P1Y2M3DT4H5M6.5S", "@ 1 day 2 hours ago", "0.25 s")
CHARACTERS = st.sampled_from("ab'\"\\$,;(){}-/*%\n\t\r é日😀") | st.characters(
    exclude_categories=["Cs"], exclude_characters="\0"
)
TEXTS = st.text(CHARACTERS, max_size=12) | st.sampled_from(
    ["NULL", "null", "", "'", "$1 = 'x'", "\\x41", "E'", ", $2 = NULL", "x...y", "-- x\n\n\ty"]
)
MOODS = ("sad", "it's ok", 'ha"ppy\\')
DAYS = st.dates(date(1900, 1, 1), date(2200, 1, 1))


def quoted(text: str) -> str:
    """A member of an array or a row, in quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def values_of(style: str) -> st.SearchStrategy[tuple[str, str | None]]:
    """Kinds and values of them, as a client writes them under a DateStyle."""
    form = DATES[style]
    days = DAYS.map(lambda day: day.strftime(form))
    kinds: dict[str, st.SearchStrategy[str]] = {
        "int": st.integers(-(2**63), 2**63 - 1).map(str),
        # Python's decimals have NaN with a sign and with a payload; PostgreSQL has one.
        "numeric": st.decimals(allow_infinity=False, allow_nan=False).map(str) | st.just("NaN"),
        # Servers before 12 log no more than 15 digits.
        "float": st.floats(-1e300, 1e300).map(lambda value: f"{value:.15g}")
        | st.sampled_from(["NaN", "Infinity", "-Infinity"]),
        "text": TEXTS,
        "bytea": st.binary(max_size=9).map(lambda raw: f"\\x{raw.hex()}")
        | st.sampled_from(["\\\\000\\001'", "abc\\377", ""]),
        "date": days | st.sampled_from(["infinity", "-infinity"]),
        "timestamp": st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(
            lambda at: at.strftime(f"{form} %H:%M:%S.%f+02")
        ),
        "interval": st.sampled_from(INTERVALS),
        "bool": st.sampled_from(["t", "f", "yes", "off"]),
        "uuid": st.uuids().map(str),
        "json": st.recursive(TEXTS | st.integers() | st.none(), st.lists, max_leaves=4).map(
            json.dumps
        ),
        "inet": st.ip_addresses().map(str),
        "ints": st.lists(st.integers(-9, 9) | st.none(), max_size=3).map(
            lambda few: "{" + ",".join("NULL" if n is None else str(n) for n in few) + "}"
        ),
        "texts": st.lists(TEXTS, max_size=3).map(
            lambda few: "{" + ",".join(map(quoted, few)) + "}"
        ),
        "pair": st.tuples(TEXTS, days).map(lambda pair: f"(7,{quoted(pair[0])},{pair[1]})"),
        "range": st.tuples(days, days).map(lambda _: "empty") | days.map(lambda day: f"[{day},)"),
        "mood": st.sampled_from(MOODS),
    }
    assert kinds.keys() == KINDS.keys()
    return st.sampled_from(sorted(kinds)).flatmap(
        lambda kind: st.tuples(st.just(kind), kinds[kind] | st.none())
    )


class Bare(str):
    """A value that stood bare."""


@dataclass(frozen=True)
class Sending:
    """A session's settings, and what it sends."""

    settings: dict[str, str]
    values: list[tuple[str, str | None]]


SENDINGS = st.sampled_from(sorted(DATES)).flatmap(
    lambda style: st.builds(
        Sending,
        settings=st.fixed_dictionaries(
            {
                "datestyle": st.just(style),
                "intervalstyle": st.sampled_from(
                    ["postgres", "sql_standard", "iso_8601", "postgres_verbose"]
                ),
                "standard_conforming_strings": st.sampled_from(["on", "off"]),
            }
        ),
        values=st.lists(values_of(style), min_size=10, max_size=30),
    )
)


@pytest.fixture(params=outermost(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server that logs every call in all formats that it has."""
    arm = Arm(
        name="source", engine="postgres", base_dir=request.param, settings={"lc_messages": "C"}
    )
    with a_place() as place, started(arm, place) as made:
        ((version,),) = made.execute("SHOW server_version_num")
        formats = "stderr,csvlog,jsonlog" if int(str(version)) >= 150_000 else "stderr,csvlog"
        made.create_database("shop")
        for statement in TYPES:
            made.execute(statement, database="shop")
        for kind, type_ in KINDS.items():
            for table in ("sent", "got"):
                made.execute(f"CREATE TABLE {table}_{kind} (id int, v {type_})", database="shop")
        restart_with(made, LOGGING | {"log_destination": formats})
        yield made


def connection(place: Address, application: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        host=place.host,
        port=place.port,
        user=place.user,
        dbname="shop",
        application_name=application,
        autocommit=True,
    )


def written(value: str | None, *, escapes: bool) -> str:
    """A value as a literal of a session."""
    return "NULL" if value is None else literal(value, backslash_escapes=escapes)


def send(session: psycopg.Connection[tuple[object, ...]], sending: Sending, first: int) -> None:
    """Sends each value bound, prepared and as a literal."""
    for name, value in sending.settings.items():
        session.execute(f"SET {name} = '{value}'".encode())
    escapes = sending.settings["standard_conforming_strings"] == "off"
    for number, (kind, value) in enumerate(sending.values, first):
        insert = f"INSERT INTO sent_{kind} (id, v) VALUES "
        if value is None or not value.endswith("..."):
            session.execute(f"{insert}(%s, %s)".encode(), (number, value), prepare=bool(number % 2))
        said = written(value, escapes=escapes)
        session.execute(f"{insert}({-number}, {said})".encode())


def run(place: Address, folder: Path) -> None:
    """Runs what was captured, each query in a session with its settings."""
    file = tomllib.loads((folder / "workload.toml").read_text())
    with connection(place, "dyno again") as session:
        for query in file["queries"].values():
            text = (folder / query["text"]).read_text()
            if "INTO sent_" not in text:
                continue
            session.execute("RESET ALL")
            for name, value in query.get("settings", {}).items():
                session.execute("SELECT set_config(%s, %s, false)", (name, value))
            into = text.replace("INTO sent_", "INTO got_")
            for line in (folder / query["values"]).read_text().split("\n")[:-1]:
                sample = json.loads(line, parse_float=Bare, parse_int=Bare)
                for _ in range(int(sample["weight"])):
                    call(session, into, sample["values"], bound=query["protocol"] != "simple")


def call(
    session: psycopg.Connection[tuple[object, ...]],
    text: str,
    values: list[str | None],
    *,
    bound: bool,
) -> None:
    """Runs a call as the load generator does."""
    if bound:
        raw = [None if value is None else value.encode() for value in values]
        result = session.pgconn.exec_params(text.encode(), raw)
    else:
        said = [
            "NULL"
            if value is None
            else value
            if isinstance(value, Bare)
            else " E" + literal(value, backslash_escapes=True)
            for value in values
        ]
        text = re.sub(r"\$(\d+)", lambda match: said[int(match[1]) - 1], text)
        result = session.pgconn.exec_(text.encode())
    assert result.status == psycopg.pq.ExecStatus.COMMAND_OK, result.error_message


@pytest.mark.capability("capture")
def test_values_of_all_types_come_back(server: LabServer, tmp_path: Path) -> None:
    place = address(server)
    numbers = itertools.count(1, 1000)
    very_long = "it's\n\t\\long " * 30_000

    @DRAWN
    @given(SENDINGS)
    def sends(sending: Sending) -> None:
        with connection(place, "web") as session:
            send(session, sending, next(numbers))

    sends()
    with connection(place, "web") as session:
        send(session, Sending({"standard_conforming_strings": "on"}, [("text", very_long)]), 10**6)
    logs = logged(server)
    suffixes = {path.suffix for path in logs}
    assert len(suffixes) >= 2
    for suffix in sorted(suffixes):
        out = tmp_path / f"app{suffix}"
        files = [path for path in logs if path.suffix == suffix]
        wish = CaptureRequest(
            logs=files,
            server=None,
            engine="postgres",
            out=out,
            database="shop",
            prefix=STDERR_PREFIX,
        )
        capture(wish, lambda line: None)
        run(place, out)
        with connection(place, "dyno again") as session:
            for kind in KINDS:
                unlike = session.execute(
                    f"SELECT s.id, s.v::text, g.v::text FROM sent_{kind} s FULL JOIN got_{kind} g"
                    " USING (id) WHERE g.id IS NULL OR s.v IS DISTINCT FROM g.v".encode()
                ).fetchall()
                assert unlike == [], (suffix, kind)
                session.execute(f"TRUNCATE got_{kind}".encode())
