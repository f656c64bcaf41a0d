"""The register of what a lab started, and the end of what a dead lab left behind.

Servers live in sessions of their own and survive a `kill -9` of dyno. So each is written down in
the run folder before it is started, and the next lab ends what is still there: by process id *and*
start time, and by working directory and program for what was born before its id could be written
down. Never by name.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dbdyno.host import place, process, shared_memory
from dbdyno.model.error import HostError

END_SIGNALS: process.Signals = (
    # PostgreSQL ends at once on SIGQUIT and removes its shared memory; a fast shutdown would write
    # out all dirty buffers of data that nobody wants any more.
    (signal.SIGQUIT, 20.0),
    (signal.SIGKILL, 10.0),
)
GENERATOR_SIGNALS: process.Signals = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What was started, by which lab. `pid` is None from before the start until it is known."""

    what: str  # "server pg17", "dyno-loadgen"
    boot_id: str
    lab_pid: int
    lab_ticks: int
    pid: int | None = None
    ticks: int | None = None
    folder: str | None = None  # a server's folder: its processes work in it
    programs: str | None = None  # the folder of the server's programs
    shared_memory: tuple[str, ...] = ()  # files under /dev/shm that the server mapped at its start


def register(
    what: str,
    *,
    pid: int | None = None,
    folder: Path | None = None,
    programs: Path | None = None,
    run_root: Path | None = None,
) -> Path:
    """Writes down a process that must not outlive this lab; returns the file, for `unregister`.

    The file is named for `what`: a later call with the same words replaces the earlier one.
    """
    folder_of_entries = (run_root or place.run_root()) / "started"
    folder_of_entries.mkdir(parents=True, exist_ok=True)
    entry = Entry(
        what=what,
        boot_id=boot_id(),
        lab_pid=os.getpid(),
        lab_ticks=process.start_ticks(os.getpid()) or 0,
        pid=pid,
        ticks=process.start_ticks(pid) if pid else None,
        folder=str(folder.resolve()) if folder else None,
        programs=str(programs.resolve()) if programs else None,
        shared_memory=tuple(shared_memory.mapped_by(pid)) if pid and folder else (),
    )
    path = folder_of_entries / (what.replace(" ", "-").replace("/", "_") + ".json")
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps(asdict(entry)))
    unfinished.replace(path)
    return path


def unregister(path: Path) -> None:
    """Forgets a process that has ended."""
    path.unlink(missing_ok=True)


def end_leftovers(run_root: Path | None = None) -> list[str]:
    """Ends what labs that are gone left running, and returns what that was, in words.

    Raises HostError where something does not end even when it is killed.
    """
    ended = []
    for path in sorted(((run_root or place.run_root()) / "started").glob("*.json")):
        entry = read(path)
        if entry is None:
            unregister(path)
            continue
        if entry.boot_id == boot_id() and process.is_alive(entry.lab_pid, entry.lab_ticks):
            continue
        if entry.boot_id == boot_id():
            ended += [f"{entry.what} (process {pid})" for pid in end_entry(entry)]
        unregister(path)
    return ended


def end_rest(path: Path) -> list[int]:
    """Ends what is left of a server of ours whose postmaster has ended; returns what still ran.

    Its entry stays until `unregister`, as its data are still there.
    """
    entry = read(path)
    return end_entry(entry) if entry is not None else []


def read(path: Path) -> Entry | None:
    """An entry of the register; None for what is no entry of this version of dyno."""
    try:
        raw = json.loads(path.read_text())
        return Entry(**raw | {"shared_memory": tuple(raw["shared_memory"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def end_entry(entry: Entry) -> list[int]:
    """Ends the processes of one entry, frees their shared memory; returns those that still ran."""
    found = [(entry.pid, entry.ticks)] if entry.pid and entry.ticks else []
    if entry.folder is None:
        return end_all(found, GENERATOR_SIGNALS, entry.what)
    ended = end_all(found, END_SIGNALS, entry.what)
    # Then what is left of it: an unregistered postmaster, the children of one that was killed.
    ended += end_all(stragglers(entry), END_SIGNALS, entry.what)
    shared_memory.free(entry.shared_memory, Path(entry.folder))
    return ended


def stragglers(entry: Entry) -> list[tuple[int, int]]:
    """Processes of the entry's programs that work in its folder, the parents first."""
    if entry.folder is None or entry.programs is None:
        return []
    found = []
    for pid in process.working_in(Path(entry.folder)):
        program, ticks = process.program(pid), process.start_ticks(pid)
        if program is not None and ticks is not None and program.is_relative_to(entry.programs):
            found.append((pid, ticks))
    return sorted(found, key=lambda one: (one[1], one[0]))


def end_all(found: Sequence[tuple[int, int]], signals: process.Signals, what: str) -> list[int]:
    """Ends the processes, returns those that still ran. Raises HostError where one does not end."""
    ended = []
    for pid, ticks in found:
        if not process.is_alive(pid, ticks):
            continue
        if not process.end(pid, ticks, signals):
            raise HostError(
                f"{what} of an earlier lab does not end (process {pid}): end it by hand"
            )
        ended.append(pid)
    return ended


def boot_id() -> str:
    """The kernel's name for this boot of the host: process ids of another one say nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
