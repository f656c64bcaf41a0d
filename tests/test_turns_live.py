"""Arms in turns on real servers of several versions: turns, state, rough ends."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from itertools import cycle, pairwise
from pathlib import Path
from typing import Self

import pytest

import by_hand
import own_lab
import read_steps
import report_parts
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.host import process
from dbdyno.model.host_reading import HostReading
from dbdyno.model.step_files import Turns
from dbdyno.plan import schedule
from dbdyno.report import page
from dbdyno.run import blocks
from dbdyno.run.check import preflight
from dbdyno.store import Results, StepFolder
from run_builder import owners
from server_place import ends
from test_spine_live import children, eventually
from wire_form import plain

pytestmark = pytest.mark.live

PLAN = """
name = "turns"
{arms}
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
[[workloads]]
name = "./reads.toml"
parameters = {{ seconds = {seconds}, warmup_s = 0.7 }}
steps = {steps}
{use}
[schedule]
blocks = {blocks}
interleave = "turn"
turn_s = {turn_s}
{schedule}
"""
ARM = """
[arms.{name}]
base_dir = "{base_dir}"
settings = {{ log_connections = "on", log_statement = "ddl" }}
"""
SHORT = ["fill", "three"]
LAB_S_MAX = 300.0
"""A lab's end; a machine that runs other tests is slow."""


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-turns-{os.getpid()}"
    yield folder
    assert not list(folder.glob("*/data")), "a data directory stayed behind"
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def written(folder: Path, data: Path, *, count: int = 2, **changes: object) -> Path:
    """A plan of so many builds that are here, the newest, in turns."""
    values: dict[str, object] = {
        "arms": "".join(
            ARM.format(name=f"v{number}", base_dir=path)
            for number, path in zip(range(count), cycle([ends()[-1], ends()[0]]), strict=False)
        ),
        "data": data,
        "seconds": 2,
        "steps": json.dumps(["fill", "two", "three"]),
        "use": "",
        "blocks": 1,
        "turn_s": 0.5,
        "schedule": "",
    }
    (folder / "reads.toml").write_text(read_steps.text())
    file = folder / "turns.toml"
    file.write_text(PLAN.format(**values | changes))
    return file


def steps_of(results: Results, name: str, block: int = 0) -> dict[str, StepFolder]:
    runs = results.blocks()[block].runs()
    return {run.arm: step for run in runs for step in run.steps() if step.name == name}


def turns_of(step: StepFolder) -> list[tuple[int, int]]:
    """The times of an arm's turns in the window, by the generator's own events."""
    found = list[tuple[int, int]]()
    begun_ns: int | None = None
    for event in map(plain, step.events()):
        if event["event"] in ("started", "resumed"):
            begun_ns = event["mono_ns"]
        elif event["event"] in ("paused", "window_close") and begun_ns is not None:
            found.append((begun_ns, event["mono_ns"]))
            begun_ns = None
    return found


@pytest.mark.capability("turns")
def test_arms_take_turns_of_which_each_has_its_own_costs(tmp_path: Path, data: Path) -> None:
    of = plan.load(written(tmp_path, data, count=3, seconds=1.5, steps=json.dumps(SHORT)))
    outcome = blocks.run(of, tmp_path / "out", wait=True)
    assert outcome.failed == 0
    results = Results.open(outcome.folder)
    arms = [arm.name for arm in of.arms]
    (measured,) = [
        step
        for step in preflight.prepare(of).steps["./reads.toml"][arms[0]]
        if step.name == "three"
    ]
    steps = steps_of(results, "three")
    turns = {arm: turns_of(step) for arm, step in steps.items()}
    for index in range(min(map(len, turns.values()))):  # a busy machine's are longer, and fewer
        begun = sorted(arms, key=lambda arm: turns[arm][index])
        assert tuple(begun) == schedule.of_turn(of, 1, measured, index + 1)
    assert all(turns.values())
    all_turns = sorted(turn for own in turns.values() for turn in own)
    assert all(first[1] <= second[0] for first, second in pairwise(all_turns)), "one at a time"
    for arm, step in steps.items():
        assert_costs(step, step.done().turns)
        assert len(turns[arm]) == step.done().turns.turns
        assert step.done().window_ns == 1_500_000_000
        opened = connections(results, arm)
        first_ns, last_ns = all_turns[0][0], all_turns[-1][1]
        started = next(event for event in map(plain, step.events()) if event["event"] == "started")
        ahead_ns = started["unix_ns"] - started["mono_ns"]
        between = [at for at in opened if first_ns < at * 1e9 - ahead_ns < last_ns]
        assert len(opened) > 4, "it was asked before and after"
        assert between == [], "nobody asks a server anything between the first turn and the last"
    comparison = compare.load(outcome.folder)
    (compared,) = [step for step in comparison.steps if step.step == "three"]
    assert all(cell.ratio is not None and cell.ratio.blocks == 1 for cell in compared.cells[1:])
    words = " ".join(report_parts.texts(page.make(comparison), "introduction"))
    assert "in turns of 0.5 s" in words


def assert_costs(step: StepFolder, turns: Turns) -> None:
    """The arm's costs are the sums over its turns, worked out here from the raw lines."""
    every = [reading for reading in step.host() if reading.moment not in ("start", "end")]
    moments = [reading.moment for reading in every]
    assert moments[0] == "open" and moments[-1] == "close"
    assert moments[1:-1] == ["pause", "resume", "settled"] * ((len(moments) - 2) // 3)
    assert turns.turn_s == 0.5
    readings = [reading for reading in every if reading.moment != "resume"]
    pairs = list(zip(readings[::2], readings[1::2], strict=True))
    run = assemble.step_run(step)
    for owner in ("role:query", "generator", "lab"):
        spent = sum(cpu_ns(last, owner) - cpu_ns(first, owner) for first, last in pairs)
        assert owners(run)[owner].cpu_us == pytest.approx(spent / 1000)
    idle_ns = cpu_ns(readings[-1], "role:query") - cpu_ns(readings[0], "role:query")
    spent_us = owners(run)["role:query"].cpu_us
    assert spent_us < idle_ns / 1000, "what follows a resumption is left out"
    # The moments that the readings are of: on a busy host they are made later.
    at_ns = [reading.mono_ns - (reading.delay_ns or 0) for reading in readings]
    seconds = (sum(at_ns[1::2]) - sum(at_ns[::2])) / 1e9
    assert seconds == pytest.approx(run.window.seconds, rel=0.05)


def cpu_ns(reading: HostReading, owner: str) -> float:
    """The CPU time of an owner, which has to be known."""
    known = reading.owners[owner].cpu_ns
    assert known is not None
    return known


def connections(results: Results, arm: str) -> list[float]:
    """When the server let somebody in, seconds since 1970."""
    log = (results.blocks()[0].path / arm / "log" / "postgres.log").read_text()
    return [float(at) for at in re.findall(r"(?m)^(\d+\.\d+) \[\d+\] LOG:  connection auth", log)]


def test_copies_warm_up_and_checkpoints_go_with_turns(tmp_path: Path, data: Path) -> None:
    use = 'save = "post-fill"\nwarm = "prewarm"'
    file = written(
        tmp_path, data, use=use, blocks=2, schedule='checkpoint = "before-step"', turn_s=2,
        steps=json.dumps(["fill", "three", "four"]), seconds=3,
    )  # fmt: skip
    outcome = blocks.run(plan.load(file), tmp_path / "out", wait=True)
    assert outcome.failed == 0
    results = Results.open(outcome.folder)
    moments = set[str]()
    for block in (0, 1):
        for name, how in (("three", "prewarm"), ("four", None)):
            for step in steps_of(results, name, block).values():
                done = step.done()
                assert (done.warm.how if done.warm else None) == how
                assert done.checkpoint_s > 0
                moments |= {reading.moment for reading in step.host()}
                assert assemble.step_run(step).window.seconds == 3.0
    assert "second" in moments, "a busy host may not come to it in each long turn"
    assert {run.golden()["reads"].began for run in results.blocks()[1].runs()} == {True}
    assert steps_of(results, "fill", 1) == {}


INSERTS = """name = "insert-benchmark"
parameters = { rows = 20_000, rows_i1 = 100_000 }
"""


def test_steps_that_write_take_turns_from_copies(tmp_path: Path, data: Path) -> None:
    file = written(
        tmp_path, data, use='save = "post-l.x"', blocks=2,
        steps=json.dumps(["l.i0", "l.x", "l.i1"]),
        schedule='checkpoint = "before-step"\nwrites_in_turn = true',
    )  # fmt: skip
    text = re.sub(r'name = "\./reads.*\nparameters.*\n', INSERTS, file.read_text())
    file.write_text(text)
    outcome = blocks.run(plan.load(file), tmp_path / "out", wait=True)
    assert outcome.failed == 0
    results = Results.open(outcome.folder)
    for block in (0, 1):
        its = steps_of(results, "l.i1", block)
        turns = sorted(turn for step in its.values() for turn in turns_of(step))
        assert all(ended <= begun for (_, ended), (begun, _) in pairwise(turns))
        for step in its.values():
            done, run = step.done(), assemble.step_run(step)
            assert done.totals["insert"].rows == 100_000
            assert len(turns_of(step)) >= 3
            assert run.metrics["cpu_per_op"] > 0
            raw = by_hand.Raw(step.path)
            rows = by_hand.whole(raw, "insert", raw.amount(1, "insert"))
            assert run.metrics["ips"] == pytest.approx(rows / raw.window)
    assert steps_of(results, "l.x", 1) == {}


class Lab:
    """A `dyno run` in a process of its own."""

    def __init__(self, file: Path) -> None:
        self.out = file.parent / "out"
        command = own_lab.command("run", file, "--out", self.out, "--wait")
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def paused(self, name: str) -> dict[str, Path]:
        """Waits until all arms have had a turn in a step; their folders."""
        arms = 2

        def look() -> Path | None:
            files = list(self.out.glob(f"turns/blocks/001/*/reads/*-{name}/events.jsonl"))
            began = [file for file in files if '"paused"' in file.read_text()]
            return began[0] if len(began) == arms else None

        eventually(look, f"turns of {name}", LAB_S_MAX)
        folders = self.out.glob(f"turns/blocks/001/*/reads/*-{name}")
        return {folder.parent.parent.name: folder for folder in folders}

    def status(self) -> int:
        return self.process.wait(timeout=LAB_S_MAX)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it in order where the test did not come so far."""
        self.process.terminate()
        self.process.communicate()


def server_pid(folder: Path) -> int:
    """The process of the connection of a step."""
    found = re.search(r'"role":"query".*?"server_pid":(\d+)', (folder / "events.jsonl").read_text())
    assert found is not None
    return int(found[1])


def test_a_killed_server_has_failed_and_the_others_go_on(tmp_path: Path, data: Path) -> None:
    with Lab(written(tmp_path, data, seconds=3, steps=json.dumps(["fill", "one", "three"]))) as lab:
        folders = lab.paused("one")
        victim = sorted(folders)[-1]
        (postmaster,) = [
            pid for pid in children(lab.process.pid, "postgres") if server_pid(folders[victim])
            in process.children(pid)
        ]  # fmt: skip
        os.kill(postmaster, signal.SIGKILL)
        assert lab.status() == 1
        results = Results.open(lab.out / "turns")
        (block,) = results.blocks()
        assert block.state == "done"
        for arm in folders:
            failed = {name: steps_of(results, name)[arm].failed() for name in ("one", "three")}
            if arm != victim:
                assert failed == {"one": None, "three": None}
                assert assemble.step_run(steps_of(results, "one")[arm]).window.seconds == 3.0
                continue
            assert "signal 9" in failed["one"].reason
            assert failed["three"].status == "skipped"


def test_ctrl_c_in_a_turn_ends_in_order(tmp_path: Path, data: Path) -> None:
    steps = json.dumps(["fill", "three"])
    with Lab(written(tmp_path, data, seconds=60, steps=steps)) as lab:
        folders = lab.paused("three")
        pids = children(lab.process.pid, "postgres") + children(lab.process.pid, "dyno-loadgen")
        assert len(pids) > 2 * len(folders)
        lab.process.send_signal(signal.SIGINT)
        assert lab.process.wait(timeout=60) == 130
        assert "the same command goes on" in lab.process.stderr.read()
        assert [pid for pid in pids if process.start_ticks(pid) is not None] == []
        for folder in folders.values():
            assert '"done"' in (folder / "events.jsonl").read_text().splitlines()[-1]
