"""Blocks by a real Slurm cluster: on both nodes at once, and whatever of it dies on the way."""

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import read_steps
import slurm_cluster
from dbdyno import plan as plans
from dbdyno.analysis import compare
from dbdyno.model import Plan
from dbdyno.model.error import HostError, ResultError
from dbdyno.run import looks
from dbdyno.run.blocks import PlanOutcome
from dbdyno.run.runner import LocalRunner
from dbdyno.run.slurm import runner as by_slurm
from dbdyno.run.slurm.cluster import ClusterRequest
from dbdyno.run.slurm.runner import Patience, SlurmRunner
from dbdyno.run.slurm.spool import BegunFile, Spool
from dbdyno.store import Results
from server_place import ends, within
from slurm_cluster import TestCluster

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(slurm_cluster.missing() is not None, reason=str(slurm_cluster.missing())),
]
REST_S = 0.8
"""How long each block rests between its arms, as fakes take no time."""
TEST_S_MAX = 120
TIMES = Patience(poll_s=0.1, settle_s=1.0, patience_s=60)
FAKES = f"""
name = "fakes"
[arms.a]
engine = "fake"
fake = {{ service_us = {{ point = 200 }} }}
[arms.b]
engine = "fake"
fake = {{ service_us = {{ point = 300 }} }}
[[workloads]]
name = "./reads.toml"
[schedule]
blocks = 2
rest_s = {REST_S}
"""
SERVER = """
name = "server"
[arms.pg]
base_dir = "{build}"
config = "x10a"
memory = "256MB"
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
[[workloads]]
name = "sysbench"
parameters = {{ tables = 1, rows = 2_000, seconds = 1, warmup_s = 0 }}
steps = ["fill", "point-query"]
{save}
[schedule]
blocks = {blocks}
"""
SUBMITTER = """
import sys
sys.path[:0] = {paths!r}
from pathlib import Path
import test_slurm_live as tests
tests.run(tests.plans.load(Path({plan!r})), Path({out!r}), {command!r})
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[TestCluster]:
    """The cluster of this module; Slurm's commands speak to it."""
    with slurm_cluster.cluster() as its, pytest.MonkeyPatch.context() as patch:
        for name, value in its.environment.items():
            patch.setenv(name, value)
        yield its


@pytest.fixture(autouse=True)
def _limit() -> Iterator[None]:
    """No test waits for ever for a job that nobody starts."""

    def over(number: int, frame: object) -> None:
        raise TimeoutError(f"not over after {TEST_S_MAX} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(TEST_S_MAX)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def fakes(cluster: TestCluster, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A plan of two arms, and beside it what its check on a node has found."""
    folder = tmp_path_factory.mktemp("fakes")
    (folder / "reads.toml").write_text(read_steps.text())
    (folder / "fakes.toml").write_text(FAKES)
    its = plans.load(folder / "fakes.toml")
    with slurm(cluster.command).opened(its, folder / "out", quiet=True):
        pass
    return its


@pytest.fixture
def out(fakes: Plan, tmp_path: Path) -> Path:
    """A folder for results, in which the plan was checked already."""
    assert fakes.path is not None
    checked = Spool.of(fakes.path.parent / "out", fakes).prepared
    spool = Spool.of(tmp_path, fakes)
    with spool.locked():
        shutil.copytree(checked, spool.prepared)
    return tmp_path


def slurm(command: tuple[str, ...], **asked: str) -> SlurmRunner:
    return SlurmRunner(ClusterRequest(**asked), command=command, times=TIMES)  # type: ignore[arg-type]


def run(plan: Plan, out: Path, command: tuple[str, ...], **asked: str) -> PlanOutcome:
    return looks.run(plan, out, compare.load, runner=slurm(command, **asked))


def measuring(plan: Plan, out: Path) -> int:
    """How many jobs have begun their block."""
    starts = [start for part in Spool.of(out, plan).parts() for start in part.starts()]
    return sum(
        results.block_state(start.part.index) == "broken"
        for start in starts
        if (results := start.results()) is not None
    )


def parts_begun(plan: Plan, out: Path) -> list[BegunFile]:
    """begun.json of the jobs that are on their runner."""
    return [begun for part in Spool.of(out, plan).parts() if (begun := part.begun()) is not None]


def assert_whole(plan: Plan, out: Path, cluster: TestCluster) -> Results:
    """Each block is done once, nothing runs, no data lie about, the verdict is the fakes' own."""
    results = Results.open(out / plan.name)
    done = [block.number for block in results.blocks() if block.state == "done"]
    assert done == list(range(1, plan.schedule.blocks + 1))
    assert all(block.reason for block in results.blocks() if block.state == "void")
    # A job that is killed at its very beginning has not told the facts of its node yet.
    measured = {block.host for block in results.blocks() if block.state == "done"}
    assert measured <= results.hosts().keys()
    assert Spool.of(out, plan).parts() == []
    assert within(20, lambda: not cluster.ask("squeue", "-h")), cluster.ask("squeue")
    assert not list(cluster.folder.glob("n?/dyno-data-*")), "data stayed on a node"
    cells = [cell for step in compare.load(results).steps for cell in step.cells]
    assert {cell.verdict.word for cell in cells if cell.verdict is not None} == {"slower"}
    return results


def files(folder: Path) -> set[str]:
    """What a result folder has, beside what is derived, and what its nodes are."""
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return {name for name in names if not name.startswith(("derived/", "hosts/"))}


# --- Scheduling ---------------------------------------------------------------------------------


def test_both_nodes_measure_at_once_and_the_result_is_that_of_one_host(
    cluster: TestCluster, fakes: Plan, out: Path, tmp_path: Path
) -> None:
    outcome = run(fakes, out, cluster.command)
    assert (outcome.failed, outcome.voids) == (0, 0)
    results = assert_whole(fakes, out, cluster)
    assert {block.host for block in results.blocks()} == set(slurm_cluster.NODES)
    spans = sorted((b.begun_unix_ns, b.lasted_s() or 0) for b in results.blocks())
    assert spans[1][0] - spans[0][0] < spans[0][1] * 1e9, "one block after the other"
    alone = looks.run(
        fakes, tmp_path / "alone", compare.load, runner=LocalRunner(wait=True), quiet=True
    )
    assert files(results.folder) == files(alone.folder)
    orders = [
        [(block.order().order, block.order().seed) for block in its.blocks()]
        for its in (results, Results.open(alone.folder))
    ]
    assert orders[0] == orders[1]


def server_plan(folder: Path, data: Path, *, blocks: int, save: str = "") -> Plan:
    text = SERVER.format(build=ends()[-1], data=data, blocks=blocks, save=save)
    return plans.parse(text, folder / "server.toml")


def test_a_block_of_a_real_server_is_measured_on_a_node_and_leaves_nothing_there(
    cluster: TestCluster, tmp_path: Path
) -> None:
    data = cluster.folder / "data"
    outcome = run(server_plan(tmp_path, data, blocks=1), tmp_path, cluster.command, nodelist="n1")
    results = Results.open(outcome.folder)
    assert outcome.failed == 0
    (block,) = results.blocks()
    assert (block.state, block.host) == ("done", "n1")
    (lines,) = [(results.folder / "generator.jsonl").read_text().splitlines()]
    assert len(lines) == 1, "a node's generator is measured once"
    assert results.generator_of("n1") is not None
    assert not any((data / "n1").iterdir())


@pytest.mark.soak
def test_blocks_of_a_real_server_begin_from_the_golden_copy_of_their_node(
    cluster: TestCluster, tmp_path: Path
) -> None:
    data = cluster.folder / "golden"
    its = server_plan(tmp_path, data, blocks=2, save='save = "post-fill"')
    outcome = run(its, tmp_path, cluster.command, nodelist="n1")
    results = Results.open(outcome.folder)
    golden = [run.golden()["sysbench"] for block in results.blocks() for run in block.runs()]
    assert [use.began for use in golden] == [False, True]
    assert [path.name for path in (data / "n1").iterdir()] == ["golden"]


# --- Whatever dies ------------------------------------------------------------------------------


def kill_slurmd(cluster: TestCluster, plan: Plan, out: Path) -> None:
    """The daemon of a node goes; what it started goes on."""
    cluster.kill("slurmd.n1")
    time.sleep(0.5)
    cluster.start_node("n1")


def kill_controller(cluster: TestCluster, plan: Plan, out: Path) -> None:
    """Slurm's controller is gone for a second."""
    cluster.kill("slurmctld")
    time.sleep(1.0)
    cluster.start_controller()


def kill_job(cluster: TestCluster, plan: Plan, out: Path) -> None:
    """The lab of a job, if there is one."""
    for begun in parts_begun(plan, out)[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(begun.pid, signal.SIGKILL)


def fail_node(cluster: TestCluster, plan: Plan, out: Path) -> None:
    """A node that Slurm takes for dead."""
    cluster.ask("scontrol", "update", "nodename=n1", "state=down", "reason=test")


def kill_daemons(cluster: TestCluster, plan: Plan, out: Path) -> None:
    """Both daemons, one after the other."""
    kill_slurmd(cluster, plan, out)
    kill_controller(cluster, plan, out)


Kill = Callable[[TestCluster, Plan, Path], None]
KILLS: dict[str, Kill] = {
    "slurmd": kill_slurmd,
    "slurmctld": kill_controller,
    "a job": kill_job,
    "a node": fail_node,
}
RANDOM_MOMENTS = 10
SPAN_S = 5.0
"""About how long a plan of fakes is under runner."""
DRAWN = [
    pytest.param(kill, random.Random(f"{who} {moment}").uniform(0, SPAN_S), marks=pytest.mark.soak)
    for who, kill in KILLS.items()
    for moment in range(RANDOM_MOMENTS)
]
MOMENTS = [(kill_daemons, 2.0), (fail_node, 2.0), *DRAWN]


def survive(kill: Kill, after_s: float, cluster: TestCluster, plan: Plan, out: Path) -> None:
    """Runs the plan; something is killed so long after its first job was submitted."""
    failures: list[BaseException] = []

    def later() -> None:
        try:
            assert within(30, lambda: Spool.of(out, plan).submissions())
            time.sleep(after_s)
            kill(cluster, plan, out)
        except BaseException as error:
            failures.append(error)

    killer = threading.Thread(target=later)
    killer.start()
    try:
        with cluster.administered():
            outcome = run(plan, out, cluster.command)
        killed_later = killer.is_alive()
    finally:
        killer.join()
    assert not failures, failures
    if killed_later:  # the controller came back after dyno's end, and may have forgotten a job's
        assert within(20, cluster.cancel_all), cluster.logs()
    assert outcome.failed == 0
    assert_whole(plan, out, cluster)


@pytest.mark.parametrize(("kill", "after_s"), MOMENTS)
def test_a_plan_goes_on_whoever_is_killed(
    cluster: TestCluster, fakes: Plan, out: Path, kill: Kill, after_s: float
) -> None:
    survive(kill, after_s, cluster, fakes, out)


def submitter(cluster: TestCluster, plan: Plan, out: Path) -> subprocess.Popen[bytes]:
    """Another process that runs the plan."""
    tests = Path(__file__).parent
    code = SUBMITTER.format(
        paths=[str(tests), str(tests.parent)],
        plan=str(plan.path),
        out=str(out),
        command=cluster.command,
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)


def kill_submitter(after_s: float, cluster: TestCluster, plan: Plan, out: Path) -> None:
    """Kills the process that submits so long after its first submission; another one goes on."""
    with submitter(cluster, plan, out) as process:
        within(30, lambda: Spool.of(out, plan).submissions() or process.poll() is not None)
        time.sleep(after_s)
        process.kill()
    assert run(plan, out, cluster.command).failed == 0
    results = assert_whole(plan, out, cluster)
    assert not any(block.state == "void" for block in results.blocks())


@pytest.mark.parametrize(
    "after_s",
    [
        1.0,
        *(
            pytest.param(random.Random(moment).uniform(0, SPAN_S), marks=pytest.mark.soak)
            for moment in range(RANDOM_MOMENTS)
        ),
    ],
)
def test_the_same_command_goes_on_whenever_the_one_that_submitted_was_killed(
    cluster: TestCluster, fakes: Plan, out: Path, after_s: float
) -> None:
    kill_submitter(after_s, cluster, fakes, out)


# --- Ended by somebody --------------------------------------------------------------------------


@pytest.mark.soak
def test_jobs_that_were_cancelled_are_void_and_the_same_command_submits_them_again(
    cluster: TestCluster, fakes: Plan, out: Path
) -> None:
    with submitter(cluster, fakes, out) as process:
        assert within(30, lambda: measuring(fakes, out) == 2)
        process.send_signal(signal.SIGTERM)
        process.wait()
    assert by_slurm.cancel(fakes, out) == 2
    outcome = run(fakes, out, cluster.command)
    assert outcome.failed == 0
    results = assert_whole(fakes, out, cluster)
    reasons = [block.reason for block in results.blocks() if block.state == "void"]
    assert len(reasons) == 2 and all("was cancelled" in str(reason) for reason in reasons)


# --- Bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"partition": "none"}, "--partition: there is no `none`; there are bench, empty, off"),
        ({"partition": "empty"}, "--partition: `empty` has no nodes"),
        ({"partition": "off"}, "--partition: `off` is down"),
        ({"nodelist": "n[1-3]"}, "--nodelist: partition `bench` has no node `n3`; it has n1, n2"),
        ({"options": {"time": "soon"}}, "Slurm does not take the jobs: Invalid --time"),
    ],
    ids=["unknown", "empty", "down", "node", "option"],
)
def test_a_part_of_the_cluster_that_is_not_there_is_one_line(
    cluster: TestCluster, fakes: Plan, tmp_path: Path, asked: dict[str, str], said: str
) -> None:
    with pytest.raises(HostError) as found:
        run(fakes, tmp_path, cluster.command, **asked)
    assert said in str(found.value) and "\n" not in str(found.value)
    assert not (tmp_path / fakes.name).exists()


def test_a_controller_that_does_not_answer_is_one_line(
    cluster: TestCluster, fakes: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (cluster.folder / "slurm.conf").read_text()
    port = slurm_cluster.free_ports(1)[0]
    other = tmp_path / "slurm.conf"
    other.write_text(re.sub(r"SlurmctldPort=\d+", f"SlurmctldPort={port}", text))
    monkeypatch.setenv("SLURM_CONF", str(other))
    with pytest.raises(HostError, match="--slurm: Slurm's controller does not answer"):
        run(fakes, tmp_path, cluster.command)


def test_a_host_without_slurm_is_one_line(
    fakes: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="--slurm: there is no `sbatch` here"):
        run(fakes, tmp_path, ("true",))


def test_a_job_that_cannot_start_says_what_its_log_says(
    cluster: TestCluster, fakes: Plan, out: Path
) -> None:
    with pytest.raises(HostError, match="no-python: not found") as refused:
        run(fakes, out, ("/no-python",))
    assert {"block 1", "block 2"} <= {part.split(":")[0] for part in str(refused.value).split("; ")}


def test_blocks_of_one_host_are_not_pooled_with_those_of_nodes(
    cluster: TestCluster, fakes: Plan, out: Path
) -> None:
    alone = replace(fakes, schedule=replace(fakes.schedule, rest_s=0))
    looks.run(alone, out, compare.load, runner=LocalRunner(wait=True), quiet=True)
    with pytest.raises(ResultError, match="block 1 was not measured by Slurm"):
        run(alone, out, cluster.command)
