"""Capture reads an application's queries from logs, each call once, and writes a whole folder."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from captured_log import STDERR_PREFIX, WrittenLog
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.capture.coverage import Coverage
from dbdyno.model.error import DynoError


@dataclass(frozen=True)
class Application:
    """A captured folder, as tests look at it."""

    folder: Path
    coverage: Coverage

    @property
    def queries(self) -> dict[str, dict[str, Any]]:
        text = (self.folder / "workload.toml").read_text()
        queries: dict[str, dict[str, Any]] = tomllib.loads(text)["queries"]
        return queries

    def text(self, name: str) -> str:
        return (self.folder / "queries" / f"{name}.sql").read_text().rstrip("\n")

    def values(self, name: str) -> list[tuple[int, list[object]]]:
        path = self.folder / "values" / f"{name}.jsonl"
        lines = [json.loads(line, parse_float=str) for line in path.read_text().splitlines()]
        return [(line["weight"], line["values"]) for line in lines]

    def only(self) -> tuple[str, dict[str, Any]]:
        ((name, query),) = self.queries.items()
        return name, query


def captured(log: WrittenLog, folder: Path, **more: Any) -> Application:
    wish = CaptureRequest(logs=[log.write()], server=None, engine="postgres", out=folder, **more)
    return Application(folder, capture(wish, lambda line: None))


@pytest.fixture
def log(tmp_path: Path) -> WrittenLog:
    return WrittenLog(tmp_path / "postgresql.csv")


def test_calls_that_differ_in_their_literals_are_one_query(log: WrittenLog, tmp_path: Path) -> None:
    for value in (5, 5, -7):
        log.call(f"SELECT * FROM t WHERE a = {value} AND b = 'O''Brien' AND c > 1.50")
    application = captured(log, tmp_path / "app")
    name, query = application.only()
    assert name.startswith("select-t-")
    assert application.text(name) == "SELECT * FROM t WHERE a = $1 AND b = $2 AND c > $3"
    assert query["calls"] == 3
    assert query["time_s"] == pytest.approx(0.003)
    assert query["protocol"] == "simple"
    assert application.values(name) == [(1, [-7, "O'Brien", "1.50"]), (2, [5, "O'Brien", "1.50"])]


def test_numbers_keep_their_digits(log: WrittenLog, tmp_path: Path) -> None:
    log.call("SELECT 1.50, 1e3, .5, 0x1F, 12345678901234567890, 007")
    application = captured(log, tmp_path / "app")
    name, _ = application.only()
    written = (application.folder / "values" / f"{name}.jsonl").read_text()
    assert written == ('{"weight": 1, "values": [1.50, 1e3, 0.5, 31, 12345678901234567890, 7]}\n')


def test_parse_bind_and_execute_are_one_call_whose_time_is_their_sum(
    log: WrittenLog, tmp_path: Path
) -> None:
    for value in ("1", "2"):
        log.bound("SELECT * FROM t WHERE a = $1 AND b IS $2", f"$1 = '{value}', $2 = NULL")
    application = captured(log, tmp_path / "app")
    name, query = application.only()
    assert (query["calls"], query["time_s"]) == (2, pytest.approx(0.002))
    assert query["protocol"] == "extended"
    assert application.values(name) == [(1, ["1", None]), (1, ["2", None])]


def test_a_kept_statement_is_prepared(log: WrittenLog, tmp_path: Path) -> None:
    log.bound("SELECT a FROM t WHERE a = $1", "$1 = 'it''s\n$2 = ''x'''", name="S_1")
    application = captured(log, tmp_path / "app")
    name, query = application.only()
    assert query["protocol"] == "prepared"
    assert application.values(name) == [(1, ["it's\n$2 = 'x'"])]


def test_execute_runs_what_was_prepared_with_its_types(log: WrittenLog, tmp_path: Path) -> None:
    log.call("EXECUTE p(7, 'x')", detail="prepare: PREPARE p(int, numeric(5,2)) AS SELECT $1, $2")
    application = captured(log, tmp_path / "app")
    name, query = application.only()
    assert application.text(name) == "SELECT $1, $2"
    assert query["protocol"] == "prepared"
    assert query["types"] == ["int", "numeric(5,2)"]
    assert application.values(name) == [(1, ["7", "x"])]


def test_a_further_fetch_adds_time_and_is_no_call(log: WrittenLog, tmp_path: Path) -> None:
    log.bound("SELECT a FROM t WHERE a > $1", "$1 = '1'")
    message = "duration: 4.000 ms  execute fetch from <unnamed>: SELECT a FROM t WHERE a > $1"
    log.add(message, detail="parameters: $1 = '1'")
    _, query = captured(log, tmp_path / "app").only()
    assert (query["calls"], query["time_s"]) == (1, pytest.approx(0.005))


def test_a_cursor_is_the_query_inside_it(log: WrittenLog, tmp_path: Path) -> None:
    log.call("DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT a FROM t WHERE a > 5", 1.0)
    log.call("FETCH FORWARD 100 FROM c", 3.0)
    log.call("CLOSE c", 0.5)
    application = captured(log, tmp_path / "app")
    name, query = application.only()
    assert application.text(name) == "SELECT a FROM t WHERE a > $1"
    assert (query["calls"], query["time_s"]) == (1, pytest.approx(0.004))


def test_times_on_lines_of_their_own_go_to_the_text_before(log: WrittenLog, tmp_path: Path) -> None:
    log.add("statement: SELECT a FROM t WHERE a = 1", session="1")
    log.add("statement: SELECT a FROM t WHERE a = 2", session="2")
    log.add("duration: 2.000 ms", session="2")
    log.add("duration: 1.000 ms", session="1")
    log.add("duration: 0.250 ms", session="1")  # parse
    log.add("execute <unnamed>: SELECT b FROM t WHERE a = $1", session="1")
    log.add("duration: 0.500 ms", session="1")
    times = [query["time_s"] for query in captured(log, tmp_path / "app").queries.values()]
    assert times == [pytest.approx(0.003), pytest.approx(0.00075)]


def test_what_a_session_has_set_goes_with_its_queries(log: WrittenLog, tmp_path: Path) -> None:
    log.call('SET search_path TO shop, "$user"')
    log.call("SET application_name = 'x'")
    log.call("SELECT a FROM t")
    log.call("BEGIN")
    log.call("SET LOCAL work_mem = '8MB'")
    log.call("SELECT b FROM t")
    log.call("COMMIT")
    log.call("SELECT c FROM t")
    log.call("SET ROLE reader")
    log.call("SELECT d FROM t")
    application = captured(log, tmp_path / "app")
    settings = {
        application.text(name): (query.get("settings"), query["role"])
        for name, query in application.queries.items()
    }
    path = {"search_path": 'shop, "$user"'}
    assert settings == {
        "SELECT a FROM t": (path, "app"),
        "SELECT b FROM t": (path | {"work_mem": "8MB"}, "app"),
        "SELECT c FROM t": (path, "app"),
        "SELECT d FROM t": (path, "reader"),
    }


def test_the_clock_is_a_parameter_behind_the_others(log: WrittenLog, tmp_path: Path) -> None:
    log.call("SELECT a FROM t WHERE at > now() - interval '1 hour' AND day = CURRENT_DATE")
    application = captured(log, tmp_path / "app")
    name, query = application.only()
    assert application.text(name) == "SELECT a FROM t WHERE at > $2 - interval $1 AND day = $3"
    assert query["clock"] == {"2": "timestamptz '2026-11-26 10:00:00+00'", "3": "date '2026-11-26'"}
    assert application.values(name) == [(1, ["1 hour"])]


def test_a_list_of_another_length_is_another_query(log: WrittenLog, tmp_path: Path) -> None:
    log.call("SELECT a FROM t WHERE a IN (1, 2)")
    log.call("SELECT a FROM t WHERE a IN (1, 2, 3)")
    assert len(captured(log, tmp_path / "app").queries) == 2


def test_a_text_that_the_parser_refuses_is_kept_without_its_values(log: WrittenLog, tmp_path: Path):
    log.call("SELECT a FROM t WHERE id=1OR id=2")
    log.call("SELECT a FROM t WHERE id=3OR id=4")
    application = captured(log, tmp_path / "app")
    name, query = application.only()
    assert query["calls"] == 2
    assert application.text(name) == "SELECT a FROM t WHERE id=$1OR id=$2"
    assert f"The parser does not take `{name}`" in (tmp_path / "app/coverage.md").read_text()


def test_few_literals_beside_bound_values_are_the_program_s_own(log: WrittenLog, tmp_path: Path):
    for status in ("new", "paid", "paid"):
        log.bound(f"SELECT a FROM t WHERE s = '{status}' AND at > now() AND a = $1", "$1 = '4'")
    application = captured(log, tmp_path / "app")
    texts = {application.text(name): query for name, query in application.queries.items()}
    assert {text: query["calls"] for text, query in texts.items()} == {
        "SELECT a FROM t WHERE s = 'new' AND at > $2 AND a = $1": 1,
        "SELECT a FROM t WHERE s = 'paid' AND at > $2 AND a = $1": 2,
    }
    assert all(query["clock"]["2"].startswith("timestamptz '2026") for query in texts.values())


def test_many_literals_beside_bound_values_are_values(log: WrittenLog, tmp_path: Path) -> None:
    for number in range(12):
        log.bound(f"SELECT a FROM t WHERE s = 's{number}' AND a = $1", "$1 = '4'")
    application = captured(log, tmp_path / "app")
    name, query = application.only()
    assert application.text(name) == "SELECT a FROM t WHERE s = $2 AND a = $1"
    assert query["protocol"] == "simple"
    assert application.values(name)[0] == (1, ["4", "s0"])


def test_what_is_left_out_is_said_with_its_share(log: WrittenLog, tmp_path: Path) -> None:
    log.call("SELECT a FROM t", 6.0)
    log.call("VACUUM t", 1.0)
    log.call("SELECT pg_sleep(1)", 1.0)
    log.call("CREATE TEMP TABLE x AS SELECT a FROM t", 0.5)
    log.call("SELECT a FROM x", 1.5)
    log.call("SELECT 1 FROM other", 1000.0, database="other")
    log.add("no such table", severity="ERROR", statement="SELECT secret", state="42P01")
    application = captured(log, tmp_path / "app", database="shop")
    assert len(application.queries) == 1
    page = (tmp_path / "app/coverage.md").read_text()
    for line in (
        "| VACUUM or ANALYZE | 1 | 0.001 s | 10.0 % |",
        "| pg_sleep | 1 | 0.001 s | 10.0 % |",
        "| temporary tables | 2 | 0.002 s | 20.0 % |",
        "- 1 calls of 1.000 s are other databases' and no part of this.",
        "| failed when they were captured | 1 | 0.000 s | 0.0 % |",
        "Calls that failed, by the server's code: 42P01: 1.",
    ):
        assert line in page
    assert "1 query stands for 60.0 % of 0.010 s" in page


def test_capture_s_own_sessions_are_left_out(log: WrittenLog, tmp_path: Path) -> None:
    log.call("SELECT a FROM t")
    log.call("SELECT b FROM t", application="dyno capture")
    log.call("SELECT c FROM t", application="pg_dump")
    application = captured(log, tmp_path / "app")
    assert application.text(application.only()[0]) == "SELECT a FROM t"
    page = (tmp_path / "app/coverage.md").read_text()
    assert "| dumps of the database | 1 | 0.001 s | 50.0 % |" in page
    assert "- 1 calls of 0.001 s are dyno's own and no part of this." in page


def test_statements_of_one_message_are_queries_whose_time_is_not_divided(
    log: WrittenLog, tmp_path: Path
) -> None:
    log.call("SELECT a FROM t; SELECT ';' FROM t;", 4.0)
    application = captured(log, tmp_path / "app")
    texts = {application.text(name): query["time_s"] for name, query in application.queries.items()}
    assert texts == {"SELECT a FROM t": 0.0, "SELECT $1 FROM t": 0.0}
    assert "| several statements in one message" in (tmp_path / "app/coverage.md").read_text()


def test_a_thousand_tuples_at_most_are_kept_evenly_drawn(log: WrittenLog, tmp_path: Path) -> None:
    for value in range(3000):
        log.call(f"SELECT a FROM t WHERE a = {value}")
    application = captured(log, tmp_path / "app")
    kept = application.values(application.only()[0])
    assert sum(weight for weight, _ in kept) == 1000
    assert 300 < sum(1 for _, (value,) in kept if int(str(value)) < 1500) < 700


def test_no_value_is_kept_where_none_is_to_be(log: WrittenLog, tmp_path: Path) -> None:
    log.call("SELECT a FROM t WHERE a = 'marker'")
    captured(log, tmp_path / "app", keeps_values=False)
    written = [path for path in (tmp_path / "app").rglob("*") if path.is_file()]
    assert len(written) == 4
    assert not [path for path in written if "marker" in path.read_text()]


def test_values_are_in_the_values_folder_alone(log: WrittenLog, tmp_path: Path) -> None:
    log.call("SELECT a /* marker */ FROM t WHERE a = 'marker' -- marker")
    log.call("SELECT a FROM t WHERE a = 'marker' AND id=1OR id=2")
    log.bound("SELECT a FROM t WHERE b = $1", "$1 = 'marker'")
    log.call("SET my.setting = 'marker'")
    log.call("ALTER ROLE x PASSWORD 'marker'")
    log.call("COPY (SELECT a FROM t WHERE a = 'marker') TO STDOUT")
    log.add("bad value «marker»", severity="ERROR", statement="SELECT 'marker'", state="22P02")
    application = captured(log, tmp_path / "app")
    written = [path for path in application.folder.rglob("*") if path.is_file()]
    holding = {path.parent.name for path in written if "marker" in path.read_text()}
    assert holding == {"values"}
    assert (application.folder / "values").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in written)


def test_a_folder_is_whole_or_not_there(log: WrittenLog, tmp_path: Path) -> None:
    log.call("SELECT a FROM t")
    captured(log, tmp_path / "app")
    with pytest.raises(DynoError, match="holds a captured application: remove it"):
        captured(log, tmp_path / "app")
    log.rows.clear()
    log.call("VACUUM")
    with pytest.raises(DynoError, match="nothing was captured"):
        captured(log, tmp_path / "empty")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app", "postgresql.csv"]


def formats(log: WrittenLog) -> dict[str, Path]:
    """The log in each of its formats."""
    return {"csv": log.write(), "json": log.write_json(), "stderr": log.write_stderr()}


def mixed(log: WrittenLog) -> None:
    """Calls of each sort, with what could mislead a reader."""
    log.call("SELECT a FROM t WHERE b = 'x\n\ty: LOG:  z, \"q\" ''w'' \\ ä'")
    log.bound("SELECT a FROM t\nWHERE a = $1 AND b = $2", "$1 = '4', $2 = 'it''s\n$3 = ''x'''")
    log.call("SET search_path TO shop")
    log.call("EXECUTE p(7)", detail="prepare: PREPARE p(int) AS SELECT c FROM t WHERE a = $1")
    log.add("no such table", severity="ERROR", statement="SELECT 1\nFROM x", state="42P01")
    log.call("SELECT b FROM t", session="2.2")


def test_three_formats_of_a_log_are_one_folder(log: WrittenLog, tmp_path: Path) -> None:
    mixed(log)
    contents = []
    for name, path in formats(log).items():
        folder = tmp_path / name
        prefix = STDERR_PREFIX if name == "stderr" else ""
        wish = CaptureRequest(
            logs=[path], server=None, engine="postgres", out=folder, prefix=prefix
        )
        capture(wish, lambda line: None)
        files = (path for path in folder.rglob("*") if path.is_file())
        contents.append({str(path.relative_to(folder)): path.read_text() for path in files})
    assert contents[0] == contents[1] == contents[2]
    assert sum(name.startswith("queries/") for name in contents[0]) == 4


def test_a_log_without_databases_is_taken_for_that_of_the_one_that_is_named(
    log: WrittenLog, tmp_path: Path
) -> None:
    log.call("SELECT a FROM t", database="")
    application = captured(log, tmp_path / "app", database="shop")
    assert application.only()[1]["calls"] == 1
    assert "does not name databases" in (tmp_path / "app/coverage.md").read_text()
    assert (tmp_path / "app/arrivals.csv").read_text().count("\n") == 2


def test_a_statement_whose_bytes_are_no_utf8_is_left_out(log: WrittenLog, tmp_path: Path) -> None:
    log.call("SELECT a FROM t WHERE b = 'ä'")
    log.call("SELECT a FROM t WHERE b = 'x'")
    log.bound("SELECT c FROM t WHERE b = $1", "$1 = 'ä'")
    path = log.write()
    path.write_bytes(path.read_text().encode("latin-1"))
    folder = tmp_path / "app"
    wish = CaptureRequest(logs=[path], server=None, engine="postgres", out=folder)
    application = Application(folder, capture(wish, lambda line: None))
    assert {query["calls"] for query in application.queries.values()} == {1}
    assert "| bytes that are no UTF-8 | 1 |" in (folder / "coverage.md").read_text()
    assert len(list((folder / "values").iterdir())) == 1


PLAN_TEXT = """Query Text: SELECT a
FROM t WHERE a = $1
Query Parameters: $1 = 'x'
Seq Scan on t  (cost=0.00..1.00 rows=1 width=4)"""
PLAN_JSON = """{
  "Query Text": "SELECT a\\nFROM t WHERE a = $1",
  "Query Parameters": "$1 = 'x'",
  "Plan": {"Node Type": "Seq Scan"}
}"""


@pytest.mark.parametrize("plan", [PLAN_TEXT, PLAN_JSON], ids=["text", "json"])
def test_plans_of_auto_explain_are_calls_where_a_log_has_nothing_else(
    plan: str, log: WrittenLog, tmp_path: Path
) -> None:
    log.add("checkpoint starting: time")
    log.add(f"duration: 2.500 ms  plan:\n{plan}")
    application = captured(log, tmp_path / "app")
    name, query = application.only()
    assert application.text(name) == "SELECT a\nFROM t WHERE a = $1"
    assert (query["calls"], query["time_s"], query["protocol"]) == (1, 0.0025, "extended")
    assert application.values(name) == [(1, ["x"])]


def test_plans_beside_statements_are_no_further_calls(log: WrittenLog, tmp_path: Path) -> None:
    log.add(f"duration: 2.500 ms  plan:\n{PLAN_JSON}")
    log.call("SELECT a FROM t", 3.0)
    assert captured(log, tmp_path / "app").only()[1]["time_s"] == 0.003


def test_counts_of_a_sampled_log_are_scaled(log: WrittenLog, tmp_path: Path) -> None:
    for _ in range(3):
        log.call("SELECT a FROM t WHERE a = 5", 2.0)
    log.call("VACUUM t", 1.0)
    application = captured(log, tmp_path / "app", sampled=0.01)
    name, query = application.only()
    assert (query["calls"], query["time_s"]) == (300, pytest.approx(0.6))
    assert application.values(name) == [(3, [5])]
    assert (
        "| VACUUM or ANALYZE | 100 | 0.100 s | 14.3 % |"
        in (tmp_path / "app/coverage.md").read_text()
    )
