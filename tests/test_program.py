"""A program as the load: what it tells comes out, and what it does not tell stays unknown."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

import python_script
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.findings.fairness.facts import FairnessFacts
from dbdyno.host import process
from dbdyno.host.program import of_user
from dbdyno.model import Comparison, Json, Plan, ResponseFacts, Step, StepRun
from dbdyno.model.error import DynoError, GeneratorError, PlanError, WorkloadError
from dbdyno.model.job import Job
from dbdyno.model.job.role import ClosedPace, Role
from dbdyno.run import blocks
from dbdyno.run.check import drivers, preflight
from dbdyno.run.driver import program
from dbdyno.run.driver.interface import GeneratorDied
from dbdyno.store import Results
from doubted import doubted
from server_place import within
from wire_form import plain

PLAN = """
name = "programs"
base = "old"

[arms.old]
engine = "fake"
fake = {{ server_cpu_us = {{ get = 40 }} }}
[arms.new]
engine = "fake"
fake = {{ server_cpu_us = {{ get = 42 }} }}

[[workloads]]
name = "./mine.toml"
{use}

[schedule]
blocks = {blocks}
{schedule}
"""
WORKLOAD = """
[[steps]]
name = "mine"
driver = "command"
command = ["./load"]
{step}
headline = {{ metric = "qps", role = "query", count = "operations" }}
roles.query = {{ {role} }}
"""
LOAD = """
import json, sys, time

begun_ns = time.monotonic_ns()
def say(event, **keys):
    print(json.dumps({{"event": event, **keys}}), flush=True)
{body}
"""
SECONDS = """
say("window_open", mono_ns=begun_ns)
for second in range(1, 131):
    get = {{"count": 1000, "rows": 3000, "retries": 0, "errors": {{}}, "max_us": None,
           "response": None}}
    get |= {get}
    say("tick", mono_ns=begun_ns + second * 10**9, tick=second, active_ns=10**9, measured=True,
        per_client=[{row}], operations={{"get": get}}, **{tick})
say("window_close", mono_ns=begun_ns + 130 * 10**9, active_ns=130 * 10**9)
"""
WHOLE = """
say("window_open", mono_ns=begun_ns)
get = {"count": 130000, "rows": 390000, "retries": 0, "max_us": None, "response": None}
say("tick", mono_ns=begun_ns + 130 * 10**9, active_ns=130 * 10**9, measured=True,
    per_client=[[130000, 390000, 0, None]], operations={"get": get})
say("window_close", mono_ns=begun_ns + 130 * 10**9, active_ns=130 * 10**9)
"""


def seconds(row: str = "[1000, 3000, 0, None]", get: str = "{}", tick: str = "{}") -> str:
    """A load of two minutes of its own clock, at once."""
    return SECONDS.format(row=row, get=get, tick=tick)


def written(
    folder: Path,
    body: str,
    *,
    step: str = "",
    role: str = "",
    blocks: int = 1,
    schedule: str = "",
    use: str = "",
    generator: str = "",
) -> Plan:
    """A plan of two fake arms whose load is a Python script."""
    load = folder / "load"
    python_script.write(load, LOAD.format(body=body))
    (folder / "mine.toml").write_text(WORKLOAD.format(step=step, role=role))
    path = folder / "plan.toml"
    path.write_text(PLAN.format(blocks=blocks, schedule=schedule, use=use) + generator)
    return plan.load(path)


def measured(of: Plan) -> tuple[Comparison, StepRun]:
    """The comparison, and the run of the base."""
    assert of.path is not None
    folder = blocks.run(of, of.path.parent / "out", wait=True).folder
    its = [run for run in Results.open(folder).blocks()[0].runs() if run.arm == "old"]
    return compare.load(folder), assemble.step_run(its[0].steps()[0])


@pytest.mark.long
def test_what_a_program_tells_comes_out_and_is_judged(tmp_path: Path) -> None:
    comparison, run = measured(written(tmp_path, seconds(), blocks=3, step="seconds = 130"))
    assert run.ending.status == "ok"
    assert run.window.seconds == 130.0
    assert run.window.shape == "flat"
    assert run.metrics["qps"] == 1000.0
    assert run.metrics["p50"] == 1000.0
    assert run.series["query.rate"].y == (1000.0,) * 130
    assert run.window.shape == "flat"
    (step,) = comparison.steps
    (cell,) = [one for one in step.cells if one.arm == "new"]
    assert cell.value == pytest.approx(1000.0)
    assert cell.verdict is not None
    assert [one.metric for one in cell.verdict.judgements] == ["qps", "connections_cpu_per_op"]
    assert cell.estimates["connections_cpu_per_op"].value == pytest.approx(1.05)


def test_its_job_and_its_events_are_those_of_the_contract(tmp_path: Path) -> None:
    of = written(tmp_path, seconds(), role="connections = 3")
    folder = blocks.run(of, tmp_path / "out", wait=True).folder
    step = Results.open(folder).blocks()[0].runs()[0].steps()[0]
    job = step.job()
    assert job is not None
    (role,) = job.roles
    assert (role.name, role.connections) == ("query", 3)
    assert job.environment["DYNO_CLIENTS"] == "3"
    assert (job.driver, job.command, job.report) == ("command", ("./load",), "events")
    found = list(map(plain, step.events()))
    names = [event["event"] for event in found]
    ends = ["window_close", "done"]
    assert names == ["hello", "ready", "started", "window_open", *["tick"] * 130, *ends]
    assert (found[0]["program"], found[0]["version"]) == ("load", job.version)
    assert found[-1]["totals"] == {
        "query": {"count": 130_000, "rows": 390_000, "errors": 0, "retries": 0}
    }


@pytest.mark.parametrize("place", [".", "below"])
def test_a_program_beside_the_plan_runs_from_whichever_folder_dyno_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    folder = tmp_path / place
    folder.mkdir(exist_ok=True)
    written(folder, seconds())
    monkeypatch.chdir(tmp_path)
    outcome = blocks.run(plan.load(Path(place) / "plan.toml"), Path("out"), wait=True)
    assert outcome.failed == 0


def test_a_path_of_a_user_s_program_begins_at_its_folder_and_a_name_is_one_of_path_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sh").write_text("#!/bin/sh\n")
    (tmp_path / "sh").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, Path()):
        assert of_user("./sh", folder) == tmp_path / "sh"
        assert of_user("sh", folder) not in (None, tmp_path / "sh")
        assert of_user("./none", folder) is None


UNTOLD = (
    *("response_p99_us", "service_p99_us", "maxop", "late_ms_max", "lag_us_p99", "queue_us_p99"),
    *("backlog_max", "jain", "finish_diff_s", "cpu_per_op", "server_cpu_per_op"),
    *("generator_cpu_per_op", "generator_share", "connection_us_per_op", "client_us_per_op"),
)


@pytest.mark.long
def test_what_a_program_does_not_tell_is_null_with_its_reason(tmp_path: Path) -> None:
    _, run = measured(written(tmp_path, seconds()))
    assert {name: run.metrics[name] for name in UNTOLD} == dict.fromkeys(UNTOLD)
    assert run.window.limited is None
    assert run.of(ResponseFacts) == ResponseFacts()
    assert not run.of(FairnessFacts).fairness
    assert "query.max_us" not in run.series
    limit, untold = doubted(run)
    assert limit.startswith("load generator's limit unknown: `load` does not report its lateness")
    assert untold == (
        "not reported: response times, which sessions are its own (CPU is of all connections) and "
        "what it costs itself by `load`; figures that need it are missing"
    )


def test_without_seconds_there_is_nothing_over_time_and_the_step_says_so(tmp_path: Path) -> None:
    _, run = measured(written(tmp_path, WHOLE, step="seconds = 130"))
    assert run.metrics["qps"] == 1000.0
    assert (run.metrics["p50"], run.metrics["stalled_s"], run.window.shape) == (None, None, None)
    assert not [name for name in run.series if name.startswith("query")]
    assert run.of(FairnessFacts).stalls == ()
    assert any(text.startswith("window without seconds: `load`") for text in doubted(run))


@pytest.mark.parametrize(
    ("told", "metric", "lost"),
    [
        ({"row": "[1000, None, 0, None]", "get": '{"rows": None}'}, "ips", "rows"),
        ({"get": '{"retries": None}'}, "retries", "retries"),
    ],
)
@pytest.mark.long
def test_rows_and_retries_that_are_not_told_are_not_counted_as_none(
    tmp_path: Path, told: dict[str, str], metric: str, lost: str
) -> None:
    of = written(tmp_path, seconds(**told), role='kind = "insert"')
    _, run = measured(of)
    assert run.metrics["qps"] == 1000.0
    assert run.metrics[metric] is None
    assert any(lost in text for text in doubted(run) if text.startswith("not reported"))


@pytest.mark.long
def test_lateness_that_is_told_says_that_the_load_was_not_at_its_limit(tmp_path: Path) -> None:
    tick = '{"late_us_max": 12, "backlog": 0}'
    _, run = measured(written(tmp_path, seconds(tick=tick)))
    assert run.window.limited == ()
    assert run.metrics["late_ms_max"] == 0.012
    assert run.metrics["lag_us_p99"] is None


def test_a_program_that_fails_is_a_result_with_its_own_words(tmp_path: Path) -> None:
    body = 'print("no such table", file=sys.stderr); sys.exit(3)'
    _, run = measured(written(tmp_path, body))
    assert run.ending.status == "failed"
    assert run.ending.reason == "`load` ended with status 3: no such table"


# --- What is refused before anything starts ---------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"command"\n', '"other"\n', "key `steps[1].driver`: must be 'loadgen', 'command'"),
        ('command = ["./load"]', "", 'key `steps[1].command`: missing: driver = "command" runs it'),
        ('driver = "command"\n', "", "key `steps[1].command`: goes with a program"),
        ("roles.query = {  }", "", "key `steps[1].roles`: a program has one role, not 0"),
        ("{  }", '{ run = "get" }', "key `steps[1].roles.query.run`: that is up to the program"),
        ('count = "operations"', 'count = "statements"', "key `steps[1].headline`: a program"),
        (
            'name = "mine"',
            'name = "mine"\nload = true',
            "key `steps[1].load`: only dyno-loadgen does that",
        ),
    ],
)
def test_a_workload_file_that_asks_a_program_for_what_it_cannot_is_refused_by_its_key(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    of = written(tmp_path, "")
    path = tmp_path / "mine.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(WorkloadError) as found:
        blocks.run(of, tmp_path / "out", wait=True)
    assert words in str(found.value)
    assert "mine.toml" in str(found.value)
    assert "\n" not in str(found.value)


def test_a_program_that_is_not_there_is_named_with_its_key(tmp_path: Path) -> None:
    of = written(tmp_path, "")
    (tmp_path / "load").unlink()
    with pytest.raises(PlanError, match=r"mine\.toml: step `mine`: key `command`: there is no"):
        blocks.run(of, tmp_path / "out", wait=True)


def test_turns_are_refused_as_a_program_cannot_pause(tmp_path: Path) -> None:
    step = steps_of(written(tmp_path, ""))
    with pytest.raises(PlanError, match=r'schedule\.interleave: "turn" pauses .* step `mine`'):
        drivers.refuse_unpausing([step])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"driver": "loadgen"}, "the driver is 'loadgen' for arm new and 'command' for arm old"),
        ({"command": ["./load", "-x"]}, "the command is ['./load', '-x'] for arm new"),
        ({"command": ["./other"]}, "the command is ['./other'] for arm new"),
    ],
)
def test_arms_whose_loads_differ_are_refused(tmp_path: Path, changed: Json, words: str) -> None:
    of = written(tmp_path, "")
    step = steps_of(of)
    other = replaced(step, **changed)
    with pytest.raises(PlanError) as found:
        drivers.refuse_unlike({"old": [step], "new": [other]})
    assert words in str(found.value)
    drivers.refuse_unlike({"old": [step], "new": [step]})


def test_another_version_of_the_program_is_another_load(tmp_path: Path) -> None:
    of = written(tmp_path, seconds())
    step = steps_of(of)
    before = program.ProgramDriver().version(step)
    written(tmp_path, seconds() + "\n# changed\n")
    assert program.ProgramDriver().version(step) != before
    (tmp_path / "there").mkdir()
    written(tmp_path / "there", seconds())
    elsewhere = replaced(step, workload=str(tmp_path / "there" / "mine.toml"))
    with pytest.raises(PlanError, match="the version of the program is"):
        drivers.refuse_unlike({"old": [step], "new": [elsewhere]})


def test_a_changed_program_is_not_added_to_a_result(tmp_path: Path) -> None:
    blocks.run(written(tmp_path, seconds()), tmp_path / "out", wait=True)
    changed = written(tmp_path, seconds() + "\n# changed\n", blocks=2)
    with pytest.raises(DynoError, match=r"`workloads\[0\]\.programs\.mine` is"):
        blocks.run(changed, tmp_path / "out", wait=True)


# --- Lines, and rough ends --------------------------------------------------------------------


def steps_of(of: Plan) -> Step:
    """The step of the plan's program."""
    (step,) = preflight.expand(of, of.workloads[0], of.arms[0], None, preflight.size(of, None))
    return step


def replaced(step: Step, **changed: Any) -> Step:
    """The step with other keys in its job."""
    return replace(step, job=structs.replace(step.job, **changed))


def job(folder: Path, script: str, limit_s: float = 20.0) -> Job:
    """A job whose program is this shell script."""
    return Job(
        clients=1, workload=str(folder / "mine.toml"), folder=str(folder), program="script",
        command=("sh", "-c", script), version="1", limit_s=limit_s, driver="command",
        roles=(Role(name="query", per="step", connections=1, pace=ClosedPace()),),
    )  # fmt: skip


def heard(
    of: Job, then: Callable[[program.ProgramRun, Json], None] = lambda run, event: None
) -> Json:
    """Runs a program to its last event, which is returned."""
    last: Json = {}
    with program.ProgramRun(of, lambda line: None, cpus=None) as run:
        for last in map(plain, run.events()):
            if last["event"] == "ready":
                run.go()
            then(run, last)
    return last


OPEN = """echo '{"event":"window_open"}'; """
CLOSE = """echo '{"event":"window_close","active_ns":1}'; """


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("SELECT 1", "is not an event; send other output to standard error"),
        ('{"event":"hullo"}', "is not an event"),
        ('{"event":"hello"}', "`hello` is written by dyno alone"),
        ('{"event":"window_open","more":1}', "has the key `more` of `window_open`"),
        ('{"event":"window_close","active_ns":1}', "no window is open"),
        ('{"event":"window_close","active_ns":-1}', "the key `active_ns`: expected `int` >= 0"),
        ('{"event":"connected","client":0,"connection":0}', "`server_pid` is missing"),
        ('{"event":"tick","active_ns":1,"measured":true,"per_client":[],"operations":{}}', "no w"),
        ('{"event":"tick","role":"b","active_ns":1,"measured":false,"per_client":[],'
         '"operations":{}}', "`role` is 'b', and the step has `query` only"),
    ],
)  # fmt: skip
def test_a_line_that_does_not_fit_the_contract_is_refused_with_what_is_wrong(
    tmp_path: Path, line: str, words: str
) -> None:
    with pytest.raises(GeneratorError) as found:
        heard(job(tmp_path, f"echo '{line}'; sleep 60"))
    assert "`script` wrote a line that does not fit contract/README.md: " in str(found.value)
    assert words in str(found.value)
    assert "\n" not in str(found.value)


def test_its_first_line_comes_after_go_and_its_input_ends_when_the_window_was_read(tmp_path: Path):
    went: list[str] = []

    def then(run: program.ProgramRun, event: Json) -> None:
        went.append(event["event"])
        if event["event"] == "window_close":
            run.stop()

    script = f"{OPEN}{CLOSE}cat > {tmp_path}/said; touch {tmp_path}/ended"
    last = heard(job(tmp_path, script), then)
    assert (last["event"], last["status"]) == ("done", "ok")
    assert (tmp_path / "ended").exists(), "it may close its connections in its own time"
    assert went[:4] == ["hello", "ready", "started", "window_open"]


def test_a_program_that_takes_too_long_is_ended_and_has_failed(tmp_path: Path) -> None:
    last = heard(job(tmp_path, f"{OPEN}sleep 60", limit_s=0.3))
    assert last["status"] == "failed"
    assert last["reason"] == "`script` did not end within 0.3 s; dyno ended it"


def test_one_that_ends_without_closing_the_window_has_failed(tmp_path: Path) -> None:
    last = heard(job(tmp_path, OPEN))
    assert last["reason"] == "`script` ended without the event `window_close`"


def test_one_that_somebody_kills_has_died_by_no_doing_of_the_arm(tmp_path: Path) -> None:
    with pytest.raises(GeneratorDied, match="`script` was killed by signal 9"):
        heard(job(tmp_path, f"{OPEN}kill -9 $$"))


def test_a_stop_ends_it_early_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    def then(run: program.ProgramRun, event: Json) -> None:
        if event["event"] == "window_open":
            run.stop()

    script = f"sleep 61 & echo $! > {tmp_path}/child; {OPEN}sleep 62"
    last = heard(job(tmp_path, script), then)
    assert last["status"] == "stopped"
    assert process.start_ticks(int((tmp_path / "child").read_text())) is None


def test_what_it_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    script = f"sleep 61 & echo $! > {tmp_path}/child; {OPEN}{CLOSE}"
    assert heard(job(tmp_path, script))["status"] == "ok"
    assert process.start_ticks(int((tmp_path / "child").read_text())) is None


KILLED = """
import msgspec, signal, sys
from dbdyno.model.job import Job
from dbdyno.run.driver import program
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
job = msgspec.json.decode(sys.argv[1], type=Job)
with program.ProgramRun(job, lambda line: None, cpus=None) as run:
    for event in run.events():
        if event.name == "ready":
            run.go()
        if event.name == "started":
            print("under way", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_of_it_outlives_a_dyno_that_is_ended(tmp_path: Path, how: signal.Signals) -> None:
    script = f"sleep 630 & echo $! $$ >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/pids; sleep 640"
    words = [sys.executable, "-c", KILLED, msgspec.json.encode(job(tmp_path, script)).decode()]
    dyno = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert dyno.stdout is not None
    assert dyno.stdout.readline() == b"under way\n"
    pids = tmp_path / "pids"
    assert within(60, pids.exists)
    os.kill(dyno.pid, how)
    dyno.wait()
    left = [int(word) for word in pids.read_text().split()]
    assert within(120, lambda: all(process.start_ticks(pid) is None for pid in left))
