"""Measures what stopping a waiting server does to a checkpoint: in docs/plan.md, arms in turn.

    python tools/stopped_waits.py /var/cache/dyno/postgres/17.11

A server of that folder spreads a checkpoint over a minute. Meanwhile seconds of its own alternate
with waits, in which it runs or is stopped; printed is what the checkpointer writes in each.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from dbdyno.engine import LabServer, Place
from dbdyno.engine.arm_server import provide
from dbdyno.host import process
from dbdyno.host.account import choose
from dbdyno.host.observe import procfs
from dbdyno.model import Arm

SETTINGS = {
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "60s",
    "max_wal_size": "20GB",
    "shared_buffers": "600MB",
}
ROWS = "SELECT i, repeat('x', 900) AS pad FROM generate_series(1, 300000) AS i"
BEGUN_BYTES = 4 << 20
BEGUN_S_MAX = 90.0
CYCLES_S = 36.0
MB = 1e6


def main(base_dir: Path) -> None:
    """Waits of one second as with two arms, and of three as with four, each running and stopped."""
    for wait_s in (1.0, 3.0):
        for stops in (False, True):
            with tempfile.TemporaryDirectory(prefix="dyno-stopped-", dir="/var/tmp") as folder:
                base = Path(folder)
                base.chmod(0o755)
                parts = {name: base / name for name in ("data", "run", "cache", "log")}
                place = Place(
                    data_root=parts["data"],
                    run_root=parts["run"],
                    cache_root=parts["cache"],
                    log_dir=parts["log"],
                    account=choose("postgres"),
                )
                place.make()
                arm = Arm(name="a", engine="postgres", base_dir=base_dir, settings=SETTINGS)
                server = provide(arm, place=place)
                server.prepare()
                try:
                    server.start()
                    own, waiting = written(server, wait_s, stops=stops)
                finally:
                    server.stop(crash=True)
            how = "stopped" if stops else "running"
            print(
                f"waits of {wait_s:.0f} s, {how}: {own:.1f} MB/s in turns, {waiting:.1f} in waits"
            )


def written(server: LabServer, wait_s: float, *, stops: bool) -> tuple[float, float]:
    """What the checkpointer writes in its own seconds and in waits, in MB a second."""
    server.create_database("stopped")
    server.execute(f"CREATE TABLE t AS {ROWS}", "CHECKPOINT", database="stopped")
    postmaster = server.postmaster_pid
    assert postmaster is not None
    (checkpointer,) = (pid for pid, kind in server.processes().items() if kind == "checkpointer")
    before = bytes_written(checkpointer)
    server.execute("UPDATE t SET i = i + 1", database="stopped")
    end_s = time.monotonic() + BEGUN_S_MAX
    while bytes_written(checkpointer) < before + BEGUN_BYTES and time.monotonic() < end_s:
        time.sleep(0.1)
    own, waiting, cycles = 0, 0, round(CYCLES_S / (1 + wait_s))
    for _ in range(cycles):
        begun = bytes_written(checkpointer)
        time.sleep(1)
        paused = bytes_written(checkpointer)
        members = [postmaster, *process.children(postmaster)]
        if stops:
            tell(members, signal.SIGSTOP)
        time.sleep(wait_s)
        if stops:
            tell(members, signal.SIGCONT)
        own += paused - begun
        waiting += bytes_written(checkpointer) - paused
    return own / cycles / MB, waiting / cycles / wait_s / MB


def bytes_written(pid: int) -> int:
    """What a process has given the system to write."""
    return procfs.process_io(Path(f"/proc/{pid}/io").read_text())[1]


def tell(pids: Iterable[int], number: signal.Signals) -> None:
    """Sends a signal to processes of the server that this program started."""
    for pid in pids:
        os.kill(pid, number)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
