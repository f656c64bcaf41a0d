"""Blocks by Slurm without a cluster: what its commands say, how jobs end, what they hand over."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

import result_builder
from dbdyno import __version__
from dbdyno import plan as plans
from dbdyno.cli.slurm import SlurmChoice, read_option
from dbdyno.model import Block, Plan
from dbdyno.model.error import DynoError, HostError, PlanError, ResultError
from dbdyno.model.host_facts import HostFacts
from dbdyno.run import runner as here
from dbdyno.run.slurm import batch, cluster, collect, job, runner
from dbdyno.run.slurm.cluster import ClusterRequest, JobState, Partition
from dbdyno.run.slurm.collect import JobEnding
from dbdyno.run.slurm.spool import BegunFile, EndedFile, Spool, SpoolJob, is_same
from dbdyno.store import Results, handover

BENCH = Partition(name="bench", nodes=("n1", "n2"), is_default=True, state="UP")
EMPTY = Partition(name="empty", nodes=(), is_default=False, state="UP")
DOWN = Partition(name="off", nodes=("n3",), is_default=False, state="DOWN")
TEXT = """
name = "fakes"
[hosts.db1]
ssh = "bench@db1"
[server]
data_dir = "/data"
[arms.a]
engine = "fake"
fake = { default_us = 100 }
[arms.b]
engine = "fake"
fake = { default_us = 90 }
[[workloads]]
name = "pgbench"
steps = ["simple-update"]
parameters = { clients = [1, 2], seconds = 0.1, scale = 1 }
"""


def a_plan(text: str = TEXT) -> Plan:
    return plans.parse(text, Path("fakes.toml"))


def state(name: str, node: str = "n1") -> JobState:
    return JobState(job_id="12_3", state=name, node=node, why="")


# --- What Slurm's commands say ------------------------------------------------------------------


def test_a_line_of_squeue_is_read_whatever_the_reason_says() -> None:
    read = cluster.read_state("dyno-fakes-1|12|3|PENDING||ReqNodeNotAvail, Unavailable|x")
    assert read is not None
    place, found = read
    assert place == ("dyno-fakes-1", 3)
    assert found == JobState(
        job_id="12_3", state="PENDING", node="", why="ReqNodeNotAvail, Unavailable|x"
    )
    assert found.waits and not found.is_over


def test_a_record_of_the_array_itself_is_no_job() -> None:
    assert cluster.read_state("dyno-fakes-1|12|N/A|CANCELLED||None") is None


@pytest.mark.parametrize("name", ["COMPLETED", "NODE_FAIL", "CANCELLED", "TIMEOUT", "PREEMPTED"])
def test_a_job_that_has_ended_is_over(name: str) -> None:
    assert state(name).is_over
    assert not state("COMPLETING").is_over


def test_the_partition_is_the_one_asked_for_or_the_default() -> None:
    there = [EMPTY, DOWN, BENCH]
    assert cluster.chosen(there, ClusterRequest()) == BENCH
    assert cluster.chosen(there, ClusterRequest(partition="bench")) == BENCH
    for name, said in (("empty", "has no nodes"), ("off", "is down"), ("x", "there is no `x`")):
        with pytest.raises(HostError, match=said):
            cluster.chosen(there, ClusterRequest(partition=name))
    with pytest.raises(HostError, match="the cluster has no default: name one of empty, off"):
        cluster.chosen([EMPTY, DOWN], ClusterRequest())


def test_the_last_word_of_a_command_is_told_without_its_name() -> None:
    def said(text: str) -> str:
        return cluster.last_line(subprocess.CompletedProcess(["/usr/bin/sbatch"], 1, "", text))

    assert said("sbatch: error: one\nsbatch: error: Invalid account\n") == "Invalid account"
    assert said('sbatch: unrecognized option\nTry "sbatch --help"\n') == "unrecognized option"
    assert said("") == "status 1"


# --- Options ------------------------------------------------------------------------------------


def choice(*, slurm: bool = True, dry_run: bool = False, **given: object) -> SlurmChoice:
    values: dict[str, object] = {"partition": None, "nodelist": None, "options": ()}
    return SlurmChoice(slurm, cancel=False, dry_run=dry_run, **(values | given))  # type: ignore[arg-type]


def test_options_of_sbatch_go_through_unless_dyno_gives_them_itself() -> None:
    assert read_option("time=4:00:00") == ("time", "4:00:00")
    assert read_option("--comment=a=b") == ("comment", "a=b")
    assert read_option("contiguous") == ("contiguous", None)
    for written, said in (("array=1", "dyno gives it itself"), ("partition=x", "say --partition")):
        with pytest.raises(DynoError, match=said):
            read_option(written)


def test_an_option_of_slurm_without_slurm_is_refused() -> None:
    assert choice(slurm=False).runner() is None
    assert choice(partition="bench").runner() is not None
    for given in ({"partition": "bench"}, {"nodelist": "n1"}, {"options": ("time=1",)}):
        with pytest.raises(DynoError, match="goes with --slurm alone"):
            choice(slurm=False, **given).runner()
    with pytest.raises(DynoError, match="--dry-run: looks at this host"):
        choice(dry_run=True).runner()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[arms.c]\nhost = "db1"\nversion = "17"\n', "arms.c.host: with --slurm"),
        ('[arms.c]\nengine = "postgres"\ndsn = "postgres://h/d"\n', "arms.c.dsn"),
    ],
)
def test_plans_that_blocks_at_once_would_not_mean_are_refused(more: str, said: str) -> None:
    runner.refuse_unfit(a_plan())
    with pytest.raises(PlanError, match=said):
        runner.refuse_unfit(a_plan(TEXT + more))


# --- The spool ----------------------------------------------------------------------------------


def test_a_plan_reaches_a_job_as_it_is_with_its_whole_path(tmp_path: Path) -> None:
    sent = Spool(tmp_path).submission(a_plan(), (), tmp_path).plan
    assert sent.path == Path("fakes.toml").absolute()
    assert is_same(sent, a_plan())


def blocks(*numbers: int) -> dict[int, Block]:
    return {number: Block(number=number, order=("a", "b"), seed=number) for number in numbers}


def listed(*numbers: int) -> list[Block]:
    return list(blocks(*numbers).values())


def test_a_submission_is_there_until_what_it_had_was_taken(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    made = spool.submission(a_plan(), listed(2, 3), Path("/out"))
    assert [part.index for part in spool.parts()] == [2, 3]
    assert spool.submissions()[0].blocks == blocks(2, 3)
    assert made.name != spool.submission(a_plan(), (), Path("/out")).name
    for part in spool.parts():
        part.log.write_text("said")
        part.close(keep_log=part.index == 3)
    spool.tidy()
    assert spool.parts() == []
    assert [path.name for path in tmp_path.glob("*/log.*")] == ["log.3"]


def test_only_one_process_follows_a_plan(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    with spool.locked(), pytest.raises(HostError, match="another `dyno` follows"), spool.locked():
        pass
    with spool.locked():
        pass


def test_a_spool_that_others_can_change_is_refused(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "of" / "a")
    with spool.locked():
        assert spool.folder.stat().st_mode & 0o777 == 0o700
    spool.folder.chmod(0o755)
    with pytest.raises(HostError, match=r"is open to others.*chmod 700"), spool.locked():
        pass


BEGUN = BegunFile(node="n1", job_id="12_3", pid=1)
WELL = EndedFile(dyno=__version__, node="n1")
INTERRUPTED = structs.replace(WELL, interrupted=True)


def a_part(folder: Path, *ends: EndedFile | None) -> SpoolJob:
    """A job that was started so often."""
    (part,) = Spool(folder).submission(a_plan(), listed(3), folder).parts()
    for end in ends:
        start = part.start()
        start.begin(BEGUN)
        if end is not None:
            start.end(end)
    return part


def test_a_job_that_was_started_twice_is_judged_by_the_start_that_went_well(tmp_path: Path) -> None:
    def judged(name: str, *ends: EndedFile | None) -> str | None:
        (tmp_path / name).mkdir()
        its = a_part(tmp_path / name, *ends).decisive()
        return None if its is None else its.folder.name

    assert judged("none") is None
    assert judged("runs", INTERRUPTED, None) == "2"
    assert judged("first", WELL, None) == "1"
    assert judged("last", None, WELL) == "2"


@pytest.mark.parametrize(
    ("ended", "known", "reason", "cause"),
    [
        (WELL, None, None, None),
        (structs.replace(WELL, error="no room"), "COMPLETED", "node n1: no room", None),
        (None, "NODE_FAIL", "node n1 failed", "node"),
        (INTERRUPTED, "NODE_FAIL", "node n1 failed", "node"),
        (None, "PREEMPTED", "Slurm took node n1 for another job", "node"),
        (None, None, "Slurm does not know job 12_3 any more: node n1 failed", "node"),
        (None, "CANCELLED", "job 12_3 was cancelled", None),
        (INTERRUPTED, "TIMEOUT", "job 12_3 came to its time limit", None),
        (INTERRUPTED, None, "job 12_3 was ended before its time", None),
        (None, "FAILED", "job 12_3 on node n1 ended without its block: something killed it", "lab"),
    ],
)
def test_how_a_job_ended_says_whether_its_block_is_done_again_by_itself(
    tmp_path: Path,
    ended: EndedFile | None,
    known: str | None,
    reason: str | None,
    cause: str | None,
) -> None:
    part = a_part(tmp_path, ended)
    found = collect.ending(part, None if known is None else state(known))
    assert (found.reason or "").startswith(reason or "") and bool(found.reason) == bool(reason)
    assert found.cause == cause


def test_a_job_that_never_began_is_none_of_a_nodes_failures(tmp_path: Path) -> None:
    found = collect.ending(a_part(tmp_path), None)
    assert found.reason == "Slurm does not know its job, which never began" and found.again
    refused = collect.ending(a_part(tmp_path), state("FAILED"))
    assert "a file system that all nodes share" in str(refused.reason) and not refused.again


# --- Blocks that are handed over ----------------------------------------------------------------


def results(folder: Path, name: str = "whole", done: Sequence[int] = ()) -> Results:
    plan = result_builder.make_plan(name, ("a", "b"), 4)
    its = Results.open_or_create(folder, plan, result_builder.plan_json(plan))
    for number in done:
        its.begin_block(blocks(number)[number], host="n1")
        its.end_block(number)
    return its


def test_a_jobs_folder_knows_which_blocks_there_are_and_not_what_they_measured(tmp_path: Path):
    whole, other = results(tmp_path, done=[1]), results(tmp_path / "job", done=[3])
    other.begin_block(blocks(4)[4], host="n2")
    whole.begin_block(blocks(2)[2], host="n1")
    whole.run_folder(1, "a")
    whole.void_block(2, "node n1 failed", "node")
    whole.write_host_of("n1", HostFacts(kernel="6"))
    before = handover.outline(whole, [other], tmp_path / "mine", number=2, host="n1")
    mine = Results.open(tmp_path / "mine")
    assert {block.path.name: block.state for block in mine.blocks()} == {
        "001": "done",
        "002.void1": "void",
        "003": "done",
        "004": "broken",
    }
    assert [block.cause for block in mine.blocks() if block.void] == ["node"]
    assert mine.blocks()[0].runs() == [] and mine.host() == HostFacts(kernel="6")
    mine.begin_block(blocks(2)[2])
    assert [block.number for block in handover.new_blocks(mine, before)] == [2]


def test_a_block_that_is_moved_while_another_job_looks_is_seen_once(tmp_path: Path) -> None:
    whole, other = results(tmp_path), results(tmp_path / "job")
    other.begin_block(blocks(1)[1])
    other.void_block(1, "node n1 failed", "node")
    (block,) = other.blocks()
    (whole.folder / "blocks").mkdir()
    subprocess.run(["cp", "-r", block.path, whole.folder / "blocks" / "001.void2"], check=True)
    names = handover.outline(whole, [other], tmp_path / "mine", number=1)
    assert names == {"001.void1"}


def test_what_a_job_measured_is_taken_once_done_and_whole(tmp_path: Path) -> None:
    whole, first = results(tmp_path), results(tmp_path / "1", done=[1])
    (block,) = first.blocks()
    assert handover.take(block, whole, "lost") is None
    assert (whole.complete(), first.blocks()) == (1, [])
    (second,) = results(tmp_path / "2", done=[1]).blocks()
    assert handover.take(second, whole, "lost") == handover.SECOND
    third = results(tmp_path / "3")
    third.begin_block(blocks(1)[1])
    assert handover.take(third.blocks()[0], whole, "node n1 failed", "node") == "node n1 failed"
    names = [(block.path.name, block.cause) for block in whole.blocks()]
    assert names == [("001.void1", None), ("001.void2", "node"), ("001", None)]


def test_blocks_of_nodes_go_on_by_slurm_alone(tmp_path: Path) -> None:
    folder = results(tmp_path, name="fakes", done=[1]).folder
    with pytest.raises(ResultError, match="block 1 was measured on node n1: add --slurm"):
        here.refuse_nodes(a_plan(), folder)
    runner.refuse_one_host(folder)


# --- On the node --------------------------------------------------------------------------------


def test_data_lie_in_the_jobs_scratch_and_a_folder_of_the_plans_is_parted_by_nodes(tmp_path: Path):
    free = a_plan(TEXT.replace('[server]\ndata_dir = "/data"\n', ""))
    with job.data_of(free, "n1", {"SLURM_TMPDIR": str(tmp_path)}) as its:
        assert its.data_dir is not None and its.data_dir.parent == tmp_path
        (its.data_dir / "a").mkdir()
    assert list(tmp_path.iterdir()) == []
    with job.data_of(a_plan(), "n1", {}) as its:
        assert its.data_dir == Path("/data/n1")


def test_what_a_killed_job_left_in_the_scratch_goes_and_what_is_not_ours_stays(tmp_path: Path):
    folder = job.scratch({"TMPDIR": str(tmp_path)})
    (folder / "left").mkdir(parents=True)
    job.clear(folder)
    assert not folder.exists()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HostError, match="is not a folder of ours"):
        job.clear(folder)
    assert job.scratch({"SLURM_TMPDIR": "/none", "TMPDIR": str(tmp_path)}) == folder


# --- What is shown ------------------------------------------------------------------------------


def test_what_runs_and_what_waits_is_told_in_a_line(tmp_path: Path) -> None:
    parts = Spool(tmp_path).submission(a_plan(), listed(1, 2, 3, 4), tmp_path).parts()
    parts[0].start().begin(BEGUN)
    waits = JobState(job_id="1_3", state="PENDING", node="", why="Resources")
    states = {parts[1].place: state("RUNNING", "n2"), parts[2].place: waits}
    said = batch.described(parts, states)
    assert said == "running: block 1 on n1, block 2 on n2; queued: blocks 3, 4 (Resources)"


def test_blocks_that_fail_alike_are_told_together() -> None:
    assert batch.words_of({1: "no room", 2: "no room", 3: "job 1_3 was cancelled"}) == (
        "blocks 1, 2: no room; block 3: job 1_3 was cancelled; run the same command to submit "
        "them again"
    )


def test_a_void_block_says_if_it_is_submitted_again() -> None:
    lost = JobEnding(node="n1", reason="node n1 failed", cause="node", voids=("node n1 failed",))
    assert list(batch.said_of(3, lost, again=True)) == [
        "block 3 is void and is submitted again: node n1 failed"
    ]
    assert list(batch.said_of(3, lost, again=False)) == ["block 3 is void: node n1 failed"]
