"""A real Slurm cluster of two nodes on this one host, for tests: its own ports, no accounting.

Jobs of both nodes run here, beside each other. So each node's lab has folders of its own
(tests/own_lab.py), else they would wait for each other; `command` is what such a job runs.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dbdyno.host import port, process
from server_place import within

NODES = ("n1", "n2")
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
CONFIGURATION = """
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
SlurmdLogFile={folder}/slurmd.%n.log
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
FirstJobId=1
StateSaveLocation={folder}/state
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
SelectType=select/linear
KillWait=5
MessageTimeout=5
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 RealMemory=1000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 RealMemory=1000
NodeName=n3 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[3]} CPUs=1 RealMemory=1000
PartitionName=bench Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE
PartitionName=empty Nodes="" MaxTime=INFINITE State=UP
PartitionName=off Nodes=n3 MaxTime=INFINITE State=DOWN
"""
FIRST_ID = re.compile(r"(?m)^FirstJobId=(\d+)$")
IDS_PER_START = 1000
DELAYED = "BeginTime"
"""Why a job waits for two minutes after its node failed."""
HELD = "launch failed requeued held"
JOB = """
import os, sys
sys.path[:0] = {paths!r}
import own_lab
from pathlib import Path
folder = Path({folder!r}) / os.environ["SLURMD_NODENAME"]
folder.mkdir(exist_ok=True)
folder.chmod(0o755)
os.environ["TMPDIR"] = str(folder)
own_lab.take(folder)
from dbdyno.run.slurm.job import main
sys.exit(main(sys.argv[1:]))
"""
"""A job whose lab is that of its node."""


def missing() -> str | None:
    """Why there can be no cluster here; None where there can."""
    if os.geteuid() != 0:
        return "a cluster of its own needs root: `sudo make test-all`"
    gone = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"no {', '.join(gone)} here: `apt-get install slurm-wlm munge`" if gone else None


@dataclass(frozen=True)
class TestCluster:
    """The cluster; its daemons are ended by the ids in their files."""

    __test__ = False  # pytest: no test class
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """What makes Slurm's commands speak to it."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    @property
    def command(self) -> tuple[str, ...]:
        """What a job runs."""
        tests = Path(__file__).parent
        code = JOB.format(paths=[str(tests), str(tests.parent)], folder=str(self.folder))
        return (sys.executable, "-c", code)

    @contextmanager
    def identity(self) -> Iterator[None]:
        """A munged of the cluster's own meanwhile: the host's may have left but a socket."""
        key, socket_path = self.folder / "munge.key", self.folder / "munge.socket"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = [f"--{what}-file={self.folder}/munged.{what}" for what in ("pid", "seed")]
        command = ["munged", "--foreground", f"--key-file={key}", f"--socket={socket_path}"]
        with (
            (self.folder / "munged.log").open("wb") as log,
            subprocess.Popen([*command, *files], stderr=log) as munged,
        ):
            try:
                assert within(60, socket_path.exists), self.logs()
                yield
            finally:
                munged.terminate()

    @contextmanager
    def daemons(self) -> Iterator[None]:
        """The controller and both nodes meanwhile, from when both are free."""
        try:
            self.start_controller()
            for node in NODES:
                self.start_node(node)
            assert within(60, self.is_idle), self.logs()
            yield
        finally:
            for daemon in ("slurmd.n1", "slurmd.n2", "slurmctld"):
                if (self.folder / f"{daemon}.pid").exists():
                    self.kill(daemon, signal.SIGTERM)

    def start_controller(self) -> None:
        """Starts it with ids of jobs that none has had: what it saved last may be older."""
        configuration = self.folder / "slurm.conf"
        text = configuration.read_text()
        first = int(FIRST_ID.findall(text)[0]) + IDS_PER_START
        configuration.write_text(FIRST_ID.sub(f"FirstJobId={first}", text))
        self._run("slurmctld")

    def start_node(self, node: str) -> None:
        self._run("slurmd", "-N", node)

    def kill(self, daemon: str, with_signal: signal.Signals = signal.SIGKILL) -> None:
        """Ends `slurmctld` or `slurmd.n1`, by the id in its file."""
        path = self.folder / f"{daemon}.pid"
        pid = int(path.read_text())
        ticks = process.start_ticks(pid)
        assert ticks is not None
        os.kill(pid, with_signal)
        assert within(60, lambda: not process.is_alive(pid, ticks))
        path.unlink(missing_ok=True)

    def ask(self, *command: str) -> str:
        """What a command of Slurm's says. Raises CalledProcessError with a note of why it fails."""
        try:
            return subprocess.run(
                command,
                env=os.environ | self.environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        except subprocess.CalledProcessError as error:
            error.add_note(error.stderr)
            raise

    @contextmanager
    def administered(self) -> Iterator[None]:
        """Somebody looks after the cluster meanwhile, as after a failure.

        Nodes that Slurm has drained or marked as down come back, and jobs that it holds, or lets
        wait after a node's failure, go on at once.
        """
        over = threading.Event()

        def look_after() -> None:
            while not over.wait(0.5):
                self.try_to("update", f"nodename={','.join(NODES)}", "state=resume")
                for job in self.waiting(HELD):
                    self.try_to("release", job)
                for job in self.waiting(DELAYED):
                    self.try_to("update", f"jobid={job}", "starttime=now")

        administrator = threading.Thread(target=look_after)
        administrator.start()
        try:
            yield
        finally:
            over.set()
            administrator.join()

    def waiting(self, why: str) -> list[str]:
        """The jobs that wait for a reason."""
        with contextlib.suppress(subprocess.CalledProcessError):
            said = self.ask("squeue", "-h", "--array", "--states=PENDING", "--format=%F_%K|%r")
            jobs = (line.split("|") for line in said.splitlines())
            return [job for job, its in jobs if its == why]
        return []

    def try_to(self, *words: str) -> None:
        """Tells Slurm something that may not go."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.ask("scontrol", *words)

    def is_idle(self) -> bool:
        """Whether both nodes are free."""
        with contextlib.suppress(subprocess.CalledProcessError):
            return self.ask("sinfo", "-h", "-p", "bench", "-o", "%T %D").strip() == "idle 2"
        return False  # the controller does not listen yet

    def cancel_all(self) -> bool:
        """Cancels all jobs; whether they are gone."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.ask("scancel", "--quiet", "--user=root")
            return not self.ask("squeue", "-h")
        return False  # the controller does not listen yet

    def logs(self) -> str:
        """The last lines of each daemon's log."""
        its = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text()[-2000:]}" for log in its)

    def _run(self, *command: str) -> None:
        subprocess.run(
            [*command, "-f", str(self.folder / "slurm.conf")], check=True, capture_output=True
        )


@contextmanager
def cluster() -> Iterator[TestCluster]:
    """A cluster that is up; its daemons and jobs are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="dyno-slurm-", dir="/tmp"))
    folder.chmod(0o755)
    for name in ("state", *(f"spool.{node}" for node in NODES)):
        (folder / name).mkdir()
    text = CONFIGURATION.format(host=socket.gethostname(), folder=folder, ports=free_ports(4))
    (folder / "slurm.conf").write_text(text)
    its = TestCluster(folder)
    try:
        with its.identity(), its.daemons():
            yield its
            assert within(20, its.cancel_all), its.logs()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody has now."""
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(port.free("127.0.0.1"))
    return sorted(ports)
