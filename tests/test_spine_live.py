"""The Insert Benchmark on real servers of two versions: statements, files, costs, rough ends."""

import csv
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import command
import own_lab
import report_parts
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.host import place, process
from dbdyno.host import program as binary
from dbdyno.model.ceiling import Ceiling
from dbdyno.report import page
from dbdyno.run import blocks
from dbdyno.store import BlockFolder, Results, StepFolder
from run_builder import owners
from serve_client import client
from server_place import ends
from wire_form import plain

pytestmark = pytest.mark.live

STEPS = ("l.i0", "l.x", "l.i1", "l.i2", "cleanup", "qr100", "qp100")
PLAN = """
name = "live"
base = "old"
{arms}
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
[[workloads]]
name = "insert-benchmark"
parameters = {{ clients = 2, rows = 20_000, rows_i1 = 4_000, rows_i2 = 300, rates = [100], \
seconds = {seconds}, wait_s = 1 }}
{steps}
"""
ARM = """
[arms.{name}]
base_dir = "{base_dir}"
config = "x10a"
memory = "256MB"
settings = {{ {settings} }}
"""


def text(
    data: Path, *, arms: int = 2, settings: str = "", seconds: int = 3, steps: str = ""
) -> str:
    chosen = zip(("old", "new"), (ends()[0], ends()[-1])[:arms], strict=False)
    written = "".join(
        ARM.format(name=name, base_dir=base_dir, settings=settings) for name, base_dir in chosen
    )
    return PLAN.format(arms=written, data=data, seconds=seconds, steps=steps)


@pytest.fixture
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-test-{os.getpid()}"
    yield folder
    assert not list(folder.glob("*/data")), "a data directory stayed behind"
    subprocess.run(["rm", "-rf", str(folder)], check=True)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """The results of one block on two versions, whose servers logged every statement."""
    data = Path("/var/tmp") / f"dyno-test-{os.getpid()}"
    written = text(data, settings='log_statement = "all"')
    parent = tmp_path_factory.mktemp("logged")
    outcome = blocks.run(plan.parse(written, None), parent, wait=True)
    assert outcome.failed == 0
    yield Results.open(outcome.folder)


def the_block(results: Results) -> BlockFolder:
    (block,) = results.blocks()
    return block


def steps_of(results: Results, arm: str) -> dict[str, StepFolder]:
    (run,) = [run for run in the_block(results).runs() if run.arm == arm]
    return {step.name: step for step in run.steps()}


def statements(results: Results, arm: str) -> list[str]:
    """What the server's log says was executed, in order, one line each."""
    log = the_block(results).path / arm / "log" / "postgres.log"
    entries = re.split(r"(?m)^\d+\.\d+ \[\d+\] ", log.read_text())
    found = [re.match(r"LOG:  (?:statement|execute [^:]*): (.*)", e, re.S) for e in entries]
    return [" ".join(match[1].split()) for match in found if match]


def inserted_at_a_pace(results: Results, arm: str) -> int:
    """The inserts of the steps that are paced, as the generator counts them, twelve at most."""
    steps = steps_of(results, arm)
    return sum(steps[name].done().totals["insert"].count or 0 for name in ("qr100", "qp100"))


@pytest.mark.capability("insert benchmark")
@pytest.mark.parametrize("arm", ["old", "new"])
def test_the_server_sees_the_published_statements(logged: Results, arm: str) -> None:
    seen = statements(logged, arm)
    time = r"'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d'"
    row = time + r",\d{1,3},\d{1,5},\d{1,4},\d{1,3}\.00,'[A-Za-z0-9+/]{10,20}'"
    columns = r"\(dateandtime,cashregisterid,customerid,productid,price,data\)"
    head = rf"INSERT INTO pi[12] {columns} VALUES \("
    inserts = [s for s in seen if s.startswith("INSERT")]
    lengths = set()
    for insert in inserts:
        start = re.match(head, insert)
        assert start is not None, insert[:200]
        rows = insert[start.end() : -1].split("),(")
        assert all(re.fullmatch(row, one) for one in rows), insert[:200]
        lengths.add(len(rows))
    assert lengths == {100, 50, 5}
    paced = inserted_at_a_pace(logged, arm)
    assert 0 < paced <= 2 * 2 * 6
    assert len(inserts) == 2 * (200 + 1 + 80 + 60) + paced

    deletes = [s for s in seen if s.startswith("DELETE")]
    form = (
        r"DELETE FROM (pi[12]) WHERE transactionid IN \(SELECT transactionid FROM \1 "
        r"WHERE transactionid >= \d+ ORDER BY transactionid ASC LIMIT (50|5)\)"
    )
    assert all(re.fullmatch(form, s) for s in deletes)
    assert len(deletes) == 2 * (80 + 60) + paced

    prepared = [s for s in seen if s.startswith("PREPARE")]
    assert any(
        re.search(r"\((int|integer)\) AS SELECT productid,customerid,price FROM pi1", s)
        for s in prepared
    )
    assert any(
        re.search(r"\((int,? ?){10}\)", s)
        and "transactionid IN ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)" in s.replace(", ", ",")
        for s in prepared
    )
    executed = [s for s in seen if s.startswith("EXECUTE")]
    assert any(re.fullmatch(r"EXECUTE \w+ ?\(\d+\)", s) for s in executed), "literals, one key"
    assert any(re.fullmatch(r"EXECUTE \w+ ?\(\d+(, ?\d+){9}\)", s) for s in executed), "ten keys"
    for column in ("min", "max"):
        assert f"SELECT {column}(transactionid) FROM pi2" in seen
    assert not any(s.startswith(("BEGIN", "COMMIT")) for s in seen if "pi" in s)
    assert sum(s.startswith("CREATE INDEX pi") for s in seen) == 6
    assert sum(s.startswith("VACUUM") for s in seen) == 2
    assert seen.count("CHECKPOINT") == 1


@pytest.mark.capability("insert benchmark")
@pytest.mark.parametrize("arm", ["old", "new"])
def test_every_step_ends_well_and_affects_the_rows_that_it_should(logged: Results, arm: str):
    steps = steps_of(logged, arm)
    assert tuple(steps) == STEPS
    for name, step in steps.items():
        assert step.failed() is None, name
        assert all(check.ok for check in step.done().checks), name
    state = steps["qp100"].after().tables
    assert {state[table]["n_tup_ins"] - state[table]["n_tup_del"] for table in ("pi1", "pi2")} == {
        20_000 + 100
    }


@pytest.mark.capability("costs")
def test_costs_have_their_owners(logged: Results) -> None:
    comparison = compare.load(logged)
    (step,) = [step for step in comparison.steps if step.step == "qr100"]
    for cell in step.cells:
        costs = owners(cell.runs[0])
        assert {"role:insert", "role:delete", "role:query", "generator", "lab"} <= set(costs)
        assert costs["role:query"].cpu_us > costs["role:insert"].cpu_us > 0
        assert cell.metrics["server_cpu_per_op"] > 0
        assert cell.metrics["wal_bytes_per_op"] > 0


def test_the_generator_is_small_and_lean(logged: Results) -> None:
    for arm in ("old", "new"):
        done = list(map(plain, steps_of(logged, arm)["qr100"].events()))[-1]
        assert done["event"] == "done"
        assert done["peak_rss_bytes"] < 50 << 20


def test_tables_are_explained_as_custom_and_generic_plan(logged: Results) -> None:
    plans = steps_of(logged, "new")["qr100"].before().explain
    assert {"insert", "delete", "market", "register", "pdc"} <= set(plans)
    assert "pi1_marketsegment" in plans["market"].custom


@pytest.mark.capability("serve")
def test_its_pages_are_served(logged: Results) -> None:
    asking = client(logged.folder.parent)
    assert 'href="/report/live"' in asking.get("/").text
    page = asking.get("/report/live").text
    assert "qr100" in page and "qp100" in page


@pytest.mark.capability("export")
def test_its_steps_are_exported_as_they_were_measured(logged: Results, tmp_path: Path) -> None:
    ended = command.dyno("export", logged.folder, "--to", f"{tmp_path}/", "--format", "csv")
    assert ended.returncode == 0, ended.stderr
    with (tmp_path / "steps.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows if row["arm"] == "old"] == list(STEPS)
    inserts = [row["step"] for row in rows if row["status"] == "ok"]
    assert len(inserts) == 2 * len(STEPS)


FAKE_ARM = """
[arms.fake]
engine = "fake"
fake = { default_us = 100 }
"""


def test_the_generators_ceiling_is_kept_by_each_command_that_measures(tmp_path: Path, data: Path):
    """Two blocks by two commands, of a server and the fake; a third command has nothing to do."""
    written = text(data, arms=1, steps='steps = ["l.i0"]') + FAKE_ARM
    folders = [
        blocks.run(plan.parse(f"{written}[schedule]\nblocks = {n}", None), tmp_path, wait=True)
        for n in (1, 2, 2)
    ]
    results = Results.open(folders[0].folder)
    lines = [json.loads(line) for line in (results.folder / "generator.jsonl").open()]
    assert len(lines) == 2
    assert lines[0]["mono_ns"] < lines[1]["mono_ns"]
    begun_ns = [block.begun_unix_ns for block in results.blocks()]
    assert lines[0]["unix_ns"] < begun_ns[0] < lines[1]["unix_ns"] < begun_ns[1]
    for line in lines:
        # two clients with one connection each are fewer than 8
        assert [load["connections"] for load in line["loads"]] == [1, 2, 8]
        assert all(load["operations"] > 0 for load in line["loads"])
    assert results.generator() == msgspec.convert(lines[-1], Ceiling)
    facts = report_parts.pairs(page.make(compare.load(results)), "facts")
    assert re.match(r"ceiling (≥ )?\d", facts["Load generator"])


def test_a_null_server_that_fails_ends_the_command_in_one_line_before_any_block(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "dyno-loadgen"
    script.write_text(
        f"#!/bin/sh\n[ \"$1\" != null ] || {{ echo 'no room' >&2; exit 3; }}\n"
        f'exec {binary.find("dyno-loadgen")} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("DYNO_LOADGEN", str(script))
    lab = Lab(tmp_path, text(data, arms=1, steps=SHORT))
    running = lab.start()
    _, said = running.communicate(timeout=60)
    assert running.returncode == 2
    assert [line for line in said.splitlines() if "ceiling" in line] == said.splitlines()[-1:]
    assert "status 3 before it listened: no room" in said
    assert not (lab.out / "live/blocks").exists()


class Lab:
    """A `dyno run` in a process of its own."""

    def __init__(self, folder: Path, written: str) -> None:
        self.file = folder / "live.toml"
        self.file.write_text(written)
        self.out = folder / "out"

    def start(self) -> subprocess.Popen[str]:
        command = own_lab.command("run", self.file, "--out", self.out, "--wait")
        return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def step(self, name: str) -> Path | None:
        found = list(self.out.glob(f"live/blocks/001/*/insert-benchmark/*-{name}/events.jsonl"))
        return found[0].parent if found else None

    def wait_for(self, name: str) -> Path:
        """Waits until the window of a step is open."""
        return eventually(lambda: self.opened(name), f"window of {name}")

    def opened(self, name: str) -> Path | None:
        folder = self.step(name)
        if folder and '"window_open"' in (folder / "events.jsonl").read_text():
            return folder
        return None


def eventually(look: Callable[[], Path | None], what: str, limit_s: float = 60.0) -> Path:
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        if (found := look()) is not None:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come within {limit_s:.0f} s")


SHORT = 'steps = ["l.i0", "qr100"]'


def children(pid: int, name: str) -> list[int]:
    """Processes called `name` below `pid`; only ones that this test's own lab started."""
    found = []
    for child in process.children(pid):
        program = process.program(child)
        if program is not None and program.name == name:
            found.append(child)
        found += children(child, name)
    return found


def test_killed_lab_leaves_nothing_behind_and_the_same_command_goes_on(tmp_path: Path, data: Path):
    lab = Lab(tmp_path, text(data, arms=1, steps=SHORT, seconds=3))
    first = lab.start()
    folder = lab.wait_for("qr100")
    (postmaster,) = children(first.pid, "postgres")[:1]
    first.kill()
    first.wait()
    assert process.start_ticks(postmaster) is not None, "the server outlives a kill -9"
    said = (folder / "events.jsonl").read_text()
    second = lab.start()
    assert second.wait(timeout=120) == 0, second.stderr.read()
    assert process.start_ticks(postmaster) is None
    results = Results.open(lab.out / "live")
    assert [block.state for block in results.blocks()] == ["void", "done"]
    kept = results.blocks()[0].path / folder.relative_to(lab.out / "live/blocks/001")
    assert (kept / "events.jsonl").read_text().startswith(said), "nothing measured is lost"


@pytest.mark.capability("failed servers")
def test_killed_postmaster_is_a_result_with_its_reason(tmp_path: Path, data: Path) -> None:
    lab = Lab(tmp_path, text(data, arms=1, steps=SHORT, seconds=3))
    running = lab.start()
    lab.wait_for("l.i0")
    os.kill(children(running.pid, "postgres")[0], signal.SIGKILL)
    assert running.wait(timeout=120) == 1
    (run,) = Results.open(lab.out / "live").blocks()[0].runs()
    steps = {step.name: step.failed() for step in run.steps()}
    assert steps["l.i0"].status == "failed"
    assert "signal 9" in steps["l.i0"].reason
    assert steps["qr100"].status == "skipped"


def test_killed_backend_is_told_as_a_crash_of_the_server(tmp_path: Path, data: Path) -> None:
    lab = Lab(tmp_path, text(data, arms=1, steps=SHORT, seconds=3))
    running = lab.start()
    folder = lab.wait_for("qr100")
    pid = re.search(r'"role":"query".*?"server_pid":(\d+)', (folder / "events.jsonl").read_text())
    os.kill(int(pid[1]), signal.SIGKILL)
    assert running.wait(timeout=120) == 1
    (run,) = Results.open(lab.out / "live").blocks()[0].runs()
    failed = {step.name: step.failed() for step in run.steps()}["qr100"]
    assert "crashed" in failed.reason
    assert any("signal 9" in line for line in failed.log_tail)


def test_ctrl_c_ends_in_order_with_status_130(tmp_path: Path, data: Path) -> None:
    lab = Lab(tmp_path, text(data, arms=1, steps=SHORT, seconds=10))
    running = lab.start()
    folder = lab.wait_for("qr100")
    (postmaster,) = children(running.pid, "postgres")[:1]
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=120) == 130
    assert "the same command goes on" in running.stderr.read()
    assert process.start_ticks(postmaster) is None
    assert '"done"' in (folder / "events.jsonl").read_text().splitlines()[-1]


def test_an_unreachable_server_and_a_full_disk_are_told_before_anything_starts(
    tmp_path: Path, data: Path
) -> None:
    for change, words in (
        (("rows = 20_000", "rows = 20_000_000_000"), "fewer rows"),
        (('memory = "256MB"', 'memory = "64TB"'), "memory"),
        (('config = "x10a"', 'config = "x10ä"'), "x10"),
    ):
        file = tmp_path / "live.toml"
        file.write_text(text(data, arms=1).replace(*change))
        command = own_lab.command("run", file, "--out", tmp_path / "out", "--wait")
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 2, words
        assert len(ended.stderr.splitlines()) == 1
        assert words in ended.stderr
        assert not (tmp_path / "out").exists()


def test_nothing_of_a_run_is_left_but_its_results(logged: Results) -> None:
    for arm in ("old", "new"):
        assert not (place.run_root() / arm).exists(), "its socket"
        facts = the_block(logged).path / arm / "server.json"
        assert not Path(json.loads(facts.read_text())["data_dir"]).exists(), "its data"
    assert not list((place.run_root() / "started").glob("*.json")), "its place in the register"
