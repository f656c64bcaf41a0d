"""Values drawn on real servers for queries of which a view has counts alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from dbdyno import workload
from dbdyno.capture.calibration import ROWS_TIMES_MAX
from dbdyno.capture.folder import DrawOutcome
from dbdyno.capture.postgres_places import places_of
from dbdyno.cli import drawn as drawing
from dbdyno.engine import LabServer
from dbdyno.engine.postgres import inquiry
from dbdyno.model import Arm, engine
from dbdyno.model.own_query import OwnQuery
from dbdyno.plan.race import Race, RaceArm
from dbdyno.run.drawn_values import ValueInquiry
from server_place import a_place, address, ends, started

pytestmark = pytest.mark.live

CALLS = 100
TABLES = (
    "CREATE TYPE mood AS ENUM ('good', 'bad')",
    "CREATE TABLE w (id int PRIMARY KEY, city text NOT NULL)",
    "INSERT INTO w SELECT n, 'city ' || n % 20 FROM generate_series(1, 200) AS n",
    "CREATE TABLE o (id int PRIMARY KEY, state text NOT NULL, who int NOT NULL REFERENCES w, "
    "made timestamp NOT NULL, tags text[] NOT NULL, how mood NOT NULL, note text)",
    # 80, 19 and 1 per cent
    "INSERT INTO o SELECT n, CASE WHEN n % 100 = 0 THEN 'rare' WHEN n % 100 < 20 THEN 'some' "
    "ELSE 'done' END, 1 + n % 200, timestamp '2025-01-01' + n * interval '1 minute', "
    "ARRAY['a' || n % 5], CASE WHEN n % 2 = 0 THEN 'good'::mood ELSE 'bad' END, 'note ' || n "
    "FROM generate_series(1, 10000) AS n",
    "CREATE INDEX ON o (state)",
    "CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
    "ANALYZE",
)
FITTING = {
    "SELECT * FROM o WHERE id = $1": 1.0,
    "SELECT * FROM o WHERE id = $2 AND $1 = $1": 1.0,
    "SELECT note FROM o WHERE state = $1": 7000.0,
    "SELECT id FROM o WHERE state = $1 LIMIT $2": 20.0,
    "SELECT id FROM o WHERE id BETWEEN $1 AND $2": 101.0,
    "SELECT o.id FROM o JOIN w ON w.id = o.who WHERE w.city = $1 AND o.state = $2": 300.0,
    "SELECT count(*) FROM o WHERE made > timestamp $1 AND made < timestamp $2 - interval $3": 1.0,
    "SELECT extract($1 FROM made) FROM o WHERE id IN ($2, $3, $4)": 3.0,
    "SELECT id FROM o WHERE tags @> $1 AND how = $2": 1000.0,
    "SELECT id FROM o WHERE note LIKE $1": 10.0,
    "SELECT id FROM o WHERE id = ANY ($1)": 10.0,
    "SELECT id FROM o WHERE id = $1 AND state = $2": 0.5,
    "UPDATE o SET note = $1 WHERE id = $2": 1.0,
    "INSERT INTO o (id, state, who, made, tags, how) VALUES ($1, $2, $3, $4, $5, $6)": 1.0,
    "DELETE FROM o WHERE id = $1": 1.0,
    "SELECT x FROM (VALUES ($1::bigint)) AS v (x)": 1.0,
}
"""Texts as pg_stat_statements has them, and the rows of a call at the source."""
UNFIT = {
    "SELECT id FROM o WHERE id = $1": (500.0, "a call finds 1 rows where the source's found 500"),
    "SELECT id FROM gone WHERE id = $1": (1.0, "undefined table"),
    "SELECT $1 + $2": (1.0, "ambiguous function"),
}


def query(text: str, rows: float, seconds: float = 0.0) -> OwnQuery:
    """A query of a view."""
    verb = text.split()[0]
    return OwnQuery(
        name="q",
        text=text,
        calls=CALLS,
        rows=rows * CALLS,
        time_s=seconds * CALLS,
        writes=verb != "SELECT",
    )


@pytest.fixture(params=ends(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server with two tables."""
    arm = Arm(name="drawn", engine="postgres", base_dir=request.param)
    with a_place() as place, started(arm, place) as running:
        running.create_database("shop")
        running.execute(*TABLES, database="shop")
        yield running


def drawn(server: LabServer, *queries: OwnQuery) -> list[DrawOutcome]:
    """What comes of drawing their values there."""
    asking = ValueInquiry(queries=queries, places_of=places_of, traits=engine.of("postgres"))
    with inquiry.connected(address(server)) as inquirer:
        for each in queries:
            asking.ask(inquirer, each)
    return asking.done


@pytest.mark.parametrize("text", FITTING)
def test_drawn_values_find_the_rows_that_the_sources_found(server: LabServer, text: str) -> None:
    rows = FITTING[text]
    (said,) = drawn(server, query(text, rows))
    assert said.samples, said.words
    lab = float(said.words.split()[0])
    assert max(lab, rows) <= ROWS_TIMES_MAX * min(lab, rows), said.words
    assert server.execute("SELECT count(*), min(note) FROM o", database="shop") == [
        (10000, "note 1")
    ], "what a query writes is undone"


@pytest.mark.parametrize("text", UNFIT)
def test_a_query_without_values_like_the_sources_says_why(server: LabServer, text: str) -> None:
    rows, words = UNFIT[text]
    (said,) = drawn(server, query(text, rows))
    assert not said.samples
    assert said.words == f"left out: {words}"


def test_a_race_draws_what_a_folder_lacks_and_says_so(
    server: LabServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = tmp_path / "app"
    (app / "queries").mkdir(parents=True)
    texts = {
        "fits": ("SELECT note FROM o WHERE state = $1", 100.0),
        "strange": ("SELECT id FROM o WHERE id = $1", 500.0),
        "writes": ("DELETE FROM o WHERE id = $1", 1.0),
    }
    lines = ['[source]\nengine = "postgres"\n']
    for name, (text, rows) in texts.items():
        (app / "queries" / f"{name}.sql").write_text(text)
        more = "writes = true\n" if name == "writes" else ""
        lines.append(
            f'[queries.{name}]\ntext = "queries/{name}.sql"\ncalls = 10\nrows = {10 * rows}\n{more}'
        )
    (app / "workload.toml").write_text("".join(lines))
    at = address(server)
    dsn = f"postgresql://reader@{quote(at.host, safe='')}:{at.port}/shop"
    arms = tuple(
        RaceArm(name=name, engine="postgres", origin={"dsn": dsn}) for name in ("old", "new")
    )
    drawing.draw_missing(Race(command="dyno race", arms=arms, minutes=1, workload=str(app)))
    said = capsys.readouterr().err
    assert "1 of 2 queries find as many rows as at the source" in said
    assert "strange: left out: a call finds 1 rows where the source's found 500" in said
    values = (app / "values" / "fits.jsonl").read_text().splitlines()
    assert {tuple(json.loads(line)["values"]) for line in values} <= {
        ("done",),
        ("some",),
        ("rare",),
        *((f"{state}~{turn}",) for state in ("done", "some", "rare") for turn in range(64)),
    }
    path = app / "workload.toml"
    assert [each.name for each in workload.undrawn(path)] == ["writes"], "its server only reads"
    used = workload.load(str(path)).application
    assert used is not None and [each.name for each in used.queries] == ["fits"]
