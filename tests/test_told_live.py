"""A step that makes a table, and what steps tell by themselves, on real servers."""

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.model import StepRun, ToldFacts
from dbdyno.run import blocks
from doubted import doubted
from server_place import ends

pytestmark = pytest.mark.live

WORKLOAD = """
[tables.copied]
numbered = false
rows = 20_000
bytes_per_row = 40

[tables.never]
numbered = false

[[steps]]
name = "copy"
makes = ["copied"]
parts = [{ once = "CREATE TABLE copied AS SELECT n FROM generate_series(1, 20000) AS n" }]
[steps.headline]
metric = "mbps"
role = "create"
work = { query = "SELECT pg_table_size('copied')" }
[steps.metrics.pages]
query = "SELECT pg_relation_size('copied') / 8192"
unit = "pages"

[[steps]]
name = "vacuum"
headline = { metric = "seconds", role = "vacuum" }
[[steps.parts]]
once = "VACUUM VERBOSE copied"
[[steps.parts]]
once = "EXPLAIN (ANALYZE) SELECT max(n) FROM copied"
[steps.metrics]
dead = { pattern = '([0-9]+) are dead but', better = "less" }
none = { pattern = 'no such words ([0-9]+)' }
node = { pattern = '->  (\\w+ Scan)', text = true, of = "explain" }

[[steps]]
name = "forgets"
makes = ["never"]
parts = [{ once = "SELECT 1" }]
"""
PLAN = """
[arms.told]
base_dir = "{folder}"
[schedule]
blocks = 1
[schedule.void]
foreign = 1
[[workloads]]
name = "./told.toml"
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StepRun]:
    """Every step of the only run, by its name; done.json of the first lies beside them."""
    folder = tmp_path_factory.mktemp("told")
    (folder / "told.toml").write_text(WORKLOAD)
    path = folder / "plan.toml"
    text = PLAN.format(folder=ends()[-1])
    path.write_text(text)
    outcome = blocks.run(plan.parse(text, path), folder / "out", wait=True)
    found = compare.load(outcome.folder)
    return {step.step: step.cells[0].runs[0] for step in found.steps}


def test_a_table_that_a_step_made_is_there_for_its_work_and_later_steps(runs: dict[str, StepRun]):
    copy = runs["copy"]
    size = copy.of(ToldFacts).numbers["pages"]
    assert isinstance(size, float)
    assert 20_000 / 300 < size < 20_000 / 100
    seconds, mbps = copy.window.seconds, copy.metrics["mbps"]
    assert seconds is not None
    assert mbps is not None
    assert mbps * seconds == pytest.approx(size / 128, rel=0.5)  # with maps beside the pages


def test_a_step_in_seconds_has_its_window_as_its_result(runs: dict[str, StepRun]) -> None:
    vacuum = runs["vacuum"]
    assert vacuum.metrics["seconds"] == vacuum.window.seconds
    assert vacuum.metrics["mbps"] is None


def test_what_notices_and_rows_have_is_told(runs: dict[str, StepRun]) -> None:
    vacuum = {value.metric: value for value in runs["vacuum"].of(ToldFacts).told}
    assert (vacuum["dead"].value, vacuum["dead"].better) == (0, "less")
    assert vacuum["none"].value is None
    (warning,) = [line for line in doubted(runs["vacuum"]) if "`none`" in line]
    assert "captured nothing" in warning
    assert vacuum["node"].text == "Seq Scan"


def test_a_step_that_did_not_make_its_table_has_failed(runs: dict[str, StepRun]) -> None:
    assert runs["forgets"].ending.reason == (
        "no statement of the step created table `never`, which `makes` names"
    )
