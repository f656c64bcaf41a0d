"""Standbys of real servers: how they join, are read, fall behind, and end."""

from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.findings.over_time import show as over_time
from dbdyno.host import place
from dbdyno.model import Json
from dbdyno.model.error import PlanError
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run import blocks, in_window
from dbdyno.run.check import preflight
from dbdyno.store import BlockFolder, Results, StepFolder, read_structs
from server_place import ends

pytestmark = pytest.mark.live
ROWS = 20_000
PLAN = """
base = "alone"
[arms.alone]
base_dir = "{newest}"
[arms.followed]
base_dir = "{newest}"
standby = 1
[arms.joined]
base_dir = "{oldest}"
standby = 1
[[workloads]]
name = "ybio"
set = "replica"
[workloads.parameters]
tab_rows = {rows}
batch_size_setup = 2_000
clients = 2
pct_update = 50
run_seconds = 3
[schedule]
void = {{ foreign = 1.0 }}
[[hooks]]
when = "during-step"
steps = ["call-run"]
arms = ["joined"]
at_s = 1
standby = "join"
"""


def planned(folder: Path, more: str = "", **changes: str) -> Path:
    path = folder / "standby.toml"
    there = {"newest": ends()[-1], "oldest": ends()[0], "rows": ROWS} | changes
    path.write_text(PLAN.format(**there) + more)
    return path


def steps_of(folder: Path, arm: str) -> dict[str, StepFolder]:
    (block,) = Results.open(folder).blocks()
    assert isinstance(block, BlockFolder)
    (run,) = [one for one in block.runs() if one.path.name == arm]
    return {step.step().name: step for step in run.steps()}


def test_standbys_follow_from_the_start_or_from_a_moment_and_roles_read_them(tmp_path: Path):
    outcome = blocks.run(plan.load(planned(tmp_path)), tmp_path / "results", wait=True)
    assert outcome.failed == 0
    assert not list(place.data_root().glob("*~standby/data")), "nothing of a standby stays"
    assert list(steps_of(outcome.folder, "alone")) == ["call-setup", "call-run"]
    for arm in ("followed", "joined"):
        steps = steps_of(outcome.folder, arm)
        assert list(steps) == ["call-setup", "call-run", "read-first", "read-again"]
        job, done = steps["read-first"].job(), steps["read-first"].done()
        assert done is not None
        assert isinstance(job.server, Endpoint)
        assert job.endpoints["standby"].port != job.server.port
        assert done.totals["read"].rows == ROWS, "the standby has all rows"
        assert done.catch_up_s >= 0
        owners = list(steps["call-run"].host())[-1].owners
        assert (owners["standby:startup"].cpu_ns or 0) > 0, "who replays is no part of the server"
    lag = list(steps_of(outcome.folder, "followed")["call-run"].lag())
    assert lag, "each second is read"
    assert {reading.standby for reading in lag} == {"standby"}
    (joined,) = read_structs(
        steps_of(outcome.folder, "joined")["call-run"].path / "hooks.jsonl", Json
    )
    assert joined["at_s"] == 1
    assert joined["failure"] is None
    found = compare.load(Results.open(outcome.folder))
    by_name = {step.step: step for step in found.steps}
    shown = {cell.arm: cell for cell in by_name["read-first"].cells}
    assert all(run.ending.status == "ok" for cell in shown.values() for run in cell.runs)
    runs = {cell.arm: cell.runs for cell in by_name["call-run"].cells}
    assert runs["followed"][0].metrics["replay_lag_mb_max"] is not None
    assert runs["alone"][0].metrics["replay_lag_mb_max"] is None
    drawn = {chart.title for chart in over_time.charts(by_name["call-run"], "call-run")}
    assert {"Replay lag of the standby, seconds", "Replay lag of the standby, MB"} <= drawn


def test_a_standby_that_crashes_fails_the_step_of_its_arm_and_no_other(tmp_path: Path):
    crash = """
[[hooks]]
when = "during-step"
steps = ["call-run"]
arms = ["followed"]
at_s = 1
command = ["sh", "-c", "kill -9 $DYNO_STANDBY_PIDS"]
"""
    of = plan.load(planned(tmp_path, crash))
    outcome = blocks.run(of, tmp_path / "results", wait=True)
    failed = steps_of(outcome.folder, "followed")["call-run"].failed()
    assert failed is not None
    assert failed.reason.startswith("arm followed: standby ended with signal 9")
    after = steps_of(outcome.folder, "followed")["read-first"].failed()
    assert after is not None
    assert after.reason == "state unknown after call-run"
    for arm in ("alone", "joined"):
        assert all(step.done() is not None for step in steps_of(outcome.folder, arm).values())


@pytest.mark.soak
def test_a_standby_that_does_not_follow_is_a_result_of_its_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(in_window, "CATCH_UP_S_MAX", 0.5)
    stop = """
[[hooks]]
when = "during-step"
steps = ["call-run"]
arms = ["followed"]
at_s = 1
command = ["sh", "-c", "kill -STOP $(pgrep -P $DYNO_STANDBY_PIDS -f startup)"]
"""
    of = plan.load(planned(tmp_path, stop))
    outcome = blocks.run(of, tmp_path / "results", wait=True)
    failed = steps_of(outcome.folder, "followed")["call-run"].failed()
    assert failed is not None
    assert "bytes behind 0 s after the step: it does not follow this load" in failed.reason


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [("wal_level", '"minimal"', 'write "replica"'), ("max_wal_senders", "0", 'write "10"')],
)
def test_settings_that_rule_a_standby_out_are_one_line(
    tmp_path: Path, setting: str, value: str, says: str
):
    path = planned(tmp_path)
    text = path.read_text().replace("standby = 1", f"standby = 1\nsettings.{setting} = {value}", 1)
    path.write_text(text)
    with pytest.raises(PlanError) as error:
        preflight.prepare(plan.load(path))
    line = str(error.value)
    assert f"arms.followed.settings.{setting}: a standby cannot follow with" in line
    assert says in line
    assert "\n" not in line
