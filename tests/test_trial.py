"""The trial before the first block, and blocks that go on with the data of the one before."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import keeping_fake
from dbdyno import plan as plans
from dbdyno.model import Plan
from dbdyno.model.error import DynoError, WorkloadError
from dbdyno.run import blocks, trial
from dbdyno.run.check import block_time, preflight
from dbdyno.store import Results

PLAN = """
name = "tried"
[server]
data_dir = "DATA"
[arms.a]
engine = "fake"
fake = { default_us = 200ERRORS_A }
[arms.b]
engine = "fake"
fake = { default_us = 200ERRORS_B }
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query", "hot-points"]
save = "post-fill"
restart = true
parameters = { rows = 1000, seconds = 2, warmup_s = 0, pause_s = 0 }
[schedule]
blocks = 2
trial = true
"""
MISSING = ', errors = [{ statement = "point-query", every = 1, code = "42P01" }]'


@pytest.fixture(name="data")
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    keeping_fake.install(monkeypatch, tmp_path / "data", 0.0)
    return tmp_path / "data"


def made(data: Path, *, failing: str = "", more: str = "") -> Plan:
    """The plan; `failing`: the arms whose server has no table for a step."""
    text = PLAN.replace("DATA", str(data)) + more
    for arm in "ab":
        text = text.replace(f"ERRORS_{arm.upper()}", MISSING if arm in failing else "")
    return plans.parse(text, None)


def restarted(results: Results) -> Mapping[str, list[bool]]:
    """By arm whether its blocks went on with the data of the one before."""
    uses = [
        (run.name, json.loads(path.read_text())["restarted"])
        for path in sorted(results.folder.glob("blocks/*/*/*/golden.json"))
        for run in [path.parent.parent]
    ]
    return {arm: [again for name, again in uses if name == arm] for arm in ("a", "b")}


def test_a_trial_fills_and_every_block_goes_on_with_its_data(data: Path, tmp_path: Path) -> None:
    outcome = blocks.run(made(data), tmp_path, wait=True)
    results = Results.open(outcome.folder)
    assert restarted(results) == {"a": [True, True], "b": [True, True]}
    steps = {
        step.name for block in results.blocks() for run in block.runs() for step in run.steps()
    }
    assert steps == {"point-query", "hot-points"}, "the fill was in no block"


def test_without_a_trial_the_first_block_makes_the_data(data: Path, tmp_path: Path) -> None:
    of = made(data)
    of = replace(of, schedule=replace(of.schedule, trial=False))
    results = Results.open(blocks.run(of, tmp_path, wait=True).folder)
    assert restarted(results) == {"a": [False, True], "b": [False, True]}


def test_a_step_that_fails_on_all_arms_ends_the_plan_and_leaves_no_result(
    data: Path, tmp_path: Path
) -> None:
    with pytest.raises(WorkloadError) as error:
        blocks.run(made(data, failing="ab"), tmp_path, wait=True)
    said = str(error.value)
    assert "42P01" in said and "in step `point-query` on all arms: name a workload file" in said
    assert not (tmp_path / "tried").exists()


def test_a_step_that_fails_on_one_arm_is_a_result(data: Path, tmp_path: Path) -> None:
    outcome = blocks.run(made(data, failing="b"), tmp_path, wait=True)
    assert outcome.failed == 4, "two steps in two blocks, the second for the first"


def test_a_trial_is_short_and_leaves_out_what_needs_whole_amounts(data: Path) -> None:
    of = made(data)
    prepared = preflight.prepare(of)
    (use,) = of.workloads
    steps = prepared.steps[use.title]["a"]
    fill, *tried = trial.tried(steps, prepared.kept_through(use, "a"), timed=True)
    assert fill == steps[0] and [step.expected_s for step in tried] == [1.0, 1.0]
    loading = replace(use, save=None, restart=False)
    unsaved = replace(of, workloads=(loading,))
    assert not trial.can_be_tried(unsaved, loading, preflight.prepare(unsaved))


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("fills = 2", "blocks begin from copies where there are several fills"),
        ("", "step `update-index` writes, so a block cannot go on"),
    ],
)
def test_data_that_blocks_cannot_share_are_refused(data: Path, more: str, line: str) -> None:
    text = made(data).text
    if not more:
        text = text.replace('"point-query"', '"update-index"')
    with pytest.raises(DynoError, match=line):
        plans.parse(text + more, None)


def test_a_race_without_time_for_one_look_is_refused_in_a_line(data: Path) -> None:
    of = made(data)
    until = replace(of.schedule, blocks=30, until_decided=True, minutes_max=0.5)
    short = replace(of, schedule=until)
    with pytest.raises(DynoError, match=r"3 blocks .* at least \d minutes"):
        block_time.refuse_short(short, preflight.prepare(short))
    long = replace(of, schedule=replace(until, minutes_max=2.0))
    block_time.refuse_short(long, preflight.prepare(long))


def test_a_failure_of_all_arms_says_what_to_do() -> None:
    gone = 'mine.sql:3:1: the server answered: relation "c" does not exist (SQLSTATE 42P01)'
    assert trial.said(gone, "scripts").endswith(
        "in step `scripts` on all arms: name a workload file that makes the table "
        "(docs/workload.md), or servers that have it (--dsn)"
    )
    wrong = "mine.sql:1:1: the server answered: division by zero (SQLSTATE 22012)"
    assert trial.said(wrong, "scripts").endswith(
        "on all arms: mend the statement, or leave the step out"
    )
    down = "arm a: the server does not start: out of memory"
    assert trial.said(down, "scripts") == down


def test_a_statement_of_a_script_is_told_by_its_place(data: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.sql").write_text("SELECT 1;\n\nSELECT 2 FROM c;\n")
    text = made(data).text.replace(
        'steps = ["fill", "point-query", "hot-points"]\nsave = "post-fill"\nrestart = true\n', ""
    )
    text = text.replace('name = "sysbench"', 'pgbench = ["mine.sql"]')
    text = text.replace("rows = 1000, ", "").replace(", pause_s = 0", "")
    fails = 'default_us = 200, errors = [{ statement = "mine.sql:3", every = 1, code = "42P01" }]'
    text = text.replace("default_us = 200", fails)
    with pytest.raises(WorkloadError, match=r"^mine\.sql:3:1: the server answered: .*42P01"):
        blocks.run(plans.parse(text, tmp_path / "plan.toml"), tmp_path, wait=True)
