"""Slurm as a way to run blocks: one exclusive job per block, on nodes that the scheduler chooses.

The process that submits measures nothing itself. First a job checks the plan on a node, from which
the result folder gets its builds and sizes; then the blocks up to the next look are an array of
jobs. The process may end at any moment: jobs go on, and the same command takes what they found.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dbdyno.host import leftovers
from dbdyno.model import Block, Plan
from dbdyno.model.error import HostError, PlanError, ResultError
from dbdyno.run.blocks import PlanOutcome
from dbdyno.run.lab import Lab
from dbdyno.run.progress import Watch
from dbdyno.run.slurm import collect, job
from dbdyno.run.slurm.batch import Batch, Jobs, alive
from dbdyno.run.slurm.cluster import Cluster, ClusterRequest, JobState
from dbdyno.run.slurm.collect import JobEnding
from dbdyno.run.slurm.spool import PREPARE, CheckedPlan, Spool, SpoolJob, is_same
from dbdyno.store import Results
from dbdyno.store.folder_lock import FolderLock

PREPARE_TRIES_MAX = 3
"""How often the plan's check is submitted when nodes fail under it."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How patient the process is that submits, in seconds."""

    poll_s: float = 5.0  # between two looks at the jobs
    settle_s: float = 60.0  # for files of another node to be seen here
    patience_s: float = 600.0  # for a controller that does not answer


class SlurmRunner:
    """Blocks by Slurm; satisfies `run.runner.BlockRunner`."""

    def __init__(
        self,
        wish: ClusterRequest,
        *,
        command: Sequence[str] = job.COMMAND,
        times: Patience | None = None,
        cluster: Callable[..., Cluster] = Cluster,
    ) -> None:
        """`command`: what a job runs, before the folder of its submission."""
        self._wish = wish
        self._command = command
        self._times = times or Patience()
        self._cluster = cluster
        self._jobs: Jobs | None = None

    @contextmanager
    def opened(self, plan: Plan, parent: Path, *, quiet: bool = False) -> Iterator[Lab]:
        """As Way.opened: checked on a node, with what ended jobs have measured taken."""
        refuse_unfit(plan)
        spool = Spool.of(parent, plan)
        with Watch([], quiet=quiet) as watch:
            cluster = self._cluster(watch.say, patience_s=self._times.patience_s)
            nodes = cluster.refuse_unfit(self._wish)
            folder = FolderLock(parent.absolute() / plan.name, leftovers.boot_id())
            with spool.locked() as lock, folder:
                self._jobs = Jobs(
                    cluster=cluster,
                    wish=self._wish,
                    spool=spool,
                    lock=lock,
                    command=self._command,
                    poll_s=self._times.poll_s,
                    settle_s=self._times.settle_s,
                )
                try:
                    yield self._lab(plan, parent, watch, nodes)
                except KeyboardInterrupt:
                    say_what_goes_on(spool, watch)
                    raise
                finally:
                    spool.tidy()

    def _lab(self, plan: Plan, parent: Path, watch: Watch, nodes: Sequence[str]) -> Lab:
        """The lab, with its result folder, and all in it that ended jobs have measured."""
        assert self._jobs is not None
        watch.say(f"nodes: {', '.join(nodes)}")
        results = parent.absolute() / plan.name
        refuse_one_host(results)
        checked = prepared(self._jobs, plan, results, watch)
        for line in checked.said:
            watch.say(line)
        measured = Results.open(self._jobs.spool.prepared / plan.name)
        opened = begun(parent, plan, checked, measured)
        lab = Lab(plan=plan, prepared=checked.prepared, results=opened, watch=watch)
        take_ended(self._jobs, lab)
        return lab

    def run_blocks(
        self, lab: Lab, blocks: Sequence[Block], fits: Callable[[], bool]
    ) -> PlanOutcome:
        """As Way.run_blocks, all at once; `fits` is asked before they are submitted.

        Where it says no later on, jobs that have not begun are ended.
        """
        assert self._jobs is not None, "opened before"
        wanted = {block.number: block for block in blocks}
        return Batch(jobs=self._jobs, lab=lab, fits=fits, wanted=wanted).go()


def cancel(plan: Plan, parent: Path) -> int:
    """Ends the jobs of a plan; how many there were. Raises HostError.

    What they have measured is taken by the next command that runs the plan.
    """
    spool = Spool.of(parent, plan)
    cluster = Cluster(lambda _: None, patience_s=0.0)
    if not spool.folder.exists():
        return 0
    parts = spool.parts()
    ended = alive(parts, cluster.states({part.submission.name for part in parts}))
    cluster.cancel(ended)
    return len(ended)


def refuse_unfit(plan: Plan) -> None:
    """Raises PlanError where blocks on several nodes at once would not be what the plan means."""
    where = plan.path or "the plan"
    for arm in plan.arms:
        if arm.host is not None and (not plan.generator_hosts or arm.host != plan.arms[0].host):
            raise PlanError(
                f"{where}: arms.{arm.name}.host: with --slurm the scheduler chooses one node for "
                "the servers of a block: remove it"
            )
        if arm.dsn is not None or arm.endpoints:
            raise PlanError(
                f"{where}: arms.{arm.name}.dsn: blocks on several nodes would load that server at "
                "once: run the plan without --slurm"
            )


def refuse_one_host(folder: Path) -> None:
    """Raises ResultError where blocks of a plan were measured without Slurm."""
    if not (folder / "plan.json").exists():
        return
    for block in Results.open(folder).blocks():
        if block.host is None:
            raise ResultError(
                f"{folder}: block {block.number} was not measured by Slurm: such blocks cannot be "
                "pooled; choose another --out"
            )


# --- The first job ----------------------------------------------------------------------------


def prepared(jobs: Jobs, plan: Plan, results: Path, watch: Watch) -> CheckedPlan:
    """What a job on a node has found about the plan, now or before. Raises HostError."""
    end_checks_of_before(jobs, plan)
    for tries in range(PREPARE_TRIES_MAX):
        checked = jobs.spool.checked(plan)
        if checked is not None:
            return checked
        parts = checks(jobs) or jobs.submit(plan, [], results)
        reason = followed(jobs, parts[0], watch)
        if reason is not None and tries + 1 == PREPARE_TRIES_MAX:
            raise HostError(f"the plan could not be checked on a node: {reason}")
    raise AssertionError("each try finds something, or says why not")


def checks(jobs: Jobs) -> list[SpoolJob]:
    """The jobs that check a plan and whose word was not taken."""
    return [part for part in jobs.spool.parts() if part.index == PREPARE]


def end_checks_of_before(jobs: Jobs, plan: Plan) -> None:
    """Ends the check of a plan that has changed since."""
    old = [part for part in checks(jobs) if not is_same(part.submission.plan, plan)]
    jobs.cancel(old, jobs.states(old))
    jobs.drop(old)


def followed(jobs: Jobs, part: SpoolJob, watch: Watch) -> str | None:
    """Waits for the job that checks a plan, and keeps what it found; why it found nothing.

    Raises HostError where the plan does not go on a node, in its words.
    """
    shown = ""
    while True:
        states = jobs.states([part])
        state = states.get(part.place)
        if jobs.over([part], states):
            break
        text = f"the plan is checked on a node: {described(part, state)}"
        watch.retitle(text)
        if text != shown and not watch.console.is_terminal:
            watch.say(text)
        shown = text
        time.sleep(jobs.poll_s)
    end, start = collect.ending(part, state), part.decisive()
    if end.reason is None and start is not None:
        jobs.spool.keep_prepared(start)
    jobs.close(part, end)
    if end.reason is not None and end.cause is None:
        raise HostError(end.reason)
    return end.reason


def described(part: SpoolJob, state: JobState | None) -> str:
    """Where a job is: `running on n1`, `queued (Resources)`."""
    begun = part.begun()
    if begun is not None:
        return f"running on {begun.node}"
    return "queued" + (f" ({state.why})" if state is not None and state.why else "")


def begun(parent: Path, plan: Plan, checked: CheckedPlan, measured: Results) -> Results:
    """The result folder of the plan, as a node found it. Raises ResultError."""
    results = Results.open_or_create(parent, plan, checked.plan)
    facts = measured.host()
    if facts is not None and results.host() is None:
        results.write_host(facts)
    if checked.node not in results.hosts():
        collect.keep_node(checked.node, measured, results)
    results.settle_looks(plan)
    commits = measured.commits()
    if commits and not results.commits():
        results.keep_commits(commits)
    return results


def take_ended(jobs: Jobs, lab: Lab) -> None:
    """Takes what jobs of earlier commands have measured that are over by now. Raises HostError."""
    parts, shown = jobs.spool.parts(), False
    while parts:
        states = jobs.states(parts)
        for part in jobs.over(parts, states):
            end = jobs.take(part, states.get(part.place), lab.results)
            for line in words_of(part.index, end):
                lab.watch.say(line)
        parts = [
            part
            for part in parts
            if not part.is_over() and collect.is_over(part, states.get(part.place))
        ]
        if parts and not shown:
            lab.watch.say(
                "jobs are gone without a word: dyno waits for their files to be seen here"
            )
            shown = True
        time.sleep(jobs.poll_s if parts else 0.0)


def words_of(number: int, end: JobEnding) -> Iterator[str]:
    """What came of a job of an earlier command."""
    for reason in end.voids:
        yield f"block {number} is void: {reason}"
    if end.done:
        yield f"block {number} was done on {end.node}"
    elif end.reason is not None and not end.voids:
        yield f"block {number} is to be done again: {end.reason}"


def say_what_goes_on(spool: Spool, watch: Watch) -> None:
    """Says which jobs go on without this process, and how they are ended."""
    names = sorted({part.submission.name for part in spool.parts()})
    if names:
        watch.say(
            f"jobs go on in Slurm: {', '.join(names)}; the same command follows them, and with "
            "--cancel it ends them"
        )
