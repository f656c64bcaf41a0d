"""The PostgreSQL that arms are measured on: the newest one here, with a table for each."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench.jobs import ACCOUNTS_OF_SCALE, TELLERS_OF_SCALE
from bench.pairs import BenchArm, Sample
from bench.process import ProgramFailed
from dbdyno.engine import Build, LabServer, Place
from dbdyno.engine.arm_server import provide
from dbdyno.host import leftovers, place
from dbdyno.host.lock import HostLock
from dbdyno.host.observe import files, procfs
from dbdyno.host.observe.usage import TICKS_PER_S
from dbdyno.model import Address, Arm
from dbdyno.model.engine import TRAITS

DATABASE = "bench"
SETTINGS = {
    "shared_buffers": "1GB",
    "autovacuum": "off",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
}
"""All else as PostgreSQL has it, fsync on. A vacuum or a checkpoint in the middle of one run would
be taken for the client's doing."""
CONNECTIONS_MAX = 600
NEWEST = Arm(name="bench", engine="postgres", version=TRAITS["postgres"].newest, settings=SETTINGS)
"""The server beside which most is measured."""
SESSIONS = ("backend", "other")
"""Kinds of processes that clients have; one that has ended just now has no title any more."""
SESSIONS_END_S_MAX = 30.0
LOOK_S = 0.01


@contextmanager
def running(arm: Arm = NEWEST, build: Build | None = None) -> Iterator[LabServer]:
    """A server with an empty database, while the host is locked against other labs.

    It lies in the lab's own folders, where the next lab ends what is left of it. `build`: of the
    arm, where it is known.
    """
    with HostLock(plan="make bench", wait=True), tempfile.TemporaryDirectory() as log_dir:
        leftovers.end_leftovers()
        with running_at(place.default(log_dir=Path(log_dir)), arm, build) as server:
            yield server


@contextmanager
def running_at(where: Place, arm: Arm = NEWEST, build: Build | None = None) -> Iterator[LabServer]:
    """A server with an empty database at a place of its own."""
    server = provide(arm, place=where, build=build, connections=CONNECTIONS_MAX)
    try:
        server.prepare()
        server.start()
        server.create_database(DATABASE)
        yield server
    finally:
        server.stop(crash=True)
        server.remove()


def address_of(server: LabServer) -> Address:
    """Where it answers: its unix socket."""
    address = server.address()
    assert address is not None, "a PostgreSQL has an address"
    return address


def make_accounts(server: LabServer, scale: int) -> None:
    """pgbench's tables as it makes them itself; by SQL, as it may be missing."""
    accounts, tellers = ACCOUNTS_OF_SCALE * scale, TELLERS_OF_SCALE * scale
    server.execute(
        "CREATE TABLE pgbench_history "
        "(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))",
        "CREATE TABLE pgbench_tellers (tid int NOT NULL, bid int, tbalance int, filler char(84))",
        "CREATE TABLE pgbench_accounts (aid int NOT NULL, bid int, abalance int, filler char(84))",
        "CREATE TABLE pgbench_branches (bid int NOT NULL, bbalance int, filler char(88))",
        f"INSERT INTO pgbench_branches SELECT n, 0 FROM generate_series(1, {scale}) n",
        f"INSERT INTO pgbench_tellers SELECT n, (n - 1) / {TELLERS_OF_SCALE} + 1, 0 "
        f"FROM generate_series(1, {tellers}) n",
        f"INSERT INTO pgbench_accounts SELECT n, (n - 1) / {ACCOUNTS_OF_SCALE} + 1, 0, '' "
        f"FROM generate_series(1, {accounts}) n",
        "ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid)",
        "ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid)",
        "ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)",
    )
    settle(server)


def settle(server: LabServer) -> None:
    """Vacuums, analyses and writes everything out, so that the first run is like the others."""
    server.execute("VACUUM (FREEZE, ANALYZE)", "CHECKPOINT")


def freshen_tpcb(server: LabServer) -> None:
    """What pgbench does before a run of its own script: short tables short, no history."""
    server.execute("VACUUM pgbench_branches", "VACUUM pgbench_tellers", "TRUNCATE pgbench_history")


def observed(
    running: LabServer, arm: BenchArm, cpu_s: Callable[[LabServer], float] | None = None
) -> BenchArm:
    """The arm, each run with the server's CPU: of its sessions, or what `cpu_s` tells."""
    told = cpu_s or sessions_s

    def run(seconds: float) -> Sample:
        before_s = told(running)
        sample = arm.run(seconds)
        return replace(sample, server_s=told(running) - before_s)

    return replace(arm, run=run)


def sessions_s(running: LabServer) -> float:
    """The CPU of all sessions until now, when the last has ended, from their connecting on.

    The kernel adds what a process took to its parent's account when it has ended: exactly, and
    shown in hundredths of a second. Raises ProgramFailed where one does not end.
    """
    end_s = time.monotonic() + SESSIONS_END_S_MAX
    while any(kind in SESSIONS for kind in running.processes().values()):
        if time.monotonic() > end_s:
            raise ProgramFailed(f"a session is open {SESSIONS_END_S_MAX:g} s after its client")
        time.sleep(LOOK_S)
    return _stat(running).children_ticks / TICKS_PER_S


def process_s(running: LabServer) -> float:
    """The CPU of a server's one process until now. Raises ProgramFailed where it is gone."""
    found = _stat(running)
    return (found.user_ticks + found.system_ticks) / TICKS_PER_S


def _stat(running: LabServer) -> procfs.ProcessStat:
    """What the kernel says of the server's first process."""
    text = files.record(f"/proc/{running.postmaster_pid}/stat")
    if text is None:
        raise ProgramFailed("the server is gone")
    return procfs.process_stat(text)
