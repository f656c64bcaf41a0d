"""Named operations as a headline, and what rolled back, from the events of a run to its report."""

import json
from collections.abc import Iterator

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.findings.outcomes.facts import OutcomeFacts
from dbdyno.model import Comparison, StepRun
from dbdyno.model.headlines import plural
from dbdyno.parts.part import charts
from dbdyno.report import json_document, page
from dbdyno.run import blocks
from dbdyno.store import Results
from run_builder import operation

WORKLOAD = """
[tables.t]
numbered = false
create = "CREATE TABLE t (a int)"

[statements]
put = "INSERT INTO t VALUES (1)"
get = "SELECT a FROM t"

[values]
spoiled = { uniform = [1, 4], per = "transaction" }

[transactions.order]
do = [
    "BEGIN", "put",
    { when = ":spoiled = 1", do = ["ROLLBACK", { end = "rolled_back" }] },
    "COMMIT",
]

[choices.mix]
order = { weight = 3, before_s = 0.05, after_s = { mean = 0.01, cap = 0.1 } }
get = 1

[[steps]]
name = "shop"
seconds = 60
creates = ["t"]
headline = { metric = "opm", role = "users", count = { operations = ["order"] } }
roles.users = { connections = 4, choose = "mix", choice = "deck" }
"""
PLAN = """
name = "shop"
base = "old"
[arms]
old = { engine = "fake", fake = { default_us = 4_000, jitter = 0.1 } }
new = { engine = "fake", fake = { default_us = 2_000, jitter = 0.1 } }
[[workloads]]
name = "./shop.toml"
[schedule]
blocks = 2
"""
CYCLE_S = (3 * 0.06 + 3 * 3 * 0.004 + 0.004) / 4
"""The mean of an operation, its think times included, on the slow arm: three statements or one."""


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.toml").write_text(WORKLOAD)
    (folder / "plan.toml").write_text(PLAN)
    ended = blocks.run(plan.load(folder / "plan.toml"), folder / "results", wait=True)
    yield compare.load(Results.open(ended.folder))


def slow(compared: Comparison) -> StepRun:
    (step,) = compared.steps
    return step.cells[0].runs[0]


def test_the_headline_is_what_completed_of_the_named_by_the_minute(compared: Comparison) -> None:
    run = slow(compared)
    by_name = {ended.name: ended for ended in run.of(OutcomeFacts).outcomes}
    order, get = by_name["order"], by_name["get"]
    assert (order.counted, get.counted) == (True, False)
    assert (order.failed, get.rolled_back) == (0, 0)
    # One of four cards looks; a quarter of 9,000 orders rolls back, by 4 standard deviations.
    whole = order.completed + order.rolled_back
    assert abs(whole - 3 * get.completed) <= 4 * 4
    assert abs(order.rolled_back / whole - 0.25) < 0.02
    assert run.metrics["rolled_back"] == order.rolled_back
    assert run.metrics["opm"] == pytest.approx(order.completed, rel=0.01)
    expected = 60 * 4 / CYCLE_S
    assert whole + get.completed == pytest.approx(expected, rel=0.02)


def test_think_times_are_no_part_of_response_times(compared: Comparison) -> None:
    run = slow(compared)
    assert operation(run, "order").max_us < 3 * 4_000 * 1.11
    mean_us = run.metrics["response_us_mean"]
    assert mean_us is not None
    assert 11_000 < mean_us < 13_000, "of orders alone, not of looks"


def test_a_report_says_what_its_throughput_counts(compared: Comparison) -> None:
    (chart,) = (each for each in charts(page.make(compared).parts) if "throughput" in each.name)
    assert chart.title == "Orders per minute"
    words = ("new_order", "delivery", "essay", "batch")
    assert [*map(plural, words)] == ["new orders", "deliveries", "essays", "batches"]


def test_verdicts_and_json_are_by_the_named(compared: Comparison) -> None:
    (step,) = compared.steps
    assert step.headline == "opm"
    verdict = step.cells[1].verdict
    assert verdict is not None
    judged = {judgement.metric: judgement for judgement in verdict.judgements}
    # Two milliseconds less of 60 + 12 for three statements each.
    assert judged["opm"].so_far.value == pytest.approx((0.18 + 0.04) / (0.18 + 0.02), rel=0.02)
    (written,) = json.loads(json_document.render(compared))["steps"]
    assert {row["name"] for row in written["tables"]["outcomes"] if row["arm"] == "old"} == {
        "order",
        "get",
    }
    assert written["arms"][0]["metrics"]["rolled_back"]["value"] > 0
