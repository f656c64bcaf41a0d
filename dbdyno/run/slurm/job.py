"""What a job does on its node: `python -m dbdyno.run.slurm.job FOLDER`, of one submission.

On the node it is an ordinary lab: it locks the host, ends what a dead one left, checks the plan
against this host with the builds and sizes of the first one, and measures its block as ever, into a
result folder of its own beside the plan's. Data lie on the node and are gone afterwards.
"""

import os
import signal
import socket
import stat
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from dbdyno import __version__
from dbdyno.host import data_folder, leftovers
from dbdyno.host.lock import HostLock
from dbdyno.model import Block, Plan
from dbdyno.model.error import DynoError, HostError, disk_errors_named
from dbdyno.run import blocks as runner
from dbdyno.run.agent.runner import HostsRunner
from dbdyno.run.blocks import PlanOutcome
from dbdyno.run.check import plan_record
from dbdyno.run.lab import Lab
from dbdyno.run.slurm import hosts
from dbdyno.run.slurm.spool import (
    PREPARE,
    BegunFile,
    CheckedPlan,
    EndedFile,
    Spool,
    SpoolJob,
    Start,
    Submission,
)
from dbdyno.store import Results, handover

COMMAND = (sys.executable, "-X", "utf8", "-P", "-m", "dbdyno.run.slurm.job")
"""The command of a job, before its submission's folder: the same Python on every node.

`-P`: no module of the folder that it is started in stands in for one of ours."""
INTERRUPTED = 130


def main(arguments: list[str]) -> int:
    """Runs the job that Slurm's environment names; returns its exit status."""
    signal.signal(signal.SIGTERM, interrupt)
    return go(Path(arguments[0]), os.environ)


def interrupt(number: int, frame: object) -> None:
    """Slurm ends a job by SIGTERM, and kills it half a minute later."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def go(folder: Path, environment: Mapping[str, str]) -> int:
    """Runs one job of the submission in `folder`, and says in its files how it ended."""
    part = SpoolJob(Submission(folder), int(environment.get("SLURM_ARRAY_TASK_ID", PREPARE)))
    node = environment.get("SLURMD_NODENAME") or socket.gethostname()
    if part.is_over():
        print(f"nobody waits for {folder.name}/{part.index} any more")  # noqa: T201
        return 0
    start = part.start()
    begun = BegunFile(node=node, job_id=job_id(environment), pid=os.getpid())
    start.begin(begun)
    status = 0
    try:
        refuse_another_version(part, node)
        refuse_another_start(part)
        with disk_errors_named():
            ended = measure(start, begun, environment)
    except DynoError as error:
        ended, status = failed(node, str(error)), 1
        print(f"dyno: {error}", file=sys.stderr)  # noqa: T201
    except KeyboardInterrupt:
        ended, status = EndedFile(dyno=__version__, node=node, interrupted=True), INTERRUPTED
    except Exception as error:
        ended, status = failed(node, f"{type(error).__name__}: {error} (see {part.log})"), 1
        traceback.print_exc()
    start.end(ended)
    return status


def failed(node: str, error: str) -> EndedFile:
    """The end of a job by an error."""
    return EndedFile(dyno=__version__, node=node, error=error)


def job_id(environment: Mapping[str, str]) -> str | None:
    """The job's id as Slurm's commands take it: `12_3`."""
    array, index = (environment.get(f"SLURM_ARRAY_{name}_ID") for name in ("JOB", "TASK"))
    return f"{array}_{index}" if array is not None else environment.get("SLURM_JOB_ID")


def refuse_another_version(part: SpoolJob, node: str) -> None:
    """Raises HostError where this node has another version of dyno than the submission is of."""
    wanted = part.submission.task.dyno
    if wanted != __version__:
        raise HostError(
            f"node {node} has dyno {__version__}, and the plan was submitted by {wanted}: install "
            "one version on all"
        )


def refuse_another_start(part: SpoolJob) -> None:
    """Raises HostError where nodes have failed under the job too often."""
    *failed, _ = part.starts()
    if len(failed) > part.submission.plan.schedule.repeats_max:
        nodes = ", ".join(start.node for start in failed)
        raise HostError(f"Slurm has started the job {len(failed)} times before, on {nodes}")


def measure(start: Start, begun: BegunFile, environment: Mapping[str, str]) -> EndedFile:
    """Checks the plan, or measures a block."""
    part, submission, node = start.part, start.part.submission, begun.node
    spool, block = Spool(submission.folder.parent), submission.blocks.get(part.index)
    with held(submission.plan), data_of(submission.plan, node, environment) as plan:
        before = outlined(spool, start, node)
        start.begin(structs.replace(begun, before=tuple(sorted(before))))
        with opened(plan, start.folder, environment) as lab:
            lab = replace(lab, node=node)
            if block is None:
                return EndedFile(dyno=__version__, node=node, checked=checked(lab, node))
            outcome = one_block(replace(lab, through=submission.task.through), block)
            return EndedFile(
                dyno=__version__, node=node, failed=outcome.failed, voids=outcome.voids
            )


@contextmanager
def held(plan: Plan) -> Iterator[None]:
    """This node for the plan alone; of several nodes each has an agent that holds it."""
    if plan.generator_hosts:
        yield
        return
    with HostLock(plan=plan.name, wait=True):
        leftovers.end_leftovers()
        yield


@contextmanager
def opened(plan: Plan, folder: Path, environment: Mapping[str, str]) -> Iterator[Lab]:
    """The job's lab: on this node, or with its load from the job's other nodes."""
    if not plan.generator_hosts:
        with runner.opened(plan, folder) as lab:
            yield lab
        return
    on_nodes, nodes = hosts.placed(plan, environment)
    with HostsRunner(wait=True, names=nodes).opened(on_nodes, folder) as lab:
        yield lab


def checked(lab: Lab, node: str) -> CheckedPlan:
    """Measures the load generator; what the plan means on this node."""
    if runner.has_servers(lab.plan):
        runner.measure_generator(lab)
    return CheckedPlan(
        node=node,
        prepared=lab.prepared,
        plan=plan_record.plan_json(lab.plan, lab.prepared),
        said=tuple(runner.said_before(lab.plan, lab.prepared)),
    )


def one_block(lab: Lab, block: Block) -> PlanOutcome:
    """Measures a block until it counts; its void tries are kept beside it."""
    if runner.has_servers(lab.plan) and lab.results.generator() is None:
        runner.measure_generator(lab)
    return runner.run_whole(lab, [block])


def outlined(spool: Spool, start: Start, node: str) -> frozenset[str]:
    """Tells the job's result folder of the blocks elsewhere; their names."""
    beside = start.part.submission.task.results
    if not (beside / "plan.json").exists():
        return frozenset()
    others = [other.results() for part in spool.parts() for other in part.starts()]
    return handover.outline(
        Results.open(beside),
        [results for results in others if results is not None],
        start.results_folder,
        number=start.part.index,
        host=node,
    )


# --- Data on the node -------------------------------------------------------------------------


@contextmanager
def data_of(plan: Plan, node: str, environment: Mapping[str, str]) -> Iterator[Plan]:
    """The plan with its data on this node; what lies in the job's scratch is gone afterwards.

    A folder that the plan names keeps golden copies for later blocks on the node, which has one of
    its own there: it may be shared.
    """
    logs = plan.wal_dir / node if plan.wal_dir is not None else None
    if plan.data_dir is not None:
        yield replace(plan, data_dir=plan.data_dir / node, wal_dir=logs)
        return
    folder = scratch(environment)
    clear(folder)
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)  # servers' accounts enter it
    try:
        yield replace(plan, data_dir=folder, wal_dir=logs)
    finally:
        clear(folder)


def scratch(environment: Mapping[str, str]) -> Path:
    """The folder for data: always the same on a node, so a job that was killed leaves one at most.

    In the job's own scratch where the site gives it one, else where temporary files go.
    """
    for name in ("SLURM_TMPDIR", "TMPDIR"):
        above = environment.get(name)
        if above and os.access(above, os.W_OK):
            break
    else:
        above = tempfile.gettempdir()
    return Path(above).resolve() / f"dyno-data-{os.geteuid()}"


def clear(folder: Path) -> None:
    """Removes the scratch folder. Raises HostError where it is not ours, or stays."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise HostError(f"`{folder}` is not a folder of ours: remove it, or set TMPDIR")
    data_folder.clear(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
