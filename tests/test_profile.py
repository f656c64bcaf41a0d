"""Profiles of steps: the plan's key, what lies on disk, and what is read of it."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import result_builder
from dbdyno import plan
from dbdyno.analysis.step import assemble
from dbdyno.analysis.step.collect import StoredStep
from dbdyno.model import Plan, ProfileRequest
from dbdyno.model.error import PlanError, ResultError
from dbdyno.model.profile import NoProfile, ProfileFile, Stack
from dbdyno.run.check.plan_record import observe_json
from dbdyno.store import Results, StepFolder, profile
from doubted import doubted

PLAN = """
[arms.a]
engine = "fake"
fake = { default_us = 100 }
[[workloads]]
name = "insert-benchmark"
"""
FACTS = msgspec.convert(
    {
        "event": "cpu-clock",
        "hertz": 99,
        "call_graph": "fp",
        "kernel": True,
        "samples": 7,
        "lost": 1,
        "perf": "6.1",
        "perf_cpu_us": 1_000.0,
        "seconds": 10.0,
        "binaries": [
            {"path": "/lib/libc.so.6", "build_id": None, "symbols": False, "samples": 2},
            {"path": "/pg/bin/postgres", "build_id": "ab", "symbols": True, "samples": 5},
        ],
        "counters": {"task-clock": 3.5, "page-faults": 1_000.0},
        "no_counters": "a virtual machine",
        "failure": None,
    },
    ProfileFile,
)
STACKS: dict[Stack, int] = {
    ("role:query", "main@postgres", "ExecScan@postgres"): 5,
    ("role:query", "main@postgres", "?@libc.so.6"): 2,
}


def parse(observe: str) -> Plan:
    return plan.parse(f"{PLAN}[observe]\n{observe}", Path("/plans/p.toml"))


def test_a_plan_asks_for_profiles() -> None:
    assert parse("").observe.profile is None
    assert parse("profile = {}").observe.profile == ProfileRequest(seconds=10, hertz=99, steps=None)
    written = 'waits = "50ms"\nprofile = { seconds = 2.5, hertz = 49, steps = ["qr100"] }'
    observe = parse(written).observe
    assert observe.profile == ProfileRequest(seconds=2.5, hertz=49, steps=("qr100",))
    assert observe.waits_s == 0.05
    assert observe.profile.wants("qr100") and not observe.profile.wants("qp100")


def test_a_plan_adds_subsystems() -> None:
    own = 'subsystems = { mine = ["@my.so", "my_"] }'
    made = parse(f"profile = {{}}\n{own}").observe
    assert made.subsystems == {"mine": ("@my.so", "my_")}
    assert observe_json(made)["subsystems"] == {"mine": ("@my.so", "my_")}
    assert "subsystems" not in observe_json(parse("profile = {}").observe)


@pytest.mark.parametrize(
    ("observe", "message"),
    [
        ('subsystems = { mine = ["my_"] }', "`observe.subsystems`: needs `profile`"),
        ("profile = {}\nsubsystems = { mine = [] }", "`observe.subsystems.mine`: needs a name and"),
        ('profile = {}\nsubsystems = { mine = ["@"] }', "`observe.subsystems.mine`: '@' begins"),
        ('profile = {}\nsubsystems = { mine = "my_" }', "`observe.subsystems.mine`: must be"),
    ],
)
def test_subsystems_that_say_nothing_are_refused(observe: str, message: str) -> None:
    with pytest.raises(PlanError, match=re.escape(message)):
        parse(observe)


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("profile = true", "key `observe.profile`: must be a table, not true"),
        (
            "profile = { herz = 9 }",
            "key `observe.profile.herz`: unknown key; did you mean `hertz`?",
        ),
        ("profile = { seconds = 0 }", "key `observe.profile.seconds`: must be from 1 to 600, not"),
        ("profile = { hertz = 9999 }", "key `observe.profile.hertz`: must be from 1 to 4,999, not"),
        ("profile = { steps = [] }", "key `observe.profile.steps`: is empty; name a step, or"),
        (
            'profile = { steps = ["qr10"] }',
            "key `observe.profile.steps`: no measured step `qr10`; did you mean `qr100`?",
        ),
        (
            'profile = { steps = ["cleanup"] }',
            "key `observe.profile.steps`: no measured step `cleanup`; there are",
        ),
    ],
)
def test_a_wrong_wish_gets_one_line(written: str, line: str) -> None:
    with pytest.raises(PlanError) as raised:
        parse(written)
    assert str(raised.value).startswith(f"/plans/p.toml: {line}")


def test_a_server_elsewhere_cannot_be_profiled() -> None:
    remote = PLAN.replace(
        'engine = "fake"\nfake = { default_us = 100 }', 'dsn = "postgresql://u@h:5432/d"'
    )
    with pytest.raises(PlanError, match="the processes of arm `a`, which has a `dsn`, cannot be"):
        plan.parse(f"{remote}[observe]\nprofile = {{}}", Path("/plans/p.toml"))


@pytest.fixture
def step(tmp_path: Path) -> StepFolder:
    """A step with a profile beside it: a repetition that was as fast."""
    built = result_builder.build(tmp_path, arms=("a",), blocks=1, steps=("qr100",))
    (its,) = Results.open(built).blocks()[0].runs()[0].steps()
    copied = shutil.copytree(its.path, tmp_path / "repetition")
    copied.rename(its.path / profile.FOLDER)
    profile.write(its.path / profile.FOLDER, FACTS, STACKS)
    return its


def test_what_was_sampled_is_read_again(step: StepFolder) -> None:
    its = step.profile()
    assert its is not None
    assert (its.profiled(), its.stacks()) == (FACTS, STACKS)
    assert step.profiled() is None and its.profile() is None
    assert its.place == f"{step.place}/profile"
    names = step.files().keys()
    assert {
        "done.json",
        "profile/done.json",
        "profile/stacks.gz",
    } <= names and "profile" not in names


def test_a_step_has_its_profile(step: StepFolder) -> None:
    run = assemble.step_run(step)
    assert run.profile is not None
    its = run.profile
    assert (its.samples, its.lost, its.hertz, its.stacks) == (7, 1, 99, STACKS)
    assert its.without_symbols == {"/lib/libc.so.6": 2}
    # Counted for half of the window of 20 s.
    assert its.counters == {"task-clock": 7.0, "page-faults": 2_000.0}
    assert its.operations is not None
    assert run.metrics["page_faults_per_op"] == pytest.approx(2_000.0 / its.operations)
    assert run.metrics["instructions_per_op"] is None
    assert its.no_counters == "a virtual machine"
    # The repetition is a copy of the step: as long, as much done, by as much CPU.
    assert (its.seconds, its.operations) == (run.window.seconds, run.window.counted)
    spent = run.metrics["whole_server_cpu_per_op"]
    assert spent is not None and its.cpu_us is not None and its.operations is not None
    assert its.cpu_us / its.operations == pytest.approx(spent)


def test_a_profile_is_kept_packed(step: StepFolder) -> None:
    kept = StoredStep.of(assemble.step_run(step))
    assert isinstance(kept.stacks, bytes)
    again = kept.step_run()
    assert again.profile is not None and again.profile.stacks == STACKS


def test_a_profile_that_failed_is_a_warning(step: StepFolder) -> None:
    profile.write(step.path / profile.FOLDER, NoProfile("perf ended"), {})
    run = assemble.step_run(step)
    assert run.ending.status == "ok" and run.profile is None
    assert doubted(run)[-1] == "not profiled: perf ended"
    assert profile.read_stacks(step.path / profile.FOLDER / "stacks.gz") == {}


@pytest.mark.parametrize("damage", [lambda it: it[:-20], lambda it: it[:10] + b"\xff" * 9])
def test_a_damaged_profile_is_left_out(step: StepFolder, damage: Callable[[bytes], bytes]) -> None:
    path = step.path / profile.FOLDER / "stacks.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ResultError, match=r"stacks\.gz: cannot be read"):
        profile.read_stacks(path)
    run = assemble.step_run(step)
    assert run.ending.status == "ok" and run.profile is None
    assert doubted(run)[-1].startswith("not profiled: profile/stacks.gz: cannot be read")
