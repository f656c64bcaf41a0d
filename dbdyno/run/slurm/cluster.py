"""All that is said to Slurm: by its own commands, whose answers need no accounting.

`sacct` has no answer where a cluster keeps no accounts. `squeue` has: it knows a job until some
minutes after its end (MinJobAge); by then whoever waits has read it, or the job's own files tell.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.model.error import HostError

ANSWER_S_MAX = 60.0
"""One command of Slurm's; its own clients give up after some ten seconds."""
HELLO_S_MAX = 20.0
"""The first one: where there is no configuration, clients look for it for a minute."""
FIELDS = "%j|%F|%K|%T|%N|%r"
"""Of squeue: the name, the array's id, the index there, the state, the nodes, why it waits."""
ALIVE = frozenset(
    {
        "PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING",
        "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "STAGE_OUT", "SIGNALING",
        "RESV_DEL_HOLD",
    }
)  # fmt: skip
"""States of a job that is not over (squeue(1), "job state codes")."""
OURS = frozenset(
    {
        "array", "chdir", "exclude", "exclusive", "job-name", "mem", "no-requeue", "nodelist",
        "nodes", "open-mode", "output", "parsable", "partition", "requeue", "wrap",
    }
)  # fmt: skip
"""Options of sbatch that dyno gives itself."""


@dataclass(frozen=True, kw_only=True)
class ClusterRequest:
    """The part of a cluster that a plan is to be measured on, and further options of sbatch."""

    partition: str | None = None  # None: the cluster's default
    nodelist: str | None = None  # in Slurm's words, such as n[1-4]; None: all nodes
    options: Mapping[str, str | None] = field(default_factory=dict)  # None: one without a value


@dataclass(frozen=True, kw_only=True)
class JobState:
    """A job of an array, as squeue tells of it."""

    job_id: str  # "12_3"
    state: str  # "PENDING", "RUNNING", …
    node: str  # empty while it waits
    why: str  # why it waits, in a word of Slurm's

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.state not in ALIVE

    @property
    def waits(self) -> bool:
        """Whether it has not begun."""
        return self.state == "PENDING"


@dataclass(frozen=True, kw_only=True)
class Partition:
    """A partition and its nodes."""

    name: str
    nodes: tuple[str, ...]
    is_default: bool
    state: str


class Cluster:
    """A cluster, as Slurm's commands on this host reach it."""

    def __init__(self, say: Callable[[str], None], *, patience_s: float = 600.0) -> None:
        """`patience_s`: how long a controller that does not answer is waited for."""
        self.say = say
        self._patience_s = patience_s

    # --- Before anything starts ---

    def refuse_unfit(self, wish: ClusterRequest) -> tuple[str, ...]:
        """The nodes that jobs may run on. Raises HostError in one line where there are none."""
        hello()
        partition = chosen(partitions(run("scontrol", "show", "partition", "--oneliner")), wish)
        if wish.nodelist is None:
            return partition.nodes
        wanted = expanded(wish.nodelist)
        unknown = [node for node in wanted if node not in partition.nodes]
        if unknown or not wanted:
            raise HostError(
                f"--nodelist: partition `{partition.name}` has no node "
                f"`{', '.join(unknown) or wish.nodelist}`; it has {', '.join(partition.nodes)}"
            )
        return wanted

    # --- Jobs ---

    def submit(  # noqa: PLR0913 (how it is called, each by its name)
        self,
        script: Path,
        name: str,
        indices: Iterable[int],
        wish: ClusterRequest,
        lock: int | None = None,
        nodes: int = 1,
    ) -> None:
        """Submits an array of exclusive jobs, each on so many nodes; states follow by the name.

        `lock`: a file that sbatch keeps open, so that who holds it is known as long as it runs.
        Raises HostError where Slurm refuses, or does not answer for too long.
        """
        command = [
            "sbatch",
            "--parsable",
            f"--job-name={name}",
            f"--array={','.join(map(str, indices))}",
            f"--nodes={nodes}",
            "--exclusive",
            "--mem=0",
            "--requeue",
            f"--output={script.parent}/log.%a",
            "--open-mode=append",
            f"--chdir={Path.cwd()}",
            *self._where(wish),
            *(
                f"--{key}" + ("" if value is None else f"={value}")
                for key, value in wish.options.items()
            ),
            str(script),
        ]
        for is_last in (False, True):
            answer = ask(command, keep=lock)
            if answer.returncode == 0 or self.states([name]):
                return  # taken, also where only the answer got lost
            if is_last:
                raise HostError(f"Slurm does not take the jobs: {last_line(answer)}")

    def _where(self, wish: ClusterRequest) -> list[str]:
        """Where jobs may run. With several names in `--nodelist` a job would get all of them."""
        where = [] if wish.partition is None else [f"--partition={wish.partition}"]
        if wish.nodelist is None:
            return where
        wanted = expanded(wish.nodelist)
        if len(wanted) == 1:
            return [*where, f"--nodelist={wanted[0]}"]
        shown = self._patiently("scontrol", "show", "partition", "--oneliner")
        others = [node for node in chosen(partitions(shown), wish).nodes if node not in wanted]
        return [*where, *([f"--exclude={','.join(others)}"] if others else [])]

    def states(self, names: Collection[str]) -> dict[tuple[str, int], JobState]:
        """By name and index the jobs that Slurm knows. Raises HostError where it cannot be asked.

        A job that is over is forgotten after some minutes.
        """
        if not names:
            return {}
        said = self._patiently(
            "squeue",
            "--noheader",
            "--array",
            "--states=all",
            f"--name={','.join(sorted(names))}",
            f"--format={FIELDS}",
        )
        return dict(filter(None, map(read_state, said.splitlines())))

    def cancel(self, jobs: Sequence[str]) -> None:
        """Ends these jobs; those that are over already are passed over. Raises HostError."""
        if jobs:
            self._patiently("scancel", "--quiet", *jobs)

    def _patiently(self, *command: str) -> str:
        """What a command says, asked again while the controller does not answer.

        Raises HostError where that takes too long.
        """
        end_s = time.monotonic() + self._patience_s
        has_said = False
        while (answer := ask(command)).returncode != 0:
            if time.monotonic() > end_s:
                raise HostError(
                    f"Slurm has not answered for {self._patience_s / 60:.0f} min "
                    f"({last_line(answer)}): its jobs go on; run the same command to continue"
                )
            if not has_said:
                self.say(
                    f"Slurm does not answer ({last_line(answer)}): dyno asks again for "
                    f"{self._patience_s / 60:.0f} min"
                )
                has_said = True
            time.sleep(min(2.0, self._patience_s))
        if has_said:
            self.say("Slurm answers again")
        return answer.stdout


def hello() -> None:
    """Raises HostError where there is no Slurm here, or its controller does not answer."""
    if shutil.which("sbatch") is None:
        raise HostError(
            "--slurm: there is no `sbatch` here: run dyno on a host from which jobs are submitted"
        )
    answer = ask(["scontrol", "ping"], limit_s=HELLO_S_MAX)
    if answer.returncode != 0:
        said = last_line(answer) if "fatal" in answer.stderr else answer.stdout.partition("\n")[0]
        raise HostError(
            f"--slurm: Slurm's controller does not answer ({said or last_line(answer)}): "
            "start slurmctld, or mend slurm.conf"
        )


def partitions(said: str) -> list[Partition]:
    """The partitions that `scontrol show partition --oneliner` lists."""
    known = []
    for line in said.splitlines():
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if "PartitionName" not in words:
            continue
        nodes = words.get("Nodes", "(null)")
        known.append(
            Partition(
                name=words["PartitionName"],
                nodes=() if nodes == "(null)" else expanded(nodes),
                is_default=words.get("Default") == "YES",
                state=words.get("State", "UP"),
            )
        )
    return known


def chosen(there: Sequence[Partition], wish: ClusterRequest) -> Partition:
    """The partition that jobs go to. Raises HostError where it is unknown, empty or down."""
    names = ", ".join(partition.name for partition in there)
    known = [
        partition
        for partition in there
        if (partition.is_default if wish.partition is None else partition.name == wish.partition)
    ]
    if not known and wish.partition is None:
        raise HostError(f"--partition: the cluster has no default: name one of {names}")
    if not known:
        raise HostError(f"--partition: there is no `{wish.partition}`; there are {names}")
    if not known[0].nodes:
        raise HostError(f"--partition: `{known[0].name}` has no nodes: name another of {names}")
    if known[0].state != "UP":
        raise HostError(
            f"--partition: `{known[0].name}` is {known[0].state.lower()}: name another of {names}"
        )
    return known[0]


def expanded(nodes: str) -> tuple[str, ...]:
    """n1, n2, n7 of `n[1-2],n7`. Raises HostError where Slurm does not understand the words."""
    return tuple(run("scontrol", "show", "hostnames", nodes).split())


def read_state(line: str) -> tuple[tuple[str, int], JobState] | None:
    """A line of squeue by name and index, or None where it tells of no job of the array.

    A controller that comes back may keep a record of the array itself beside its jobs, `N/A`.
    """
    name, array, index, state, node, why = line.split("|", 5)
    if not index.isdecimal():
        return None
    return (name, int(index)), JobState(
        job_id=f"{array}_{index}", state=state, node=node, why="" if why == "None" else why
    )


def run(*command: str) -> str:
    """What a command of Slurm's says. Raises HostError with its last line where it fails."""
    answer = ask(command)
    if answer.returncode != 0:
        raise HostError(f"`{' '.join(command)}`: {last_line(answer)}")
    return answer.stdout


def ask(
    command: Sequence[str], *, limit_s: float = ANSWER_S_MAX, keep: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command of Slurm's; one that does not end in time has failed, and so has none."""
    try:
        return subprocess.run(
            list(command),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
            stdin=subprocess.DEVNULL,
            pass_fds=() if keep is None else (keep,),
        )
    except subprocess.TimeoutExpired:
        said = f"no answer in {limit_s:.0f} s"
    except OSError as error:
        said = f"{error.strerror}"
    return subprocess.CompletedProcess(list(command), 1, "", f"{command[0]}: {said}")


def last_line(answer: subprocess.CompletedProcess[str]) -> str:
    """The last thing that a command said, without its own name and the word error before it."""
    said = (answer.stderr.strip() or answer.stdout.strip()).splitlines()
    lines = [line for line in said if not line.startswith("Try ")]  # … "sbatch --help"
    line = lines[-1] if lines else f"status {answer.returncode}"
    for head in (f"{Path(answer.args[0]).name}: ", "error: ", "fatal: "):
        line = line.removeprefix(head)
    return line
