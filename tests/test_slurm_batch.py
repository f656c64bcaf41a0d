"""Blocks by a cluster that a test plays: jobs run in this process, and end as the test says."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import read_steps
from dbdyno import plan as plans
from dbdyno.analysis import compare
from dbdyno.model import Plan
from dbdyno.model.error import HostError
from dbdyno.plan import schedule
from dbdyno.run import looks
from dbdyno.run.runner import LocalRunner
from dbdyno.run.slurm import job
from dbdyno.run.slurm.cluster import Cluster, ClusterRequest, JobState
from dbdyno.run.slurm.runner import Patience, SlurmRunner
from dbdyno.run.slurm.spool import BegunFile, Spool, Submission
from dbdyno.store import Results

TIMES = Patience(poll_s=0.0, settle_s=0.0, patience_s=0.0)
TEXT = """
name = "fakes"
arms.a = { engine = "fake", fake = { service_us = { point = 200 } } }
arms.b = { engine = "fake", fake = { service_us = { point = 300 } } }
[[workloads]]
name = "./reads.toml"
[schedule]
blocks = 3
"""
STEP = read_steps.STEP.replace("NAME", "one").replace("WRITES", "false") + read_steps.SHOWN


@dataclass
class Played:
    """A cluster of two nodes; `ends` says how the job of a block ends, at each of its starts."""

    ends: dict[int, list[str]] = field(default_factory=dict)  # else it is COMPLETED
    nodes: tuple[str, ...] = ("n1", "n2")
    known: dict[tuple[str, int], JobState] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)
    submitted: list[tuple[int, ...]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    holds: bool = False  # whether nothing starts before a job is cancelled

    def cluster(self, say: Callable[[str], None], **_: object) -> Cluster:
        return _Fake(self, say)

    def run(self, place: tuple[str, int], node: str) -> JobState:
        """Runs a job to its end."""
        name, index = place
        end = (self.ends.get(index) or ["COMPLETED"]).pop(0)
        if end in ("COMPLETED", "FAILED"):
            environment = {
                "SLURM_ARRAY_JOB_ID": name,
                "SLURM_ARRAY_TASK_ID": str(index),
                "SLURMD_NODENAME": node,
            }
            job.go(self.folders[name], environment)
        elif end != "CANCELLED":  # it began and was lost
            (part,) = [one for one in Submission(self.folders[name]).parts() if one.index == index]
            part.start().begin(BegunFile(node=node, job_id=f"{name}_{index}", pid=1))
        return JobState(job_id=f"{name}_{index}", state=end, node=node, why="")


class _Fake(Cluster):
    def __init__(self, played: Played, say: Callable[[str], None]) -> None:
        super().__init__(say)
        self.played = played

    def refuse_unfit(self, wish: ClusterRequest) -> tuple[str, ...]:
        return self.played.nodes

    def submit(
        self,
        script: Path,
        name: str,
        indices: Iterable[int],
        wish: ClusterRequest,
        lock: int | None = None,
        nodes: int = 1,
    ) -> None:
        its = tuple(indices)
        self.played.submitted.append(its)
        self.played.folders[name] = script.parent
        for index in its:
            self.played.known[name, index] = JobState(
                job_id=f"{name}_{index}", state="PENDING", node="", why="Resources"
            )

    def states(self, names: Iterable[str]) -> dict[tuple[str, int], JobState]:
        """At each look as many jobs have run as there are nodes."""
        played = self.played
        waiting = [place for place, state in played.known.items() if state.waits]
        for place, node in zip(waiting, played.nodes, strict=False):
            if not played.holds:
                played.known[place] = played.run(place, node)
        return {place: state for place, state in played.known.items() if place[0] in set(names)}

    def cancel(self, jobs: Iterable[str]) -> None:
        for place, state in self.played.known.items():
            if state.job_id in set(jobs) and not state.is_over:
                self.played.cancelled.append(f"{place[1]}")
                self.played.known[place] = replace(state, state="CANCELLED")
                self.played.holds = False


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    folder = tmp_path_factory.mktemp("played")
    (folder / "reads.toml").write_text(read_steps.HEAD + STEP)
    return plans.parse(TEXT, folder / "plan.toml")


@pytest.fixture(scope="module")
def checked(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a node has found about the plan."""
    folder = tmp_path_factory.mktemp("checked")
    with submitting(Played()).opened(plan, folder, quiet=True):
        return Spool.of(folder, plan).prepared


@pytest.fixture
def out(plan: Plan, checked: Path, tmp_path: Path) -> Path:
    """A folder for results, in which the plan was checked already."""
    spool = Spool.of(tmp_path, plan)
    with spool.locked():
        shutil.copytree(checked, spool.prepared)
    return tmp_path


def submitting(played: Played) -> SlurmRunner:
    return SlurmRunner(ClusterRequest(), times=TIMES, cluster=played.cluster)


def run(plan: Plan, out: Path, played: Played) -> Results:
    outcome = looks.run(plan, out, compare.load, runner=submitting(played), quiet=True)
    return Results.open(outcome.folder)


def orders(results: Results) -> list[tuple[object, ...]]:
    """What the blocks do that count."""
    return [
        (block.number, block.arms(), block.order().seed, block.steps())
        for block in results.blocks()
        if block.state == "done"
    ]


def void(results: Results) -> list[tuple[str, str | None]]:
    return [(str(one.reason), one.cause) for one in results.blocks() if one.state == "void"]


@pytest.mark.long
def test_a_plan_goes_from_look_to_look_as_on_one_host(plan: Plan, tmp_path: Path) -> None:
    text = TEXT.replace("blocks = 3", 'blocks = "until decided"\nminutes_max = 60')
    decided, played = plans.parse(text, plan.path), Played()
    by_slurm = run(decided, tmp_path / "slurm", played)
    alone = looks.run(
        decided, tmp_path / "here", compare.load, runner=LocalRunner(wait=True), quiet=True
    )
    assert orders(by_slurm) == orders(Results.open(alone.folder))
    assert played.submitted == [(0,), (1, 2, 3)], "up to the first look"
    assert by_slurm.looks() == Results.open(alone.folder).looks()


@pytest.mark.long
def test_a_plan_that_goes_on_with_more_blocks_submits_those_alone(plan: Plan, out: Path) -> None:
    played = Played()
    run(plan, out, played)
    run(plan, out, played)
    assert played.submitted == [(1, 2, 3)]
    run(replace(plan, schedule=replace(plan.schedule, blocks=4)), out, played)
    assert played.submitted[1:] == [(0,), (4,)], "a plan that has changed is checked again"


def test_a_node_that_fails_has_its_block_submitted_again(plan: Plan, out: Path) -> None:
    played = Played(ends={2: ["NODE_FAIL"]})
    results = run(plan, out, played)
    assert [one[0] for one in orders(results)] == [1, 2, 3]
    assert void(results) == [("node n2 failed", "node")]
    assert played.submitted == [(1, 2, 3), (2,)]


def test_nodes_that_fail_again_and_again_end_the_plan_in_one_line(plan: Plan, out: Path) -> None:
    played = Played(ends={2: ["NODE_FAIL"] * 9})
    with pytest.raises(HostError, match=r"^block 2: node n\d failed; run the same command"):
        run(plan, out, played)
    results = Results.open(out / plan.name)
    assert [one[0] for one in orders(results)] == [1, 3]
    assert len(void(results)) == plan.schedule.repeats_max + 1


def test_a_job_that_somebody_cancelled_waits_for_the_next_command(plan: Plan, out: Path) -> None:
    played = Played(ends={3: ["CANCELLED"]})
    with pytest.raises(HostError, match=r"block 3: job .*_3 was cancelled; run the same command"):
        run(plan, out, played)
    assert [one[0] for one in orders(run(plan, out, played))] == [1, 2, 3]
    assert played.submitted == [(1, 2, 3), (3,)]


def test_jobs_that_have_not_begun_are_ended_when_no_further_block_fits(plan: Plan, out: Path):
    played, fits = Played(nodes=("n1",)), iter([True, False])
    by = submitting(played)
    with by.opened(plan, out, quiet=True) as lab:
        blocks = [schedule.block(plan, number) for number in (1, 2, 3)]
        outcome = by.run_blocks(replace(lab, through=3), blocks, lambda: next(fits))
    assert [one[0] for one in orders(Results.open(outcome.folder))] == [1]
    assert played.cancelled == ["2", "3"]


def test_a_job_of_a_block_that_the_plan_has_changed_is_ended_and_submitted_again(
    plan: Plan, out: Path
) -> None:
    played = Played(holds=True)
    other = replace(schedule.block(plan, 2), order=("b",))
    by = submitting(played)
    with by.opened(plan, out, quiet=True) as lab:
        assert by._jobs is not None
        by._jobs.submit(plan, [other], results=str(lab.results.folder), through=3)
    by = submitting(played)
    with by.opened(plan, out, quiet=True) as lab:
        wanted = [schedule.block(plan, 2)]
        by.run_blocks(replace(lab, through=3), wanted, lambda: True)
    assert played.cancelled == ["2"]
    assert [one[1] for one in orders(lab.results)] == [wanted[0].order]
