"""Exports: every form says the same, every figure is the planted one, nothing is dropped unsaid."""

import json
from pathlib import Path

import duckdb
import pandas
import pytest

import dbdyno
from command import dyno
from dbdyno.model.error import ExportError, ResultError
from dbdyno.report.export import frames, manual, write
from dbdyno.report.export.form import FRAME_TYPES, RESULT, RUN, ExportTable
from dbdyno.report.export.frames import Result
from dbdyno.report.export.tables import TABLES, by_name
from result_builder import build, plant
from result_planted import CLIENTS, Planted

STEPS = ("l.i0", "l.x", "qr100")
EXPORT_PAGE = Path(__file__).parent.parent / "docs" / "export.md"
OF_HOST = {"samples", "owner_samples", "device_samples"}
OF_STEPS = [table for table in TABLES if table.columns[: len(RESULT + RUN)] == RESULT + RUN]


def planted(arm: str, step: str, block: int) -> Planted:
    """pg18 is faster by 5 %; its background inserts miss their target in block 2."""
    numbers = plant(step, faster=1.05 if arm == "pg18" else 1.0)
    if (arm, step, block) == ("pg18", "qr100", 2):
        return plant(step, faster=1.05, insert_rows_per_s=150.0)
    if (arm, step, block) == ("pg17", "qr100", 1):
        return plant(step, found={"delete": 0.5, "query": 1.0})
    return numbers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arms, two blocks, and a spoiled try of block 2."""
    parent = tmp_path_factory.mktemp("results")
    return build(parent, blocks=2, steps=STEPS, planted=planted, void={2: "swapped"})


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    """The same as data frames."""
    return dbdyno.read(folder)


@pytest.fixture(scope="module")
def database(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of it in a DuckDB file."""
    path = tmp_path_factory.mktemp("export") / "all.duckdb"
    write.export([folder], write.wish(str(path), None, None))
    return path


def ask(database: Path, sql: str) -> list[tuple[object, ...]]:
    """The rows of a question to a DuckDB file."""
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql).fetchall()


# --- What is in it ---------------------------------------------------------------------------


def test_a_step_has_its_planted_figures(database: Path) -> None:
    found = ask(
        database,
        "SELECT arm, rate, window_s, target, achieved, held, server_version, status FROM steps "
        "WHERE step = 'qr100' AND block = 1 ORDER BY arm",
    )
    assert found == [
        ("pg17", 5_000.0, 20.0, 200.0, 200.0, True, "17.6", "ok"),
        ("pg18", 5_250.0, 20.0, 200.0, 200.0, True, "18.0", "ok"),
    ]


def test_the_seconds_of_a_step_add_up_to_what_was_planted(database: Path) -> None:
    (found,) = ask(
        database,
        "SELECT count(*), sum(rows), sum(operations), min(p50_us), max(p99_us), max(second) "
        "FROM ticks WHERE step = 'qr100' AND arm = 'pg17' AND block = 1 AND kind = 'insert'",
    )
    assert found == (20, 200 * 20, 200 * 20 // 50, 800.0, 800.0, 20.0)


def test_what_the_clients_did_is_what_all_did_together(database: Path) -> None:
    differing = ask(
        database,
        "SELECT * FROM (SELECT step, arm, block, void, role, second, sum(rows) AS rows, count(*) "
        "AS clients FROM clients GROUP BY ALL) AS single JOIN ticks "
        "USING (step, arm, block, void, role, second) "
        f"WHERE single.rows <> ticks.rows OR clients <> {CLIENTS}",
    )
    assert not differing
    assert ask(database, "SELECT max(client) FROM clients") == [(CLIENTS - 1,)]


def test_a_sample_is_the_difference_of_two_readings_by_their_time(database: Path) -> None:
    found = ask(
        database,
        "SELECT DISTINCT context_switches_per_s, cpu_steal_pct FROM samples "
        "WHERE step = 'qr100' AND arm = 'pg17'",
    )
    assert found == [(30_000.0, 0.0)]
    owners = dict(
        ask(
            database,
            "SELECT owner, avg(cpu_cores) FROM owner_samples WHERE step = 'qr100' AND block = 1 "
            "AND arm = 'pg17' GROUP BY owner",
        )
    )
    assert owners["role:query"] == pytest.approx(5_000 * 100 / 1e6)
    assert owners["background:walwriter"] == pytest.approx(0.001)


def test_every_table_is_made_by_somebody() -> None:
    made = [name for tables, _ in frames.MAKERS for name in tables]
    assert sorted(made) == sorted(table.name for table in TABLES)


def test_a_comparison_has_the_planted_ratio_and_the_headline_is_marked(database: Path) -> None:
    found = ask(
        database,
        "SELECT step, metric, value / base_value, estimate, blocks, bound FROM comparisons "
        "WHERE headline AND arm = 'pg18' ORDER BY ordinal",
    )
    assert [(row[0], row[1]) for row in found] == [
        ("l.i0", "ips"),
        ("l.x", "ips"),
        ("qr100", "qps"),
    ]
    for _, _, quotient, ratio, blocks, bound in found:
        assert ratio == pytest.approx(1.05)
        assert quotient == pytest.approx(1.05)
        assert (blocks, bound) == (2, "exact")


def test_a_verdict_has_its_figures_and_the_metrics_that_explain_it(database: Path) -> None:
    primary = ask(
        database,
        "SELECT step, metric, step_verdict, verdict, decides, blocks, estimate, margin "
        "FROM verdicts WHERE family = 'primary' AND arm = 'pg18' ORDER BY ordinal, metric",
    )
    lifted = pytest.approx(1.05)
    missed = "failed"
    assert primary == [
        ("l.i0", "ips", "faster", "faster", True, 2, lifted, 0.03),
        ("l.i0", "undisturbed_us", "faster", "same", False, 2, pytest.approx(1.0), 0.03),
        ("l.x", "cpu_per_op", "faster", "faster", True, 2, pytest.approx(1 / 1.05), 0.03),
        ("l.x", "ips", "faster", "faster", True, 2, lifted, 0.03),
        ("qr100", "cpu_per_op", missed, "same", False, 2, pytest.approx(1.0), 0.03),
        ("qr100", "qps", missed, "faster", False, 2, lifted, 0.03),
    ]
    ((outcome, explanation),) = ask(
        database, "SELECT DISTINCT outcome, explanation FROM verdicts WHERE step = 'qr100'"
    )
    assert (outcome, explanation) == ("held 200 rows/s in 1 of 2 blocks", None)
    explaining = dict(
        ask(
            database,
            "SELECT metric, decides FROM verdicts WHERE family = 'explanatory' AND step = 'l.i0'",
        )
    )
    assert {"cs_per_op", "background_cpu_per_op"} <= set(explaining)
    assert not any(explaining.values())
    assert ask(database, "SELECT count(*) FROM verdicts WHERE arm = base") == [(0,)]


def test_a_step_that_no_metric_judges_has_its_verdict_all_the_same(tmp_path: Path) -> None:
    failed = {(block, "pg18", "l.x"): "the server ended" for block in (1, 2)}
    found = dbdyno.read(build(tmp_path, blocks=2, steps=STEPS, failed=failed)).verdicts
    (row,) = found[found.step == "l.x"].to_dict("records")
    assert (row["step_verdict"], row["outcome"]) == ("failed", "failed in 2 of 2 blocks")
    assert (row["metric"], row["family"], row["blocks"]) == ("ips", "primary", 0)
    assert pandas.isna(row["verdict"]) and pandas.isna(row["estimate"])


def test_steps_of_one_arm_and_their_groups_are_told_beside_each_other(tmp_path: Path) -> None:
    made = build(tmp_path, blocks=2, steps=("qr100", "qr500"), planted=planted)
    names = {"qr100": "read@clients=2", "qr500": "read@clients=4"}
    for path in made.rglob("step.json"):
        step = json.loads(path.read_text())
        step |= {"name": names[step["name"]], "group": "point queries"}
        path.write_text(json.dumps(step))
    found = dbdyno.read(made)
    assert set(found.steps.step_group) == set(found.comparisons.step_group) == {"point queries"}
    (base, other) = found.across.to_dict("records")
    assert (base["arm"], other["arm"]) == ("pg17", "pg18")
    del base["result"], base["plan"], base["workload"], base["arm"]
    assert base == {
        "kind": "scale-up",
        "first_step": "read@clients=2",
        "second_step": "read@clients=4",
        "first_clients": 2,
        "second_clients": 4,
        "ratio": pytest.approx(1.0),
        "low": pytest.approx(1.0),
        "high": pytest.approx(1.0),
        "blocks": 2,
    }


def test_a_void_block_is_there_and_not_judged(database: Path) -> None:
    found = ask(database, "SELECT DISTINCT block, void, judged FROM steps ORDER BY ALL")
    assert found == [(1, 0, True), (2, 0, True), (2, 1, False)]
    for table in OF_STEPS:
        rows = ask(database, f'SELECT count(*), count(judged) FROM "{table.name}"')
        assert rows[0][0] == rows[0][1], f"{table.name}: a row that does not say whether it counts"


def test_a_step_that_failed_and_the_skipped_ones_are_there_with_their_reasons(tmp_path: Path):
    failed = {(1, "pg18", "l.x"): "the server ended"}
    steps = dbdyno.read(build(tmp_path, blocks=1, steps=STEPS, failed=failed)).steps
    found = steps[steps.arm == "pg18"].set_index("step")
    assert list(found.status) == ["ok", "failed", "skipped"]
    assert found.reason["l.x"] == "the server ended"
    assert found.rate.isna().tolist() == [False, True, True]
    assert set(found.judged) == {True}


def test_an_unfinished_block_is_there_and_not_judged(tmp_path: Path) -> None:
    result = dbdyno.read(build(tmp_path, blocks=2, steps=("l.i0",), broken=True))
    assert result.steps.groupby("block").judged.first().to_dict() == {1: True, 2: False}
    assert result.plans.incomplete[0] == "1 of 2 blocks done, block 2 begun and not finished"


def test_several_results_can_be_asked_together(folder: Path, tmp_path: Path) -> None:
    other = build(tmp_path, name="other", blocks=1, steps=("l.i0",))
    path = tmp_path / "both.duckdb"
    write.export([folder, other], write.wish(str(path), None, None))
    found = ask(
        path, "SELECT plan, result, count(DISTINCT step) FROM steps GROUP BY ALL ORDER BY 1"
    )
    assert found == [("example", str(folder), 3), ("other", str(other), 1)]


def test_targets_fairness_stalls_and_state_are_those_of_the_step(database: Path) -> None:
    where = "WHERE step = 'qr100' AND block = 2 AND judged AND arm = 'pg18'"
    targets = ask(database, f"SELECT role, target_per_s, achieved_per_s, met FROM targets {where}")
    assert ("insert", 200.0, 150.0, False) in targets
    counts = ask(
        database,
        "SELECT sum(count) FILTER (unit = 'rows' AND role = 'insert'), max(client), max(jain) "
        f"FROM fairness {where}",
    )
    assert counts == [(150 * 20, CLIENTS - 1, 1.0)]
    assert ask(database, f"SELECT DISTINCT stalled, longest_s FROM stalls {where}") == [(0, 0)]
    sizes = ask(
        database, f"SELECT moment, unit, value FROM states {where} AND name LIKE 'database%'"
    )
    assert {(moment, unit) for moment, unit, _ in sizes} == {
        ("before", "bytes"),
        ("after", "bytes"),
    }
    assert ask(database, f"SELECT clients FROM steps {where}") == [(CLIENTS,)]


def test_what_calls_a_comparison_into_question_is_there(database: Path) -> None:
    where = "WHERE subject = 'target rate missed' AND step = 'qr100' AND arm = 'pg18'"
    found = ask(database, f"SELECT grade, block, words FROM doubts {where} ORDER BY block")
    assert found[0] == ("doubt", 2, "150 of 200 rows/s inserted")


@pytest.mark.parametrize(
    ("file", "content", "lost"),
    [
        ("events.jsonl", b'{"event": "hello"}\nno JSON\n{"event": "done"}\n', {"ticks", "clients"}),
        pytest.param(
            "events.jsonl",
            b'{"event": "tick", "measured": true}\n',
            {"ticks", "clients"},
            marks=pytest.mark.long,
        ),
        pytest.param("host.jsonl", b'no JSON\n{"kind": "open"}\n', OF_HOST, marks=pytest.mark.long),
        pytest.param("step.json", None, {"ticks", "clients"} | OF_HOST, marks=pytest.mark.long),
        pytest.param("step.json", b"{", {"ticks", "clients"} | OF_HOST, marks=pytest.mark.long),
        pytest.param("job.json", b"[]", {"ticks", "clients"}, marks=pytest.mark.long),
    ],
)
@pytest.mark.long
def test_a_damaged_file_is_named_and_costs_only_the_rows_that_it_would_give(
    tmp_path: Path, file: str, content: bytes | None, lost: set[str]
) -> None:
    folder = build(tmp_path, blocks=1, steps=("l.i0", "qr100"))
    damaged = folder / "blocks/001/pg18/insert-benchmark/01-l.i0" / file
    damaged.unlink() if content is None else damaged.write_bytes(content)
    database = tmp_path / "x.duckdb"
    written = write.export([folder], write.wish(str(database), None, None))
    assert any(str(damaged.parent) in problem for problem in written.problems)
    for table in OF_STEPS:
        lost_ones = ask(
            database, f"SELECT * FROM \"{table.name}\" WHERE arm = 'pg18' AND step = 'l.i0'"
        )
        if table.name in lost:
            assert not lost_ones, table.name
    for table in ("ticks", "samples"):
        kept = ask(database, f"SELECT DISTINCT arm, step FROM {table} ORDER BY ALL")
        others = [("pg17", "l.i0"), ("pg17", "qr100"), ("pg18", "qr100")]
        assert [one for one in kept if one != ("pg18", "l.i0")] == others
    (status,) = ask(database, "SELECT status FROM steps WHERE arm = 'pg18' AND step = 'l.i0'")
    assert status == (("ok",) if file == "host.jsonl" else ("failed",))


# --- Its forms -------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_frame_has_the_columns_and_types_of_its_table(result: Result, table: ExportTable) -> None:
    found = result.table(table.name)
    expected = {column.name: FRAME_TYPES[column.type] for column in table.columns}
    assert {name: str(kind) for name, kind in found.dtypes.items()} == expected


@pytest.mark.parametrize(
    "form", ["csv", *(pytest.param(one, marks=pytest.mark.long) for one in ("json", "parquet"))]
)
def test_every_form_says_the_same(folder: Path, database: Path, tmp_path: Path, form: str) -> None:
    written = write.export([folder], write.wish(f"{tmp_path}/all/", None, form))
    assert {path.name for path in written.files} == {f"{table.name}.{form}" for table in TABLES}
    assert sorted((tmp_path / "all").iterdir()) == sorted(written.files)
    for table in ("steps", "ticks", "comparisons", "samples"):
        names = ", ".join(
            f'CAST("{one.name}" AS VARCHAR)' for one in by_name(table).columns if one.type != "time"
        )
        theirs = duckdb.sql(f"SELECT {names} FROM '{tmp_path}/all/{table}.{form}'").fetchall()
        assert theirs == ask(database, f"SELECT {names} FROM {table}"), table


def test_the_frames_say_what_the_database_says(result: Result, database: Path) -> None:
    for name in ("steps", "metrics", "ticks"):
        names = [one.name for one in by_name(name).columns]
        rows = [dict(zip(names, row, strict=True)) for row in ask(database, f"FROM {name}")]
        theirs = frames.frame(by_name(name), rows)
        pandas.testing.assert_frame_equal(result.table(name), theirs)


def test_every_column_of_the_database_has_its_comment(database: Path) -> None:
    found = ask(
        database, "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"
    )
    assert set(found) == {
        (table.name, column.name, column.comment) for table in TABLES for column in table.columns
    }
    assert all(row[0] for row in ask(database, "SELECT comment FROM duckdb_tables()"))


def test_an_older_duckdb_can_open_the_database(database: Path) -> None:
    sql = f"SELECT tags['storage_version'] FROM duckdb_databases() WHERE path = '{database}'"
    ((version,),) = ask(database, sql)
    assert str(version).startswith(write.READABLE_FROM)


def test_a_piece_is_never_longer_than_the_most(
    folder: Path, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = len(result.ticks)
    monkeypatch.setattr(frames, "ROWS_MAX", 7)
    lengths = [
        len(rows) for _, rows in frames.pieces([frames.ExportSource.open(folder)], {"ticks"})
    ]
    assert max(lengths) == 7
    assert sum(lengths) == whole


def test_a_file_that_is_there_is_replaced_or_left_as_it_was(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_text("of before")
    with pytest.raises(ResultError):
        write.export([folder, tmp_path], write.wish(str(path), None, None))
    assert path.read_text() == "of before"
    write.export([folder], write.wish(str(path), None, None))
    assert path.read_text().startswith("result,plan,workload,arm,block,")
    assert [item.name for item in tmp_path.iterdir()] == ["steps.csv"]


# --- What a person may get wrong -------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--to", "x.xlsx"), ".csv, .json, .parquet or .duckdb"),
        pytest.param(("--to", "x"), ".csv, .json, .parquet or .duckdb", marks=pytest.mark.long),
        pytest.param(
            ("--to", "x.csv", "--table", "step"), "there are plans, arms,", marks=pytest.mark.long
        ),
        pytest.param(
            ("--to", "x.csv", "--format", "json"), "leave --format out", marks=pytest.mark.long
        ),
        pytest.param(
            ("--to", "x/", "--format", "duckdb"), "csv, json, parquet", marks=pytest.mark.long
        ),
        pytest.param(("--to", "no/such/x.csv"), "cannot be written", marks=pytest.mark.long),
        pytest.param(
            ("--to", "x.csv", "--base", "pg16"), "it has pg17, pg18", marks=pytest.mark.long
        ),
    ],
)
def test_a_wrong_wish_is_said_in_one_line(
    folder: Path, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    option, to, *rest = arguments
    ended = dyno("export", folder, option, f"{tmp_path}/{to}", *rest)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr
    assert not list(tmp_path.rglob("*.*"))


def test_a_folder_named_twice_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="name each once"):
        write.export([folder, folder / "."], write.wish(str(tmp_path / "x.csv"), None, None))


def test_a_table_that_is_not_there_names_those_that_are(folder: Path) -> None:
    with pytest.raises(AttributeError, match="there is no table `step`; there are plans, arms"):
        _ = dbdyno.read(folder).step


def test_the_command_says_what_it_wrote(folder: Path, tmp_path: Path) -> None:
    ended = dyno("export", folder, "--to", tmp_path / "steps.json")
    assert (ended.returncode, ended.stderr) == (0, f"wrote {tmp_path}/steps.json: 18 rows\n")


# --- Its page --------------------------------------------------------------------------------


def test_the_page_is_up_to_date() -> None:
    """Mend it with `python tools/export_page.py`."""
    assert EXPORT_PAGE.read_text(encoding="utf-8") == manual.document()


@pytest.mark.parametrize("table", OF_STEPS, ids=lambda table: table.name)
def test_a_natural_join_with_steps_joins_by_the_step_alone(table: ExportTable) -> None:
    if table.name != "steps":
        shared = {one.name for one in table.columns} & {
            one.name for one in by_name("steps").columns
        }
        assert shared == {one.name for one in RESULT + RUN}


@pytest.mark.parametrize(
    ("number", "rows", "first"),
    [
        (0, 3, ("l.i0", "pg18", "ips")),
        (1, 6, ("l.i0", "pg18", "faster", "ips", "faster", 5.0)),
        (2, 20, (1.0, 200, 200)),
        (3, 20, ("qr100", "pg17", "backend:other", 0.0)),
        (4, 1, ("qr100", "pg18", 2, 200.0, 150.0, 25.0)),
        (5, 18, ()),
        (6, 1, ("qr100", "pg17", 1, "delete", 4.0, 200.0, 50.0)),
    ],
)
def test_a_question_of_the_page_finds_what_was_planted(
    database: Path, number: int, rows: int, first: tuple[object, ...]
) -> None:
    found = ask(database, [*manual.QUESTIONS.values()][number])
    assert len(found) == rows
    assert found[0][: len(first)] == pytest.approx(first)
    if number == 3:
        assert ("qr100", "pg18", "role:query", 100.0) in found
    if number == 5:
        assert found[0][-3:] == (20_000.0, 400.0, 90.0)  # cpu, fsync, memory
