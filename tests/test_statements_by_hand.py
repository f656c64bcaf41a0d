"""Figures of statements computed again from the raw lines by hand: transactions, a scan, misses.

As in test_figures_by_hand, with a workload whose steps are those of sysbench in small.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

import by_hand
from by_hand import Raw
from dbdyno.analysis.step import assemble
from dbdyno.engine.postgres import build as fetch
from dbdyno.findings.statements.facts import StatementFacts
from dbdyno.model import Json, ResponseFacts, StepRun
from dbdyno.store import StepFolder
from doubted import doubted
from one_arm import ONE_LIVE_ARM
from run_builder import operation
from test_figures_by_hand import compare, move_counters, steps_of

WORKLOAD = """
[parameters]
clients = 3
rows = 100_000
seconds = 12

[groups]
read = "range queries"

[tables.t]
create.postgres = "CREATE TABLE {t} (id int PRIMARY KEY, k int, c text)"
bytes_per_row = 100

[tables.t.fill]
rows = "{rows}"
columns = { id = ":row", k = ":k", c = ":c" }

[values]
id = { uniform = [1, "{rows}"] }
k = { uniform = [1, "{rows}"] }
c = { pattern = "@@@@@@@@@@" }

[statements]
point = { protocol = "prepared", any = "SELECT c FROM {t} WHERE id = :id" }
update = { protocol = "prepared", any = "UPDATE {t} SET k = k + 1 WHERE id = :id" }
delete = { protocol = "prepared", any = "DELETE FROM {t} WHERE id = :id" }
scan = { rows = 0, any = "SELECT * FROM {t} WHERE length(c) < 0" }

[transactions.mixed]
do = ["BEGIN", { repeat = 4, do = ["point"] }, "update", "delete", "COMMIT"]

[[steps]]
name = "transactions"
seconds = "{seconds}"
warmup_s = 1
headline = { metric = "qps", role = "write", count = "statements" }
roles.write = { kind = "other", run = "mixed" }

[[steps]]
name = "scan"
group = "read"
seconds = "{seconds}"
warmup_s = 1
headline = { metric = "scan", role = "query", count = "operations", each = "{rows}" }
roles.query = { run = "scan" }

[[steps]]
name = "delete"
seconds = "{seconds}"
headline = { metric = "qps", role = "write", count = "operations" }
roles.write = { kind = "other", run = "delete" }
"""

FAKE = """
name = "statements"
[arms.fake]
engine = "fake"
[arms.fake.fake]
service_us = {{ BEGIN = 40, COMMIT = 300, point = 120, update = 200, delete = 150, \
scan = 1_900_000 }}
server_cpu_us = {{ point = 40, delete = 60 }}
jitter = 0.4
[[workloads]]
name = "{workload}"
"""

LIVE = (
    'name = "statements-live"'
    + ONE_LIVE_ARM
    + """
[[workloads]]
name = "{workload}"
parameters = {{ rows = 20_000, seconds = 3 }}
"""
)

STEPS = ("transactions", "scan", "delete")
UNTOLD = ("BEGIN", "COMMIT", "scan")
MISSED = {"delete": 0.4, "update": 0.004}
"""Of what the fake server, which finds all, is made to have missed."""


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StepFolder]:
    """The measured steps' folders, with misses and counters planted."""
    parent = tmp_path_factory.mktemp("statements")
    workload = parent / "small.toml"
    workload.write_text(WORKLOAD)
    found = steps_of(FAKE.format(workload=workload), parent)
    for name in STEPS:
        move_counters(found[name].path / "host.jsonl")
        rewrite(found[name].path / "events.jsonl", with_misses)
    return found


def rewrite(path: Path, edit: Callable[[Json], Json]) -> None:
    """Edits each line of a file of JSON lines."""
    lines = [edit(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def with_misses(event: Json) -> Json:
    """A tick whose statements found nothing as often as MISSED says, and had no rows of it."""
    for name, part in event.get("operations", {}).items() if event["event"] == "tick" else ():
        part["empty"] = round(part["count"] * MISSED.get(name, 0.0))
        part["rows"] -= part["empty"]
    return event


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, StepFolder]]:
    """The same steps on PostgreSQL, whose deletes miss by themselves: nothing is planted."""
    newest = max(fetch.installed(), key=lambda build: build.version_num)
    data = Path("/var/tmp") / f"dyno-statements-{os.getpid()}"
    parent = tmp_path_factory.mktemp("statements-live")
    workload = parent / "small.toml"
    workload.write_text(WORKLOAD)
    yield steps_of(LIVE.format(base_dir=newest.base_dir, data=data, workload=workload), parent)
    shutil.rmtree(data, ignore_errors=True)


def compare_statements(folder: StepFolder) -> StepRun:
    """Compares all figures of a step with those by hand; gives the derived step."""
    run, raw = compare(folder), Raw(folder.path)
    for ours, theirs in zip(
        run.of(StatementFacts).statements, by_hand.statements(raw), strict=True
    ):
        for name, value in theirs.items():
            close = pytest.approx(value) if isinstance(value, float) else value
            assert asdict(ours)[name] == close, (ours, name)
    expected = by_hand.apart(raw)
    assert {name: run.metrics[name] for name in expected} == pytest.approx(expected)
    assert run.metrics[run.facts.headline or ""] == pytest.approx(
        by_hand.operations_of(raw) / raw.window
    )
    return run


@pytest.mark.parametrize("step", STEPS)
def test_the_figures_of_statements_are_those_by_hand(steps: dict[str, StepFolder], step: str):
    compare_statements(steps[step])


def test_of_a_transaction_each_statement_is_told_and_begin_and_commit_apart(
    steps: dict[str, StepFolder],
) -> None:
    """Eight statements: four selects, an update, a delete, and two that do nothing."""
    run = assemble.step_run(steps["transactions"])
    found = {one.name: one for one in run.of(StatementFacts).statements}
    assert list(found) == ["BEGIN", "point", "update", "delete", "COMMIT"]
    kinds = [use.kind for use in found.values()]
    assert kinds == ["control", *["statement"] * 3, "control"]
    tps = run.metrics["tps"] or 0.0
    assert found["point"].per_s == pytest.approx(4 * tps, rel=0.01)
    assert run.metrics["qps"] == pytest.approx(8 * tps, rel=0.01)
    assert run.metrics["control_ps"] == pytest.approx(2 * tps, rel=0.01)
    assert run.metrics["p50"] == pytest.approx(8 * tps, rel=0.05)
    assert run.metrics["found_share"] == pytest.approx(100 * (6 - 0.404) / 6, rel=0.01)
    assert found["BEGIN"].found is None
    assert run.of(ResponseFacts).by_kind == {}, "a role of another kind"
    assert operation(run, "mixed").count == round(tps * (run.window.seconds or 0))


def test_a_scan_of_which_few_end_has_the_rate_of_their_times(steps: dict[str, StepFolder]) -> None:
    """1.9 s each, three clients: six and a part of a seventh of 100,000 rows each in 12 s."""
    run = assemble.step_run(steps["scan"])
    counted = 100_000 * (run.metrics["tps"] or 0.0)
    assert run.metrics["scan"] == pytest.approx(3 * 100_000 / 1.9, rel=0.1)
    assert run.metrics["scan"] == pytest.approx(counted)
    assert run.metrics["scan_krows_client"] == pytest.approx((run.metrics["scan"] or 0.0) / 3_000)
    assert run.metrics["p50"] is None
    assert run.facts.group == "range queries"
    assert run.metrics["found_share"] is None, "it is to find none"
    assert not [text for text in doubted(run) if "found no row" in text]


def test_deletes_that_find_six_in_ten_are_said_with_what_was_deleted(steps: dict[str, StepFolder]):
    run = assemble.step_run(steps["delete"])
    assert run.metrics["found_share"] == pytest.approx(60, abs=0.1)
    (warning,) = [text for text in doubted(run) if text.startswith("found no row")]
    qps, rows_ps = run.metrics["qps"] or 0.0, run.metrics["rows_ps"] or 0.0
    assert rows_ps == pytest.approx(0.6 * qps, rel=1e-3)
    assert "40.0 % of `delete`" in warning
    assert f"{qps:,.0f}/s really deleted {rows_ps:,.0f} rows/s" in warning


# --- PostgreSQL ------------------------------------------------------------------------------


@pytest.mark.live
@pytest.mark.parametrize("step", STEPS)
def test_the_figures_of_a_real_servers_statements_are_those_by_hand(
    live: dict[str, StepFolder], step: str
) -> None:
    run = compare_statements(live[step])
    assert all(
        (one.found is None) is (one.name in UNTOLD) for one in run.of(StatementFacts).statements
    )


@pytest.mark.live
def test_what_the_deletes_found_is_what_the_server_says_it_deleted(live: dict[str, StepFolder]):
    """With what was in flight at the window's end, one of each client: they are waited for."""
    folder = live["delete"]
    run, before, after = assemble.step_run(folder), folder.before(), folder.after()
    assert before is not None and after is not None
    deleted = after.tables["t1"]["n_tup_del"] - before.tables["t1"]["n_tup_del"]
    (delete,) = run.of(StatementFacts).statements
    assert delete.found is not None and delete.found < 0.99
    found = delete.found * delete.per_s * (run.window.seconds or 0.0)
    assert Raw(folder.path).amount(1, "write") == deleted
    assert 0 <= deleted - round(found) < 0.02 * deleted, "a part of the last lies behind its end"
    assert delete.rows_per_s == pytest.approx(delete.found * delete.per_s)
    assert [text for text in doubted(run) if text.startswith("found no row: ")]
