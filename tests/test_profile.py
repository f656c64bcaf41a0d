"""Profiles of steps: the plan's key, what lies on disk, and what is read of it."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import read_steps
import result_builder
from dbdyno import plan
from dbdyno.analysis.step import assemble
from dbdyno.analysis.step.collect import StoredStep
from dbdyno.engine.fake import FakeServer
from dbdyno.host import perf
from dbdyno.host.perf import Perf
from dbdyno.model import Plan, ProfileRequest, Step
from dbdyno.model.error import HostError, PlanError, ResultError
from dbdyno.model.profile import NoProfile, ProfileFile, Stack
from dbdyno.run import blocks, extra_run
from dbdyno.run.check import block_time, dry_run, preflight
from dbdyno.run.check.plan_record import observe_json
from dbdyno.store import Results, StepFolder, profile
from doubted import doubted
from workload_reader import job_of

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


# The way of a plan with profiles: what is done when, where it lies, how long it takes.
# The servers are fakes, which have no process: so every profile fails, and nothing else does.


RUN_PLAN = """
name = "profiles"
[observe]
profile = { seconds = 2 }
[arms.a]
engine = "fake"
fake = { service_us = { point = 100 }, default_us = 100 }
[arms.b]
engine = "fake"
fake = { service_us = { point = 105 }, default_us = 100 }
[[workloads]]
name = "./reads.toml"
[schedule]
interleave = "run"
"""
NO_PROCESS = "the server has no process here that can be sampled"


def made(folder: Path, change: tuple[str, str] = ("", ""), **writes: bool) -> Plan:
    (folder / "reads.toml").write_text(read_steps.text(**writes))
    return plan.parse(RUN_PLAN.replace(*change), folder / "plan.toml")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A perf, whatever the host has."""
    monkeypatch.setattr(
        perf, "find", lambda: Perf(program=Path("perf"), version="6", event="cycles", kernel=True)
    )


def walked(of: Plan, folder: Path) -> tuple[Results, list[str], list[str]]:
    """A plan's results, with the legs that were foreseen and those that came."""
    with blocks.opened(of, folder, quiet=True) as lab:
        missing = blocks.missing_blocks(of, lab.results)
        foreseen = [leg.step for leg in blocks.legs_of(lab, missing)]
        assert blocks.run_blocks(lab, missing).failed == 0
        return lab.results, foreseen, [leg.step for leg, _ in lab.watch.forecast.took]


ALONE = ["", "fill", "one", "one profile", "two", "three", "four", "four profile"]
AGAIN = ["", "fill profile", "one profile", "two profile", "three profile"]
AT_ONCE = ["one", "one", "one profile", "one profile"]


@pytest.mark.parametrize(
    ("how", "writes", "legs"),
    [
        ("run", {"three": True}, [*ALONE, *ALONE, *AGAIN, *AGAIN]),
        ("run", {}, [*ALONE[:6], "three profile", *ALONE[6:]] * 2),
        (
            "step",
            {},
            [*["", "fill"] * 2, "", *AT_ONCE, "two", "two"]
            + [leg.replace("one", name) for name in ("three", "four") for leg in AT_ONCE],
        ),
    ],
)
def test_all_that_is_done_is_foreseen(
    how: str, writes: dict[str, bool], legs: list[str], tmp_path: Path
) -> None:
    of = made(tmp_path, ('"run"', f'"{how}"'), **writes)
    _, foreseen, came = walked(of, tmp_path)
    assert came == foreseen == legs


@pytest.mark.long
def test_a_profile_lies_with_its_step_and_is_a_step_of_no_block(tmp_path: Path) -> None:
    results, _, _ = walked(made(tmp_path, three=True), tmp_path)
    (block,) = results.blocks()
    for run in block.runs():
        steps = {step.name: step for step in run.steps()}
        assert list(steps) == ["fill", "one", "two", "three", "four"]
        profiled = {name: step.profile() for name, step in steps.items()}
        assert [name for name, one in profiled.items() if one] == ["one", "three", "four"]
        for name, its in profiled.items():
            if its is not None:
                assert its.profiled() == NoProfile(NO_PROCESS)
                assert its.is_over() and its.stacks() == {}
                warnings = doubted(assemble.step_run(steps[name]))
                assert f"not profiled: {NO_PROCESS}" in warnings
        seconds = [steps[name].profile() for name in ("one", "three")]
        jobs = [its.job() for its in seconds if its is not None]
        # One goes on for the seconds of the wish; three is repeated as it was.
        assert [job.stop.seconds for job in jobs if job] == [2, 3]
        assert (run.path / "log" / "profile" / "server.json").is_file()


def test_a_perf_that_is_gone_fails_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = made(tmp_path, three=True)
    gone = HostError("`perf` is not installed")

    def find() -> Perf:
        raise gone

    with blocks.opened(of, tmp_path, quiet=True) as lab:
        monkeypatch.setattr(perf, "find", find)
        assert blocks.run_blocks(lab, blocks.missing_blocks(of, lab.results)).failed == 0
    (block,) = lab.results.blocks()
    assert block.state == "done"
    its = [step.profile() for step in block.runs()[0].steps()]
    assert [one.profiled() for one in its if one] == [NoProfile(str(gone))] * 3


def test_a_block_is_complete_before_a_profile_can_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(extra_run, "go", interrupted)
    with pytest.raises(KeyboardInterrupt):
        walked(made(tmp_path, three=True), tmp_path)
    (block,) = Results.open(tmp_path / "profiles").blocks()
    assert block.state == "done" and block.took() is not None


def test_after_a_server_that_dies_in_a_further_window_its_steps_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> str:
        monkeypatch.setattr(FakeServer, "failure", lambda _: "the server of arm a ended")
        return "not profiled"

    monkeypatch.setattr("dbdyno.run.profile.further", dies)
    outcome = blocks.run(made(tmp_path), tmp_path, wait=True)
    (block,) = Results.open(outcome.folder).blocks()
    reasons = {
        run.arm: [failure.reason if (failure := step.failed()) else "ok" for step in run.steps()]
        for run in block.runs()
    }
    skipped = ["state unknown after one profile"] * 3
    # The other one ends well: what a server has survived before a window is not the window's.
    assert sorted(reasons.values()) == sorted([["ok"] * 5, ["ok", "ok", *skipped]])
    assert (block.state, outcome.failed) == ("done", 3)


def steps_of(of: Plan) -> tuple[Step, ...]:
    return preflight.prepare(of).steps["./reads.toml"]["a"]


def test_an_extra_run_goes_to_the_last_wanted_step(tmp_path: Path) -> None:
    of = made(tmp_path, two=True, three=True)
    (part,) = extra_run.parts(of, steps_of(of), None)
    assert [step.name for step in part.steps] == ["fill", "one", "two", "three"]
    assert [step.name for step in part.wanted] == ["three"], "two is hidden"
    seconds = [
        job_of(extra_run.passed(of, part, step))["stop"].get("seconds") for step in part.steps[1:]
    ]
    assert seconds == [2, 3, 3], "one leaves what it found, so a short window leads on as well"
    only = made(tmp_path, ("seconds = 2", 'seconds = 2, steps = ["one", "four"]'), three=True)
    assert extra_run.parts(only, steps_of(only), None) == []


def test_the_time_of_profiles_is_said_before(tmp_path: Path) -> None:
    of = made(tmp_path, three=True)
    without = made(tmp_path, ("profile = { seconds = 2 }", ""), three=True)
    prepared = preflight.prepare(of)
    lines = list(dry_run.of_profiles(of, prepared))
    assert lines == [
        "profiles: each arm goes on for 2 s after one, four",
        "profiles: each arm repeats three in an extra run after the block",
    ]
    assert list(dry_run.of_profiles(without, prepared)) == []
    more = block_time.block_s(of, prepared, 1) - block_time.block_s(without, prepared, 1)
    # Of each arm two further windows, and a run with four steps of which one is short.
    assert more > 2 * (2 * 3 + 6 + 3 + 3 + 3)
