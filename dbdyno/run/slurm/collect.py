"""Takes what a job has measured into the plan's result folder, and says how it ended."""

from dataclasses import dataclass, replace

from dbdyno.model.disturbance import Cause
from dbdyno.run import blocks as runner
from dbdyno.run.slurm.cluster import JobState
from dbdyno.run.slurm.spool import BegunFile, SpoolJob, Start
from dbdyno.store import BlockFolder, Results, handover

OF_NODE = {
    "NODE_FAIL": "node {node} failed",
    "BOOT_FAIL": "node {node} did not boot",
    "PREEMPTED": "Slurm took node {node} for another job",
}
"""States in which a job ends by no doing of its own."""
OF_USER = {
    "CANCELLED": "job {job} was cancelled",
    "TIMEOUT": "job {job} came to its time limit: allow more, as --slurm-option time=4:00:00",
    "DEADLINE": "job {job} came to its deadline",
    "OUT_OF_MEMORY": "job {job} was killed, as node {node} had no memory left",
}
"""States after which somebody has to decide before it is done again."""
STARTED_AGAIN = "node {node} failed, and Slurm has started the job again"
LOG_CHARACTERS_MAX = 300
NO_WORD = (
    "it left no word: --out must be on a file system that all nodes share, and dyno at the same "
    "place on each"
)
KILLED = "something killed it"


@dataclass(frozen=True, kw_only=True)
class JobEnding:
    """How a job ended."""

    node: str = "?"
    reason: str | None = None  # why it ended before its time; None: it did all it had to do
    cause: Cause | None = None  # for which it is done again by itself; None: for none
    done: bool = False  # its block is in the results
    failed: int = 0  # steps that failed or were skipped
    voids: tuple[str, ...] = ()  # why its tries were void, each

    @property
    def again(self) -> bool:
        """Whether its block is to be done again by itself."""
        return self.cause is not None and not self.done


def is_over(part: SpoolJob, state: JobState | None) -> bool:
    """Whether a job writes nothing any more; `state`: None where Slurm does not know it."""
    return part.ended() is not None or state is None or state.is_over


def ending(part: SpoolJob, state: JobState | None) -> JobEnding:
    """How a job ended that is over, before anything is taken."""
    ended, begun = part.ended(), part.begun()
    node = begun.node if begun is not None else (state.node if state is not None else "") or "?"
    if ended is not None and ended.error is not None:
        return JobEnding(node=node, reason=f"node {node}: {ended.error}")
    if ended is not None and not ended.interrupted:
        return JobEnding(node=node, failed=ended.failed)
    words = {"node": node, "job": _job(part, state, begun)}
    known = "" if state is None else state.state
    if known in OF_NODE:
        return JobEnding(node=node, reason=OF_NODE[known].format(**words), cause="node")
    if known in OF_USER:
        return JobEnding(node=node, reason=OF_USER[known].format(**words))
    if ended is not None:
        return JobEnding(node=node, reason="job {job} was ended before its time".format(**words))
    if state is None and begun is None:
        return JobEnding(
            node=node, reason="Slurm does not know its job, which never began", cause="node"
        )
    if state is None:
        lost = "Slurm does not know job {job} any more: node {node} failed"
        return JobEnding(node=node, reason=lost.format(**words), cause="node")
    said = f"job {words['job']} on node {node} ended without its block: {_last_word(part, begun)}"
    return JobEnding(node=node, reason=said, cause=None if begun is None else "lab")


def collect(part: SpoolJob, state: JobState | None, results: Results) -> JobEnding:
    """Moves the blocks of a job that is over into `results`; how it ended."""
    end, decisive = ending(part, state), part.decisive()
    voids: list[str] = []
    done = False
    for start in sorted(part.starts(), key=lambda start: start != decisive):
        last = start == decisive
        reason = (
            (end.reason or "dyno ended early") if last else STARTED_AGAIN.format(node=start.node)
        )
        for block in new_blocks(start, results):
            failed = block.failed_steps()
            void = handover.take(block, results, reason, end.cause if last else "node")
            if void is None:
                done, end = True, replace(end, failed=max(end.failed, failed))
            else:
                voids.append(void)
    if end.again and decisive is not None and not (done or voids):
        # Nothing was measured; the failure is kept all the same, as it counts.
        results.begin_block(part.submission.blocks[part.index], host=end.node)
        results.void_block(part.index, end.reason or "", end.cause)
        voids.append(end.reason or "")
    ended = part.ended()
    if done and (ended is None or ended.error is None):  # whatever ended it came too late
        end = replace(end, reason=None, cause=None)
    return replace(end, done=done, voids=tuple(voids))


def new_blocks(start: Start, results: Results) -> list[BlockFolder]:
    """The blocks that a start has measured; the facts of its node are kept in `results`."""
    begun, measured = start.begun(), start.results()
    if begun is None or measured is None or begun.before is None:
        return []
    keep_node(begun.node, measured, results)
    return handover.new_blocks(measured, begun.before)


def keep_node(node: str, measured: Results, results: Results) -> None:
    """Keeps the facts of a node, and what the load generator can do there."""
    facts, generator = measured.host(), measured.generator_of(node)
    if facts is not None:
        runner.keep_host_of(results, node, facts)
    if generator is not None and generator != results.generator_of(node):
        results.keep_generator(generator)


def _job(part: SpoolJob, state: JobState | None, begun: BegunFile | None) -> str:
    job_id = state.job_id if state is not None else begun.job_id if begun is not None else None
    return job_id or f"of block {part.index}"


def _last_word(part: SpoolJob, begun: BegunFile | None) -> str:
    """The last line of a job's log, and where it lies; of an empty log, the likely reason."""
    try:
        lines = part.log.read_text(errors="replace").split("\n")
    except OSError:
        lines = []
    words = [line.strip() for line in lines if line.strip()]
    if words:
        return f"{words[-1][:LOG_CHARACTERS_MAX]} (see {part.log})"
    return NO_WORD if begun is None else KILLED
