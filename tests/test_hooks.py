"""Hooks: commands and SQL between what is measured, and what becomes of one that fails."""

import os
import time
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.host import process
from dbdyno.model import Json, Plan
from dbdyno.model.error import PlanError
from dbdyno.run import blocks
from dbdyno.run import hooks as hook
from dbdyno.run.check import preflight
from dbdyno.store import BlockFolder, Results, read_structs

PLAN = """
arms.old = { engine = "fake", fake = { default_us = 100 } }
arms.new = { engine = "fake", fake = { default_us = 100 } }
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 2_000, rows_i1 = 1_000 }
steps = ["l.i0", "l.i1"]
"""
TELL = 'command = ["sh", "-c", "echo $DYNO_ARM $DYNO_BLOCK $DYNO_WORKLOAD $DYNO_STEP; pwd"]'


def hooked(folder: Path, *hooks: str) -> Plan:
    path = folder / "hooked.toml"
    path.write_text(PLAN + "".join(f"[[hooks]]\n{one}\n" for one in hooks))
    return plan.load(path)


def block_of(folder: Path) -> BlockFolder:
    (block,) = Results.open(folder).blocks()
    return block


def said(folder: Path) -> list[list[str]]:
    path = folder / "hooks.jsonl"
    return [one["said"].splitlines() for one in read_structs(path, Json)] if path.exists() else []


def test_a_hook_runs_at_its_moment_for_its_arms_and_steps_and_is_told_where_it_is(tmp_path: Path):
    of = hooked(
        tmp_path,
        f'when = "before-step"\nsteps = ["l.i1"]\narms = ["new"]\n{TELL}',
        f'when = "after-run"\n{TELL}',
    )
    outcome = blocks.run(of, tmp_path / "results", wait=True)
    assert outcome.failed == 0
    here = str(tmp_path)
    for run in block_of(outcome.folder).runs():
        name = run.path.name
        assert said(run.path) == [[f"{name} 1 insert-benchmark", here]]
        expected = [[f"{name} 1 insert-benchmark l.i1", here]] if name == "new" else []
        assert [said(step.path) for step in run.steps()] == [[], expected]


def test_a_hook_whose_program_is_not_there_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    hooked(tmp_path, 'when = "after-run"\ncommand = ["./save.sh"]')
    with pytest.raises(PlanError, match=r"hooks\[1\].command: there is no program `./save.sh`"):
        preflight.prepare(plan.load(Path("hooked.toml")))
    Path("save.sh").touch(0o755)
    preflight.prepare(plan.load(Path("hooked.toml")))


def test_a_step_whose_hook_fails_has_failed_with_the_commands_last_line(tmp_path: Path):
    broken = 'command = ["sh", "-c", "echo no room left; exit 3"]'
    of = hooked(tmp_path, f'when = "before-step"\nsteps = ["l.i1"]\narms = ["new"]\n{broken}')
    outcome = blocks.run(of, tmp_path / "results", wait=True)
    assert outcome.failed == 1
    reasons = [
        step.failed().reason
        for run in block_of(outcome.folder).runs()
        for step in run.steps()
        if step.failed() is not None
    ]
    assert reasons == ["hook before-step: `sh` ended with status 3: no room left"]


def test_what_a_hook_leaves_running_is_ended_and_said_and_holds_nobody_up(tmp_path: Path):
    left = tmp_path / "left"
    until_it_sleeps = "until grep -q sleep /proc/$!/comm; do :; done"
    leaves = (
        f'command = ["sh", "-c", "sleep 3600 & echo $! > {left}; {until_it_sleeps}; echo begun"]'
    )
    begun_s = time.monotonic()
    of = hooked(tmp_path, f'when = "before-run"\narms = ["new"]\n{leaves}')
    outcome = blocks.run(of, tmp_path / "results", wait=True)
    assert time.monotonic() - begun_s < 60
    assert outcome.failed == 0
    pid = int(left.read_text())
    assert process.start_ticks(pid) is None
    ((first, *rest),) = said(
        next(r.path for r in block_of(outcome.folder).runs() if r.arm == "new")
    )
    assert first == "begun"
    assert rest[-1] == f"it left running, and dyno ended: `sleep 3600` (process {pid})"


def test_a_hook_that_takes_too_long_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hook, "HOOK_S_MAX", 0.5)
    left = tmp_path / "left"
    failure, _ = hook.command(
        ("sh", "-c", f"sleep 3600 & echo $! > {left}; wait"), tmp_path, dict(os.environ)
    )
    assert failure == "`sh` did not end within 0 s"
    assert process.start_ticks(int(left.read_text())) is None


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ('when = "befor-run"\nsql = "x"', "not 'befor-run'; did you mean `before-run`?"),
        ('when = "before-run"', "hooks[1]`: needs one of `command`, `sql`"),
        ('when = "before-run"\ncommand = []', "hooks[1].command`: is empty"),
        ('when = "before-run"\nsql = "x"\narms = ["nwe"]', "hooks[1].arms`: no arm `nwe`"),
        ('when = "before-run"\nsql = "x"\nsteps = ["l.i0"]', "`before-run` belongs to no step"),
        ('when = "after-step"\nsql = "x"\nsteps = ["l.i9"]', "hooks[1].steps`: no step `l.i9`"),
    ],
)
def test_a_wrong_hook_gets_one_line(tmp_path: Path, written: str, sentence: str):
    with pytest.raises(PlanError) as caught:
        hooked(tmp_path, written)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
