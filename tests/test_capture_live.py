"""Capture on real servers: a log's three formats are one folder, the view counts as it does."""

import json
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from captured_log import LOGGING, STDERR_PREFIX
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.capture.coverage import Coverage
from dbdyno.capture.view import ViewedServer
from dbdyno.engine import LabServer
from dbdyno.model import Address, Arm
from dbdyno.model.error import DynoError
from server_place import a_place, address, logged, outermost, restart_with, started

pytestmark = pytest.mark.live

ALL_FORMATS = "stderr,csvlog,jsonlog"
"""Those of versions from 15 on."""
SUFFIXES = {"csv": ".csv", "json": ".json", "stderr": ""}
PIECES = ("'", "''", '"', "\\", "\n", "\r\n", "\t", "$1", "$$", "$a$", "--", "/*", "*/", ";", "ü")
WORDS = ("x", "O'Brien", "%s", "E'", " ", "NULL", ", $2 = 'y'", "日本", "...", "0")


@pytest.fixture(params=outermost(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server that logs every call in all formats that it has, and counts them."""
    arm = Arm(
        name="source",
        engine="postgres",
        base_dir=request.param,
        settings={"shared_preload_libraries": "pg_stat_statements", "lc_messages": "C"},
    )
    with a_place() as place, started(arm, place) as made:
        ((version,),) = made.execute("SHOW server_version_num")
        has_json = int(str(version)) >= 150_000
        restart_with(made, LOGGING | ({"log_destination": ALL_FORMATS} if has_json else {}))
        made.create_database("shop")
        made.execute("CREATE EXTENSION pg_stat_statements", database="shop")
        made.execute("CREATE TABLE t (a int, b text)", database="shop")
        made.execute("CREATE ROLE reader LOGIN", database="shop")
        yield made


@dataclass(frozen=True)
class Sent:
    """What was sent: texts and the values that they have to come back with."""

    values: list[str]

    def literal(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"


def sent_to(place: Address) -> Sent:
    draw = random.Random(48)
    values = [
        "".join(draw.choice(PIECES + WORDS) for _ in range(draw.randrange(1, 9))) for _ in range(60)
    ]
    sent = Sent([value for value in values if not value.endswith("...")])
    with connection(place) as session:
        for value in sent.values:
            session.execute(f"SELECT a FROM t WHERE b = {sent.literal(value)}".encode())
            escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
            session.execute(f"SELECT a, b FROM t WHERE b = E'{escaped}' -- {value[:1]!r}".encode())
            session.execute("SELECT a + 1 FROM t WHERE b = %s", (value,), prepare=False)
            session.execute("SELECT a + 2 FROM t WHERE b = %s", (value,), prepare=True)
            if "$q$" not in value and not value.endswith("$"):
                session.execute(f"SELECT a - 1 FROM t WHERE b = $q${value}$q$".encode())
        session.execute("PREPARE p (int, text) AS SELECT a - 2 FROM t WHERE a = $1 AND b = $2")
        session.execute("EXECUTE p(7, 'O''Brien')")
        session.execute("SET search_path TO pg_catalog, public")
        session.execute("SELECT 1 FROM t WHERE a = -5 AND b IS NULL AND true")
        with pytest.raises(psycopg.Error):
            session.execute("SELECT 'failed' FROM nowhere")
    return sent


def connection(place: Address) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        host=place.host,
        port=place.port,
        user=place.user,
        dbname="shop",
        application_name="web 1",
        autocommit=True,
    )


def csv_logs(server: LabServer) -> list[Path]:
    return [path for path in logged(server) if path.suffix == ".csv"]


def captured(out: Path, paths: list[Path], place: ViewedServer | None = None) -> Coverage:
    wish = CaptureRequest(
        logs=paths, server=place, engine="postgres", out=out, database="shop", prefix=STDERR_PREFIX
    )
    return capture(wish, lambda line: None)


def texts(folder: Path) -> dict[str, list[list[object]]]:
    """The texts of a folder's queries with their tuples, each as often as it was sent."""
    queries = {}
    for path in (folder / "queries").iterdir():
        values = folder / "values" / f"{path.stem}.jsonl"
        lines = values.read_text().split("\n")[:-1] if values.exists() else []
        tuples = [json.loads(line) for line in lines]
        queries[path.read_text().rstrip("\n")] = [
            each["values"] for each in tuples for _ in range(each["weight"])
        ]
    return queries


@pytest.mark.capability("capture")
def test_a_log_comes_back_exactly_from_each_format(server: LabServer, tmp_path: Path) -> None:
    sent = sent_to(address(server))
    folders, logs = [], logged(server)
    for name, suffix in SUFFIXES.items():
        paths = [path for path in logs if path.suffix == suffix]
        if not paths:
            continue
        captured(tmp_path / name, paths)
        folders.append(tmp_path / name)
        queries = texts(tmp_path / name)
        for text in (
            "SELECT a FROM t WHERE b = $1",
            "SELECT a, b FROM t WHERE b = $1",
            "SELECT a + 1 FROM t WHERE b = $1",
            "SELECT a + 2 FROM t WHERE b = $1",
        ):
            assert sorted(queries[text]) == sorted([value] for value in sent.values), text
        assert queries["SELECT a - 2 FROM t WHERE a = $1 AND b = $2"] == [["7", "O'Brien"]]
        assert queries["SELECT $1 FROM t WHERE a = $2 AND b IS NULL AND $3"] == [[1, -5, True]]
    assert len(folders) >= 2
    contents = [
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        for folder in folders
    ]
    for other in contents[1:]:
        assert {
            str(path): text for path, text in other.items() if contents[0].get(path) != text
        } == {}
        assert set(other) == set(contents[0])


def test_a_view_counts_what_a_log_has_values_of(server: LabServer, tmp_path: Path) -> None:
    place = address(server)
    with connection(place) as session:
        session.execute("SELECT pg_stat_statements_reset()")
        for value in range(7):
            session.execute(f"SELECT count(*) FROM t WHERE a = {value}")
            session.execute("SELECT count(*) FROM t WHERE a > %s AND b = 'code'", (value,))
    at = ViewedServer("source `x`", place)
    captured(tmp_path / "view", [], at)
    captured(tmp_path / "both", csv_logs(server), at)
    for name in ("view", "both"):
        file = tomllib.loads((tmp_path / name / "workload.toml").read_text())
        assert file["source"]["encoding"] == "UTF8"
        rows = {
            (tmp_path / name / query["text"]).read_text().strip(): (query["calls"], query["rows"])
            for query in file["queries"].values()
            if "rows" in query
        }
        assert rows["SELECT count(*) FROM t WHERE a = $1"] == (7, 7)
        assert (7, 7) in [rows[text] for text in rows if "a > " in text]
        assert not [text for text in rows if "dyno capture" in text]
    assert texts(tmp_path / "both")["SELECT count(*) FROM t WHERE a = $1"] == [
        [value] for value in range(7)
    ]


def test_a_role_that_may_not_see_others_is_told_what_to_grant(server: LabServer, tmp_path: Path):
    place = address(server)
    with connection(place) as session:
        session.execute("SELECT 5 FROM t")
        session.execute("SELECT pg_catalog.set_config('x.y', 'z', false)")
    reader = ViewedServer(
        "source `x`", Address(host=place.host, port=place.port, user="reader", database="shop")
    )
    with connection(place) as session, session.cursor() as cursor:
        cursor.execute("SET ROLE reader")
        cursor.execute("SELECT 6")
        cursor.execute("RESET ROLE")
    captured(tmp_path / "app", [], reader)
    page = (tmp_path / "app/coverage.md").read_text()
    assert "GRANT pg_read_all_stats TO reader" in page
    assert "| other users' statements, whose texts may not be seen |" in page


def test_a_database_without_the_view_is_told_how_to_make_it(server: LabServer, tmp_path: Path):
    place = address(server)
    at = ViewedServer(
        "source `x`",
        Address(host=place.host, port=place.port, user=place.user, database="postgres"),
    )
    with pytest.raises(DynoError, match="has no pg_stat_statements: shared_preload_libraries"):
        captured(tmp_path / "app", [], at)
    assert not (tmp_path / "app").exists()


def test_what_the_server_reads_by_goes_with_its_queries(server: LabServer, tmp_path: Path) -> None:
    place = address(server)
    with connection(place) as session:
        session.execute("ALTER SYSTEM SET DateStyle = 'German, DMY'")
        session.execute("ALTER DATABASE shop SET work_mem = '7MB'")
        session.execute("SELECT 8 FROM t")
        session.execute("SELECT pg_reload_conf()")
    try:
        captured(tmp_path / "app", [], ViewedServer("source `x`", place))
    finally:
        with connection(place) as session:
            session.execute("ALTER SYSTEM RESET DateStyle")
            session.execute("ALTER DATABASE shop RESET work_mem")
            session.execute("SELECT pg_reload_conf()")
    file = tomllib.loads((tmp_path / "app/workload.toml").read_text())
    for query in file["queries"].values():
        assert query["settings"]["datestyle"] == "German, DMY"
        assert query["settings"]["work_mem"] == "7MB"


def test_statements_within_functions_are_counted_by_what_calls_them(
    server: LabServer, tmp_path: Path
) -> None:
    place = address(server)
    body = """BEGIN
        SELECT count(*) INTO STRICT n FROM t WHERE t.a = x AND t.b <> 'it''s';  -- inner
        PERFORM 5 * x;
        UPDATE t SET b = 'y' WHERE t.a = x AND false;
        RETURN n + 7;
    END"""
    with connection(place) as session:
        session.execute(
            "CREATE OR REPLACE FUNCTION f(x int) RETURNS bigint LANGUAGE plpgsql "
            f"AS $f$DECLARE n bigint; {body}$f$".encode()
        )
        session.execute("ALTER DATABASE shop SET pg_stat_statements.track = 'all'")
    try:
        with connection(place) as session:
            session.execute("SELECT pg_stat_statements_reset()")
            session.execute("SELECT f(1)")
            session.execute("UPDATE t SET b = 'y' WHERE a = 3")
        captured(tmp_path / "app", [], ViewedServer("source `x`", place))
    finally:
        with connection(place) as session:
            session.execute("ALTER DATABASE shop RESET pg_stat_statements.track")
    file = tomllib.loads((tmp_path / "app/workload.toml").read_text())
    found = {(tmp_path / "app" / q["text"]).read_text().strip() for q in file["queries"].values()}
    assert {text for text in found if "pg_" not in text} == {
        "SELECT f($1)",
        "UPDATE t SET b = $1 WHERE a = $2",
    }


def test_bound_values_have_the_types_that_the_server_infers(server: LabServer, tmp_path: Path):
    place = address(server)
    with connection(place) as session:
        session.execute("SELECT a - 9 FROM t WHERE a = %s AND b < %s", ("7", "x"), prepare=True)
    captured(tmp_path / "app", csv_logs(server), ViewedServer("source `x`", place))
    file = tomllib.loads((tmp_path / "app/workload.toml").read_text())
    (query,) = [
        query
        for query in file["queries"].values()
        if "a - 9" in (tmp_path / "app" / query["text"]).read_text()
    ]
    assert query["types"] == ["integer", "text"]
    captured(tmp_path / "again", [], ViewedServer("source `x`", place))
    again = [path.read_text() for path in (tmp_path / "again/queries").iterdir()]
    assert not [text for text in again if "format_type" in text or "set_config" in text]
