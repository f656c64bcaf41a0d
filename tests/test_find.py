"""The search of the highest rate: its arithmetic, what a plan may ask, and a fake's run."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.host import program
from dbdyno.judge.find import with_searches
from dbdyno.model import Comparison, Plan, StepRun
from dbdyno.model.error import PlanError
from dbdyno.model.find import METRIC, SearchWindow
from dbdyno.model.sweep import P99
from dbdyno.parts.part import flat
from dbdyno.parts.table import Table
from dbdyno.plan import schedule
from dbdyno.report import page
from dbdyno.run import blocks
from dbdyno.run.check import dry_run, preflight
from dbdyno.stats import find
from dbdyno.stats.find import PROBES_MAX, PROBES_USUAL, RESOLUTION, Probe
from dbdyno.store import Results
from run_builder import failed, run

PLAN = """
arms.old = { engine = "fake", fake = { default_us = 400, jitter = 0.2 } }
arms.new = { engine = "fake", fake = { default_us = 500, jitter = 0.2 } }
[[workloads]]
name = "pgbench"
steps = ["select-only"]
parameters = { clients = 2, seconds = 20 }
find = "p99 < 2ms"
[schedule]
blocks = 2
"""


def searched(closed_per_s: float, highest: float) -> list[Probe]:
    """The windows of a server that holds every rate up to the highest."""
    probes: list[Probe] = []
    while (per_s := find.next_rate(closed_per_s, probes)) is not None:
        probes.append(Probe(per_s, per_s <= highest))
    return probes


def made(change: tuple[str, str] = ("", "")) -> Plan:
    return plan.parse(PLAN.replace(*change), None)


def complaint(*change: str) -> str:
    old, new = change
    with pytest.raises(PlanError) as raised:
        made((old, new))
    line = str(raised.value)
    assert "\n" not in line
    return line


# --- Arithmetic --------------------------------------------------------------------------------


@given(st.floats(1, 1e6), st.floats(1 / 30, 1))
def test_a_search_finds_what_a_server_holds(closed_per_s: float, share: float) -> None:
    highest = share * closed_per_s
    probes = searched(closed_per_s, highest)
    found = find.highest(closed_per_s, probes)
    assert found is not None
    half = RESOLUTION**0.5 if len(probes) < PROBES_MAX else 2**0.25
    assert highest / half * 0.999 <= found <= highest * half * 1.001
    assert len(probes) <= PROBES_MAX
    assert all(one.per_s < closed_per_s for one in probes)
    if share > 0.5:
        assert len(probes) == PROBES_USUAL


def test_a_server_that_holds_no_rate_has_none() -> None:
    probes = searched(1000, 0.1)
    assert len(probes) == PROBES_MAX
    assert find.highest(1000, probes) is None


def test_each_window_lies_between_what_held_and_what_did_not() -> None:
    probes: list[Probe] = []
    for held in (True, False, True, False):
        per_s = find.next_rate(800, probes)
        assert per_s is not None
        low, high = find.between(800, probes)
        assert (low or 0) < per_s < high
        probes.append(Probe(per_s, held))
    assert probes[0].per_s == 400


# --- Plans -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "us"), [("p99<2ms", 2000), ("p99 < 500 us", 500), ("p99 < 0.5s", 500_000)]
)
def test_a_limit_has_a_unit(written: str, us: float) -> None:
    (use,) = made(("p99 < 2ms", written)).workloads
    assert use.p99_below_us == us


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("p99 < 2ms", "p95 < 2ms", "key `find`: cannot read 'p95 < 2ms'; write it as"),
        ("p99 < 2ms", "p99 < 0ms", "key `find`: cannot read 'p99 < 0ms'"),
        ("p99 < 2ms", "p99 < 3s", "the limit is more than a tenth of the 20 s of step `select-"),
        ("clients = 2", "clients = 2, rate = 100", "no step after a golden copy is measured for"),
        ("blocks = 2", 'blocks = 2\ninterleave = "step"', 'use interleave = "run"'),
    ],
)
def test_what_cannot_be_searched_is_refused(old: str, new: str, line: str) -> None:
    assert line in complaint(old, new)


def test_only_steps_that_do_what_they_can_are_searched_and_none_before_the_copy() -> None:
    of = made(("clients = 2", "clients = 2, rate = [0, 500]"))
    steps = preflight.prepare(of).steps["pgbench"]["old"]
    marked = {step.name: step.p99_below_us for step in steps}
    assert marked == {"fill": None, "select-only@rate=0": 2000, "select-only@rate=500": None}
    _, step, _ = steps
    assert schedule.searched(steps, "post-fill") == (step,)
    assert schedule.searched(steps, f"post-{step.name}") == ()
    assert step.expected_s == 20 * (1 + PROBES_USUAL)


def test_the_dry_run_says_what_is_searched() -> None:
    of = made()
    (line,) = [one for one in dry_run.describe(of, preflight.prepare(of)) if "select-only" in one]
    assert line.endswith("about 2 min 20 s, with the search of the highest rate")


# --- What is found of windows --------------------------------------------------------------------


def window(number: int, per_s: float, p99_us: float | None, block: int = 1) -> StepRun:
    """A window of a search under 1 ms, after a step that did 1,000 each second."""
    probed = SearchWindow(per_s=per_s, closed_per_s=1_000, p99_below_us=1_000)
    metrics = {} if p99_us is None else {P99: p99_us}
    return run("base", block, per_s, step=f"one.find-{number}", probed=probed, metrics=metrics)


def rate_of(*windows: StepRun) -> float | None:
    (one,) = with_searches([run("base", 1, 1_000), *windows])
    assert METRIC in one.metrics
    return one.metrics[METRIC]


def test_what_was_found_lies_between_what_held_and_what_did_not() -> None:
    windows = [window(1, 500, 300), window(2, 700, 999), window(3, 800, 1_000)]
    assert rate_of(*windows) == pytest.approx((700 * 800) ** 0.5)
    assert rate_of(*windows[:2]) == pytest.approx((700 * 1_000) ** 0.5)


def test_nothing_is_found_where_no_rate_held_or_a_window_failed() -> None:
    assert rate_of(window(1, 500, 2_000), window(2, 250, None)) is None
    assert rate_of(window(1, 500, 300), failed(window(2, 700, 300))) is None


def test_a_step_that_was_not_searched_has_no_such_metric() -> None:
    one, other = with_searches([run("base", 1, 5), run("base", 2, 5), window(1, 3, 1, block=2)])
    assert METRIC not in one.metrics
    assert other.metrics[METRIC] == pytest.approx((3 * 1_000) ** 0.5)


# --- A run -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of the plan."""
    program.find("dyno-loadgen")
    return blocks.run(made(), tmp_path_factory.mktemp("results"), wait=True).folder


@pytest.fixture(scope="module")
def found(folder: Path) -> Comparison:
    """What it came to."""
    return compare.load(folder)


def test_a_search_is_a_metric_of_its_step_by_block_and_its_windows_are_no_steps(found: Comparison):
    assert [step.step for step in found.steps] == ["fill", "select-only"]
    base, other = found.steps[1].cells
    for cell, each in ((base, 2_500), (other, 2_000)):
        rates = [run.metrics[METRIC] for run in cell.runs]
        assert len(rates) == 2
        for rate in rates:
            # Two connections: at 0.9 of what they can, one operation in some 100 waits for 2 ms.
            assert rate is not None and 0.55 < rate / (2 * each) < 0.95
    ratio = other.estimates[METRIC]
    assert ratio.blocks == 2
    assert 0.6 < ratio.value < 0.8  # the same limit is shorter beside operations of 500 µs


def test_the_windows_hold_below_what_was_found_and_not_above(folder: Path, found: Comparison):
    rates = {
        (run.arm, run.block): run.metrics[METRIC]
        for cell in found.steps[1].cells
        for run in cell.runs
    }
    windows = 0
    for block in Results.open(folder).blocks():
        for its in block.runs():
            for place in sorted((its.path / "pgbench").glob("*.find-*")):
                probed = json.loads((place / "step.json").read_text())["probed"]
                roles = json.loads((place / "job.json").read_text())["roles"]
                assert roles[0]["pace"] == {
                    "kind": "rate",
                    "arrivals": "poisson",
                    "per_s": probed["per_s"],
                }
                counted = json.loads((place / "done.json").read_text())["counted"]
                done_per_s = counted["operations"] / counted["seconds"]
                rate = rates[its.arm, block.number]
                assert rate is not None
                assert done_per_s == pytest.approx(probed["per_s"], rel=0.05)
                assert probed["per_s"] < probed["closed_per_s"]
                assert abs(probed["per_s"] / rate - 1) > 0.001
                windows += 1
    assert windows == 2 * 2 * PROBES_USUAL


def test_the_report_says_what_was_searched(found: Comparison) -> None:
    (table,) = [
        one
        for one in flat(page.make(found).parts)
        if isinstance(one, Table) and one.name.endswith("highest-rate")
    ]
    assert table.title == "Highest rate with p99 < 2.00 ms"
    assert [(row.group, row.cells[0].text) for row in table.rows] == [
        ("select-only", "old"),
        ("select-only", "new"),
    ]
    assert all("," in row.cells[1].text for row in table.rows)  # thousands
    assert table.rows[1].cells[2].text.startswith("0.")
