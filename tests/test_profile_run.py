"""The way of a plan with profiles: what is done when, where it lies, how long it takes.

The servers are fakes, which have no process: so every profile fails, and nothing else does.
"""

from pathlib import Path

import pytest

import read_steps
from dbdyno import plan
from dbdyno.analysis.step import assemble
from dbdyno.engine.fake import FakeServer
from dbdyno.host import perf
from dbdyno.host.perf import Perf
from dbdyno.model import Plan, Step
from dbdyno.model.error import HostError
from dbdyno.model.profile import NoProfile
from dbdyno.run import blocks, extra_run
from dbdyno.run.check import block_time, dry_run, preflight
from dbdyno.store import Results
from doubted import doubted
from workload_reader import job_of

PLAN = """
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
    return plan.parse(PLAN.replace(*change), folder / "plan.toml")


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
