"""An application's queries, asked of two real servers before they are timed, up to the report."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from command import dyno
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.engine import LabServer
from dbdyno.model import Arm, Comparison
from dbdyno.run import blocks
from server_place import a_place, address, ends, started

pytestmark = pytest.mark.live

MARKER = "Ziegenmelker_4711"
"""A value of the data and of the application, which nothing may keep."""
TABLES = (
    "CREATE TABLE f (id int PRIMARY KEY, a int, t text)",
    "INSERT INTO f SELECT n, n % 1000, 'text' FROM generate_series(1, 20000) AS n",
    f"INSERT INTO f VALUES (0, -1, '{MARKER}')",
    "CREATE INDEX f_a ON f (a)",
    "CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 2 * n'",
    "ANALYZE f",
)
PLANTED = (
    "UPDATE f SET t = 'other' WHERE id = 5",  # which moves the row, too
    "DROP INDEX f_a",
    "DROP FUNCTION twice(int)",
    "ANALYZE f",
)
"""What the newer server has otherwise."""
QUERIES: dict[str, tuple[str, list[list[object]]]] = {
    "same": ("SELECT id, t FROM f WHERE id = $1", [[7], [0]]),
    "differs": ("SELECT t FROM f WHERE id = $1", [[7], [5]]),
    "fails": ("SELECT twice(id) FROM f WHERE t = $1", [[MARKER]]),
    "flips": ("SELECT count(*) FROM f WHERE a = $1", [[5]]),
    "both": ("SELECT $1::int FROM f", [[MARKER]]),
    "open": ("SELECT a FROM f WHERE id > $1 LIMIT 5", [[3]]),
    "bound": ("SELECT t FROM f WHERE t = $1 AND id < $2", [[MARKER, "9"]]),
}
PLAN = """
[arms.old]
dsn = "{old}"
[arms.new]
dsn = "{new}"
[[workloads]]
name = "{app}"
parameters = {{ seconds = 1, top = 1 }}
[schedule]
blocks = 1
interleave = "turn"
turn_s = 0.3
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The result of a plan whose servers differ in what was planted."""
    home = tmp_path_factory.mktemp("asked")
    arms = [
        Arm(name=name, engine="postgres", base_dir=path)
        for name, path in zip(("old", "new"), (ends()[0], ends()[-1]), strict=True)
    ]
    with a_place() as place, started(arms[0], place) as old, started(arms[1], place) as new:
        for server, more in ((old, ()), (new, PLANTED)):
            server.create_database("shop")
            server.execute(*TABLES, *more)
        yield blocks.run(planned([old, new], home), home / "out", wait=True).folder


def planned(servers: list[LabServer], home: Path) -> plan.Plan:
    """The plan, with its application's folder."""
    app = home / "app"
    app.mkdir()
    lines = ['[source]\nengine = "postgres"']
    for name, (text, values) in QUERIES.items():
        (app / f"{name}.sql").write_text(text)
        (app / f"{name}.jsonl").write_text(
            "".join(json.dumps({"values": tuple_of}) + "\n" for tuple_of in values)
        )
        bound = 'protocol = "prepared"' if name == "bound" else ""
        known = f'values = "{name}.jsonl"' if values else ""
        time_s = 9.0 if name == "same" else 1.0
        lines.append(
            f'[queries.{name}]\ntext = "{name}.sql"\ncalls = 9\ntime_s = {time_s}\n{known}\n{bound}'
        )
    (app / "workload.toml").write_text("\n".join(lines))
    places = [
        f"postgresql://{at.user}@{quote(at.host, safe='')}:{at.port}/{at.database}"
        for at in map(address, servers)
    ]
    return replace(
        plan.parse(PLAN.format(old=places[0], new=places[1], app=app), None), name="asked"
    )


@pytest.fixture(scope="module")
def compared(folder: Path) -> Comparison:
    """What the result comes to."""
    return compare.load(folder)


@pytest.mark.capability("own queries")
def test_each_query_has_its_word(compared: Comparison) -> None:
    words = {
        change.place.query: (change.word, change.detail) for change in compared.queries.answers
    }
    assert words == {
        "same": ("same", ""),
        "differs": ("different", "other values of `t`"),
        "fails": ("fails", "42883 undefined function"),
        "flips": ("same", ""),
        "both": ("fails on both", "22P02 invalid text representation"),
        "open": ("not determined", "`LIMIT 5` has no ORDER BY"),
        "bound": ("same", ""),
    }


@pytest.mark.capability("query plans")
def test_the_changed_plan_is_named_where_it_parts(compared: Comparison) -> None:
    plans = {change.place.query: change for change in compared.queries.plans}
    assert plans["flips"].word == "changed"
    assert plans["flips"].detail.startswith("f: ")
    assert plans["flips"].detail.endswith("→ Seq Scan")
    assert [name for name, change in plans.items() if change.word == "changed"] == ["flips"]
    assert plans["bound"].word == "same"


@pytest.mark.capability("own queries")
def test_no_value_reaches_a_result_a_report_or_an_error(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    said = [
        dyno("compare", str(folder), "--full"),
        dyno("report", str(folder), "--html", str(page)),
        dyno("export", str(folder), "--to", f"{tmp_path}/tables/", "--format", "csv"),
    ]
    assert page.exists()
    written = [path for root in (folder, tmp_path) for path in root.rglob("*") if path.is_file()]
    holding = [path for path in written if MARKER.encode() in path.read_bytes()]
    assert holding == []
    assert not [ended for ended in said if MARKER in ended.stdout + ended.stderr]
