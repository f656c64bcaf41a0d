"""A real run of a grid, scale by clients by rate: what its report, its text and its export say."""

import json
from pathlib import Path

import duckdb
import pytest

from command import dyno
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.model import Comparison
from dbdyno.parts.drawing import Curves
from dbdyno.parts.part import Chart, Page, flat
from dbdyno.parts.table import Table
from dbdyno.report import json_document, page
from dbdyno.report.export import manual, write
from dbdyno.report.render import markdown
from dbdyno.run import blocks

PLAN = """
name = "grid"
arms.old = { engine = "fake", fake = { default_us = 400 } }
arms.new = { engine = "fake", fake = { default_us = 500 } }
[[workloads]]
name = "pgbench"
steps = ["select-only"]
parameters = { scale = [1, 2], clients = [1, 4], rate = [0, 500], seconds = 1 }
[schedule]
blocks = 3
"""
"""Every operation takes 400 µs, or 500: so many clients do as many times 2,500, or 2,000."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of the plan, run with the fake server."""
    parent = tmp_path_factory.mktemp("results")
    return blocks.run(plan.parse(PLAN, None), parent, wait=True).folder


@pytest.fixture(scope="module")
def found(folder: Path) -> Comparison:
    """What it came to."""
    return compare.load(folder)


@pytest.fixture(scope="module")
def shown(found: Comparison) -> Page:
    """Its report."""
    return page.make(found)


@pytest.fixture(scope="module")
def database(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of it in a DuckDB file."""
    path = tmp_path_factory.mktemp("export") / "grid.duckdb"
    write.export([folder], write.wish(str(path), None, None))
    return path


def answer(database: Path, title: str) -> list[tuple[object, ...]]:
    """The rows of the page's question that begins so."""
    (sql,) = [sql for name, sql in manual.QUESTIONS.items() if name.startswith(title)]
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql).fetchall()


# --- Export ------------------------------------------------------------------------------------


def test_the_grid_has_a_row_for_each_scale_and_a_column_for_each_number_of_clients(database: Path):
    rows = answer(database, "Throughput by scale and clients")
    assert [row[:3] for row in rows] == [
        (arm, "select-only", scale) for arm in ("new", "old") for scale in (1.0, 2.0)
    ]
    for arm, _, _, *rates in rows:
        each = 2_500 if arm == "old" else 2_000
        # The mean of the closed loop and of 500 a second, which arrive at random.
        expected = [(clients * each + 500) / 2 for clients in (1, 4)]
        assert rates == pytest.approx(expected, rel=0.08)


def test_the_fastest_are_those_with_the_most_clients(database: Path) -> None:
    rows = answer(database, "The five fastest")
    assert len(rows) == 10  # of eight for each arm
    best = {row[0]: row for row in reversed(rows)}
    for arm, each in (("old", 2_500), ("new", 2_000)):
        _, _, step, clients, per_s, per_client = best[arm]
        assert (step, clients) == ("select-only@clients=4,rate=0", 4)
        assert (per_s, per_client) == pytest.approx((4 * each, each), rel=0.01)


def test_blocks_of_a_closed_loop_differ_by_nothing_and_those_at_random_by_something(database: Path):
    rows = answer(database, "Variation between blocks")
    assert len(rows) == 16
    for _, step, _, count, _, _, variation in rows:
        assert count == 3
        assert isinstance(variation, float) and isinstance(step, str)
        assert variation < 0.5 if step.endswith("rate=0") else 0 < variation < 60


def test_the_fastest_under_a_limit_keeps_it(database: Path) -> None:
    rows = answer(database, "The fastest step of each arm that keeps")
    assert [(row[0], row[2]) for row in rows] == [
        ("new", "select-only@clients=4,rate=0"),
        ("old", "select-only@clients=4,rate=0"),
    ]
    assert [row[-1] for row in rows] == pytest.approx([0.5, 0.4], rel=0.01)


def test_response_times_stand_beside_the_rates_that_were_asked_for(database: Path) -> None:
    rows = answer(database, "Response times by requested rate")
    assert len(rows) == 2 * 2 * 2 * 2
    for workload, arm, _, _, asked, per_s, p50_us, _ in rows:
        assert workload in ("pgbench@scale=1", "pgbench@scale=2")
        least = 400 if arm == "old" else 500
        assert isinstance(p50_us, float) and p50_us >= least * 0.99
        if asked:
            assert per_s == pytest.approx(asked, rel=0.15)


def test_peaks_are_exported_with_their_ratios(database: Path) -> None:
    rows = answer(database, "Each arm's peak")
    assert [row[:6] for row in rows] == [
        (f"pgbench@scale={scale}", "select-only@rate=0", arm, 4, 4, 4)
        for scale in (1, 2)
        for arm in ("new", "old")
    ]
    for row in rows:
        each, ratio = (2_000, 0.8) if row[2] == "new" else (2_500, None)
        assert row[6] == pytest.approx(4 * each, rel=0.01)
        assert row[7] == (None if ratio is None else pytest.approx(ratio, rel=0.01))
        assert row[10] == 1.0


# --- Report ------------------------------------------------------------------------------------


def curves(shown: Page) -> dict[str, Curves]:
    return {
        one.name: one.data
        for one in flat(shown.parts)
        if isinstance(one, Chart) and isinstance(one.data, Curves)
    }


def test_what_works_as_fast_as_it_can_has_throughput_and_p99_over_the_clients(shown: Page) -> None:
    names = [name.removeprefix("pgbench-scale-1-") for name in curves(shown) if "scale-1" in name]
    assert sorted(names) == [
        "select-only-rate-0-clients-p99",
        "select-only-rate-0-clients-throughput",
        "select-only-rate-500-clients-p99",
    ]
    chart = curves(shown)["pgbench-scale-1-select-only-rate-0-clients-throughput"]
    assert {(point.arm, point.x) for point in chart.points} == {
        (arm, clients) for arm in ("old", "new") for clients in (1.0, 4.0)
    }
    assert chart.doubling


def test_the_table_of_peaks_fits_a_terminal(shown: Page, folder: Path) -> None:
    (table, _) = [
        one for one in flat(shown.parts) if isinstance(one, Table) and one.name.endswith("-peaks")
    ]
    assert [row.cells[0].text for row in table.rows] == ["old", "new"]
    assert [row.cells[1].text for row in table.rows] == ["4", "4"]
    assert table.rows[1].cells[1].title == "new peaks at 4 clients (3 blocks)"
    ended = dyno("compare", folder, "--full")
    assert ended.returncode == 0, ended.stderr
    assert "Peaks over clients" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 80


def test_posts_and_programs_are_told_of_peaks(found: Comparison, shown: Page) -> None:
    assert "Peaks over clients" in markdown.render(shown)
    tables = json.loads(json_document.render(found))["tables"]
    of = ("pgbench@scale=2", "select-only@rate=0")
    base, other = [row for row in tables["peaks"] if (row["workload"], row["sweep"]) == of]
    assert (base["clients"], base["ratio"]) == (4, None)
    assert (other["ratio"], other["blocks"]) == (pytest.approx(0.8, rel=0.01), 3)
    values = {row["parameter_value"] for row in tables["swept"] if row["parameter"] == "clients"}
    assert 4.0 in values
