"""Statements, transactions and misses of a step, as they are derived and said.

The example step does 5,000 queries/s, 4 inserts and 4 deletes of 50 rows a second, for 20 s.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from dbdyno import store
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.findings.fairness.facts import FairnessFacts
from dbdyno.findings.statements import show
from dbdyno.findings.statements.facts import StatementFacts, StatementUse
from dbdyno.model import Headline, Json, StepRun
from dbdyno.model.job import Job, first_words, is_control
from dbdyno.model.job.role import ClosedPace, Role
from dbdyno.model.job.statements import Piece, Statement
from dbdyno.model.step_files import HeadlineWork, StepDone
from dbdyno.run.step import summary
from dbdyno.run.step_progress import StepMeter
from dbdyno.stats.response_times import Histogram
from dbdyno.store import Results, StepFolder
from doubted import doubted
from result_builder import build
from result_planted import plant
from run_builder import concluded, plan_of, run
from test_progress import PROGRAMS, STATEMENTS, encoded, operation, role, step, tick

FOUND = {"query": 1.0, "insert": 1.0, "delete": 1.0}


def folder(tmp_path: Path, found: dict[str, float] | None = None, **changes: float) -> StepFolder:
    """The folder of one read-write step; `found`: what share of each role's statements does."""
    planted = plant("qr100", found=FOUND if found is None else found, **changes)
    made = build(tmp_path, arms=("a",), blocks=1, steps=("qr100",), planted=lambda *_: planted)
    (run,) = Results.open(made).blocks()[0].runs()
    return run.steps()[0]


def edit_json(path: Path, edit: Callable[[Json], object]) -> None:
    value = store.read_struct(path, Json)
    edit(value)
    store.write_json(path, value)


def edit_ticks(path: Path, edit: Callable[[Json], object]) -> None:
    """Edits the ticks of the role `query`."""
    lines = list(store.read_structs(path / "events.jsonl", Json))
    for line in lines:
        if line["event"] == "tick" and line["role"] == "query":
            edit(line)
    (path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def uses(run: StepRun) -> dict[str, StatementUse]:
    return {one.name: one for one in run.of(StatementFacts).statements}


# --- How often, how many rows, how many of them had any --------------------------------------


def test_an_older_result_does_not_say_what_found_a_row(tmp_path: Path) -> None:
    run = assemble.step_run(folder(tmp_path, {}))
    assert {one.found for one in run.of(StatementFacts).statements} == {None}
    assert run.metrics["found_share"] is None
    assert doubted(run) == ()
    assert uses(run)["query"].per_s == 5_000.0


def test_a_statement_that_is_to_find_none_has_no_share(tmp_path: Path) -> None:
    at = folder(tmp_path, FOUND | {"query": 0.0})

    def without_rows(job: Json) -> None:
        for statement in job["statements"]:
            statement["rows"] = 0 if statement["name"] == "query" else statement["rows"]

    edit_json(at.path / "job.json", without_rows)
    run = assemble.step_run(at)
    assert uses(run)["query"].found is None
    assert (run.metrics["found_share"], doubted(run)) == (None, ())


@pytest.mark.parametrize(
    ("name", "share", "said"),
    [("query", 0.99, False), ("query", 0.9898, True), ("delete", 0.5, True)],
)
def test_under_99_percent_are_a_warning_that_names_the_statement(
    tmp_path: Path, name: str, share: float, said: bool
) -> None:
    """Also of a background role: what it does beside the queries is less than it seems."""
    warnings = doubted(assemble.step_run(folder(tmp_path, FOUND | {name: share})))
    assert [text.split(" % of ")[1].split(";")[0] for text in warnings] == [f"`{name}`"] * said


def test_the_same_misses_of_many_steps_are_one_line(tmp_path: Path) -> None:
    planted = plant("qr100", found=FOUND | {"query": 0.6})
    made = build(tmp_path, blocks=3, steps=("qr100",), planted=lambda *_: planted)
    (line,) = doubted(compare.load(made))
    assert line.startswith("found no row: 40.0 % of `query`; its 5,000/s")
    assert [group.blocks for group in compare.load(made).doubts] == [(1, 2, 3)] * 2


# --- Transactions ----------------------------------------------------------------------------


def as_transactions(at: StepFolder, count: str) -> StepRun:
    """The queries as 500 transactions/s of BEGIN, eight reads and COMMIT, of one client in two."""

    def parts(tick: Json) -> None:
        query = tick["operations"].pop("query")
        some = query | {"count": 500, "rows": 0, "empty": 500, "response": encoded(*[5_000] * 500)}
        tick["operations"] = {
            "both": some | {"rows": 4_000, "empty": 0},
            "BEGIN": some,
            "query": query
            | {"count": 4_000, "rows": 4_000, "empty": 40, "response": encoded(*[5_000] * 4_000)},
            "COMMIT": some,
        }
        tick["per_client"] = [[250, 2_000, 0, 200], [250, 2_000, 0, 200]]

    def programs(job: Json) -> None:
        for name, words in (("BEGIN", "begin isolation level serializable"), ("COMMIT", "COMMIT;")):
            statement = {"name": name, "pieces": [words], "rows": 0}
            job["statements"].append(statement)
        names = [statement["name"] for statement in job["statements"]]
        sends = ["BEGIN", *["query"] * 8, "COMMIT"]
        code = [["send", names.index(name)] for name in sends]
        job["programs"] = [{"name": "both", "code": code}]

    edit_ticks(at.path, parts)
    edit_json(at.path / "job.json", programs)
    edit_json(at.path / "step.json", lambda step: step["headline"].update(count=count))
    return assemble.step_run(at)


def test_qps_counts_begin_and_commit_where_the_step_says_statements(tmp_path: Path) -> None:
    """As published; transactions, work and the rest are told apart beside it."""
    run = as_transactions(folder(tmp_path), "statements")
    expected = {
        "qps": 5_000.0, "tps": 500.0, "statements_ps": 4_000.0, "control_ps": 1_000.0,
        "rows_ps": 4_000.0, "found_share": 99.0, "p50": 5_000.0, "p99": 5_000.0,
    }  # fmt: skip
    assert {name: run.metrics[name] for name in expected} == pytest.approx(expected)
    assert doubted(run) == ()
    assert run.series["query.rate"].y == (5_000.0,) * 20
    assert run.series["query.client.1.rate"].y == (250.0,) * 20, "transactions: of a client no more"
    assert run.metrics["cpupq"] == pytest.approx(112.72), "of what the headline counts"
    (fair,) = [one for one in run.of(FairnessFacts).fairness if one.role == "query"]
    assert (fair.unit, fair.counts) == ("operations", (5_000, 5_000))
    (stall,) = [one for one in run.of(FairnessFacts).stalls if one.role == "query"]
    assert stall.median == 500.0


def test_qps_counts_transactions_where_the_step_says_operations(tmp_path: Path) -> None:
    run = as_transactions(folder(tmp_path), "operations")
    assert (run.metrics["qps"], run.metrics["tps"]) == (500.0, 500.0)
    assert run.metrics["cpupq"] == pytest.approx(1_127.2)


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("BEGIN", True),
        ("begin isolation level read committed", True),
        ("START TRANSACTION;", True),
        ("COMMIT; BEGIN", True),
        ("ROLLBACK TO SAVEPOINT a", True),
        ("BEGIN; DELETE FROM t", False),
        ("SELECT 1", False),
        ("", False),
    ],
)
def test_control_is_what_only_begins_or_ends_a_transaction(text: str, control: bool) -> None:
    assert is_control(Statement(name="x", pieces=(text,))) is control


def test_sql_in_pieces_is_read_by_its_first_word() -> None:
    pieces = ("DELETE FROM ", Piece(table="t"), " WHERE id = ", Piece(value=0))
    assert first_words(Statement(name="x", pieces=pieces)) == ["DELETE"]
    job = Job(clients=3, statements=(Statement(name="a"), Statement(name="b")))
    assert job.statement_names == {"a", "b"}
    role = Role(name="x", per="client", connections=2, pace=ClosedPace())
    assert job.connections_of(role) == 6
    assert job.connections_of(structs.replace(role, per="step")) == 2


# --- Windows in which next to nothing ended --------------------------------------------------


def as_scan(at: StepFolder, scans: int, each_us: int) -> StepRun:
    """The queries as scans of 1,000,000 rows, of which so many end in the first second."""

    def scanned(tick: Json) -> None:
        count = scans if tick["tick"] == 1 else 0
        part = {"count": count, "rows": 0, "max_us": each_us, "empty": count}
        tick["operations"]["query"] |= part | {"response": encoded(*[each_us] * count)}
        tick["per_client"] = [[count, 0, 0, each_us], [0, 0, 0, 0]]

    edit_ticks(at.path, scanned)
    edit_json(at.path / "job.json", lambda job: job["stop"].update(seconds=20))
    changes = {"metric": "scan", "each": 1_000_000}
    edit_json(at.path / "step.json", lambda step: step["headline"].update(changes))
    return assemble.step_run(at)


def test_the_rate_of_scans_is_by_their_mean_and_not_by_what_the_window_cut(tmp_path: Path) -> None:
    """Two connections, 8 s a scan: 250,000 rows/s, though three end in 20 s and the others not."""
    run = as_scan(folder(tmp_path), scans=3, each_us=8_000_000)
    assert run.metrics["scan"] == pytest.approx(250_000, rel=1e-3)
    assert run.metrics["scan_krows_client"] == pytest.approx(125, rel=1e-3)
    assert run.metrics["tps"] == pytest.approx(3 / 20)
    cpu_us_per_row = 563_600 / 250_000
    assert run.metrics["cpupq"] == pytest.approx(cpu_us_per_row, rel=1e-3)
    assert run.metrics["wpq"] == pytest.approx(100 / 250_000, rel=1e-3)
    assert run.metrics["wkbpq"] == pytest.approx(100 * 32 / 250_000, rel=1e-3)
    assert (run.metrics["p50"], run.metrics["p99"]) == (None, None)


def test_without_a_scan_that_ended_there_is_no_rate_and_it_is_said(tmp_path: Path) -> None:
    run = as_scan(folder(tmp_path), scans=0, each_us=1)
    assert (run.ending.status, run.metrics["scan"], run.metrics["cpupq"]) == ("ok", None, None)
    assert (
        "no operation counts: none of `query` began in the 20.0 s that count; give the step more "
        "`seconds`"
    ) in doubted(run)


def test_scans_that_follow_a_schedule_count_as_they_end(tmp_path: Path) -> None:
    """A connection that waits for its time does not scan meanwhile."""
    at = folder(tmp_path)

    def paced(job: Json) -> None:
        job["roles"][-1]["pace"] = {"kind": "rate", "arrivals": "even", "per_s": 0.1}

    edit_json(at.path / "job.json", paced)
    run = as_scan(at, scans=3, each_us=2_000_000)
    assert run.metrics["scan"] == pytest.approx(3 * 1_000_000 / 20)


def test_a_mean_is_that_of_the_times_themselves() -> None:
    found = Histogram()
    assert found.mean_us is None
    for times_us in ([3], [1_000, 2_000], [50_000, 7_000_000]):
        found.add(encoded(*times_us))
    assert found.mean_us == pytest.approx(sum([3, 1_000, 2_000, 50_000, 7_000_000]) / 5, rel=5e-4)


# --- Groups ----------------------------------------------------------------------------------


def test_a_group_goes_from_the_step_to_the_comparison(tmp_path: Path) -> None:
    made = build(tmp_path, blocks=2, steps=("l.i0", "qr100"), failed={(2, "pg18", "l.i0"): "lost"})
    for path in made.rglob("*-qr100/step.json"):
        edit_json(path, lambda step: step.update(group="point queries"))
    comparison = compare.load(made)
    assert [step.group for step in comparison.steps] == [None, "point queries"]
    runs = [run for cell in comparison.steps[1].cells for run in cell.runs]
    assert {run.ending.status for run in runs} == {"ok", "skipped"}
    assert {run.facts.group for run in runs} == {"point queries"}


def test_a_step_that_a_run_never_came_to_is_in_its_group(tmp_path: Path) -> None:
    made = build(tmp_path, blocks=1, steps=("qr100",))
    shutil.rmtree(made / "blocks/001/pg18/insert-benchmark/06-qr100")
    edit_json(next(made.rglob("step.json")), lambda step: step.update(group="point queries"))
    (found,) = compare.load(made).steps
    assert [run.ending.status for cell in found.cells for run in cell.runs] == ["ok", "skipped"]
    assert {run.facts.group for cell in found.cells for run in cell.runs} == {"point queries"}


def test_results_of_older_versions_have_neither_group_nor_each(tmp_path: Path) -> None:
    at = folder(tmp_path, {})

    def older(step: Json) -> None:
        del step["group"], step["headline"]["each"]

    edit_json(at.path / "step.json", older)
    run = assemble.step_run(at)
    assert (run.ending.status, run.facts.group, run.metrics["qps"]) == ("ok", None, 5_000.0)


# --- While it runs ---------------------------------------------------------------------------

QPS = Headline(metric="qps", role="query", count="statements")
SCAN = Headline(metric="scan", role="query", count="operations", each=500)


def test_a_running_step_shows_the_statements_that_its_headline_counts() -> None:
    meter = StepMeter(step(role("query"), headline=QPS))
    parts = {"pay": operation(900, 900), "first": operation(10, 10, 10), "second": operation(10)}
    meter.take(tick("query", (1, 1), (1, 1), operations=parts, measured=False))
    pulse = meter.take(tick("query", (1, 1), (1, 1), operations=parts))
    assert pulse is not None
    assert (pulse.unit, pulse.rate, pulse.rate_so_far) == ("queries/s", 4.0, 4.0)
    assert meter.counted() == HeadlineWork(seconds=1.0, operations=2, rows=2, statements=4)


def test_a_running_scan_shows_rows() -> None:
    meter = StepMeter(step(role("query"), headline=SCAN))
    meter.take(tick("query", (1, 0), (1, 0)))
    pulse = meter.take(tick("query", (0, 0), (0, 0)))
    assert pulse is not None
    assert (pulse.unit, pulse.rate, pulse.rate_so_far) == ("rows/s", 0.0, 500.0)


@pytest.mark.parametrize(
    ("headline", "text"),
    [
        (QPS, "160 queries/s in 10.0 s"),
        (SCAN, "5,000 rows/s in 10.0 s"),
        (Headline(metric="ips", role="insert", count="rows"), "70 rows/s in 10.0 s"),
        (Headline(metric="ips", role="x", count="rows", work=900), "90 rows/s in 10.0 s"),
        (None, "10.0 s"),
    ],
)
def test_a_step_that_is_over_says_the_rate_of_its_window(headline: Headline | None, text: str):
    """`totals` would have the warm-up, too."""
    counted = HeadlineWork(seconds=10.0, operations=100, rows=700, statements=1_600)
    found = StepDone(status="ok", window_ns=10_000_000_000, counted=counted)
    made = step(role("query"), headline=headline, programs=PROGRAMS, statements=STATEMENTS)
    assert summary(made, found) == text


def test_a_step_without_a_measured_second_says_its_length_alone() -> None:
    counted = HeadlineWork(seconds=0.0, operations=0, rows=0, statements=0)
    found = StepDone(status="ok", window_ns=4_000_000, counted=counted)
    assert summary(step(role("query"), headline=QPS), found) == "0.0 s"


def test_rates_counted_in_other_ways_agree_with_the_throughput() -> None:
    rates = {"control_ps": 2.0, "tps": 1.0, "rows_ps": 5.0}
    runs = [
        run("base", block, qps, metrics={"statements_ps": qps - 2, **rates})
        for block, qps in enumerate((12.0, 27.0), start=1)
    ]
    (step,) = concluded(runs, plan_of(("base",))).steps
    (table,) = show.tables(step, "a")
    assert step.cells[0].value == pytest.approx(18.0)  # the geometric mean
    assert [cell.text for cell in table.rows[0].cells] == [
        *("base", "18.0", "15.8", "2.00", "1.00", "5.00")
    ]
