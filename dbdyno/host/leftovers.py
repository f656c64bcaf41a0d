"""The register of what a lab started, and the end of what a dead lab left behind.

Servers live in sessions of their own and survive a `kill -9` of dyno. So each writes itself down in
the run folder before its program begins, and the next lab ends what is still there: by process id
*and* start time, and what holds the memory that such a process made. Never by name, by folder or
by user. Each lab has entries of its own, and leaves those of a lab that lives alone.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
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
class Leftover:
    """What was started, by which lab. `pid` is None until its process begins."""

    what: str  # "server pg17", "dyno-loadgen"
    boot_id: str
    namespace: str  # in which process ids are these processes
    lab_pid: int
    lab_ticks: int
    pid: int | None = None
    ticks: int | None = None
    folder: str | None = None  # a server's
    shared_memory: tuple[str, ...] = ()  # files under /dev/shm that the server mapped at its start

    @property
    def is_known_here(self) -> bool:
        """Whether its process ids say anything: of another container they say nothing."""
        return self.boot_id == boot_id() and self.namespace == namespace()

    @property
    def is_of_a_living_lab(self) -> bool:
        """Whether the lab that wrote it lives, as far as that can be told here."""
        return self.is_known_here and process.is_alive(self.lab_pid, self.lab_ticks)

    @property
    def started(self) -> tuple[tuple[int, int], ...]:
        """Its process with its start time; none before it begins."""
        return ((self.pid, self.ticks),) if self.pid and self.ticks else ()


def register(
    what: str, *, pid: int | None = None, folder: Path | None = None, run_root: Path | None = None
) -> Path:
    """Writes down a process that must not outlive this lab; returns the file, for `unregister`.

    The file is named for `what` and this lab: a later call with the same words replaces it.
    """
    folder_of_entries = _entries(run_root)
    folder_of_entries.mkdir(parents=True, exist_ok=True)
    lab_ticks = process.start_ticks(os.getpid()) or 0
    entry = Leftover(
        what=what,
        boot_id=boot_id(),
        namespace=namespace(),
        lab_pid=os.getpid(),
        lab_ticks=lab_ticks,
        pid=pid,
        ticks=process.start_ticks(pid) if pid else None,
        folder=str(folder.resolve()) if folder else None,
        shared_memory=tuple(shared_memory.mapped_by(pid)) if pid and folder else (),
    )
    name = what.replace(" ", "-").replace("/", "_")
    path = folder_of_entries / f"{name}.{entry.lab_pid}-{lab_ticks}.json"
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps(asdict(entry)))
    unfinished.replace(path)
    return path


@contextmanager
def noted(path: Path) -> Iterator[Callable[[], None]]:
    """What a child calls before its program begins, so that the entry `path` names it.

    By a file that is open already: the child may be of an account that cannot open it.
    """
    entry = read(path)
    assert entry is not None, "the lab has just written it"
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    length = os.fstat(file).st_size

    def note() -> None:
        pid = os.getpid()
        own = replace(entry, pid=pid, ticks=process.start_ticks(pid))
        os.pwrite(file, json.dumps(asdict(own)).ljust(length).encode(), 0)

    try:
        yield note
    finally:
        os.close(file)


def unregister(path: Path) -> None:
    """Forgets a process that has ended."""
    path.unlink(missing_ok=True)


def other_lab(what: str, folder: Path, run_root: Path) -> int | None:
    """The process of another lab that lives and has a server called so, or in this folder."""
    own = os.getpid(), process.start_ticks(os.getpid())
    for path in _entries(run_root).glob("*.json"):
        entry = read(path)
        if entry is None or (entry.lab_pid, entry.lab_ticks) == own:
            continue
        if entry.is_of_a_living_lab and (
            entry.what == what or entry.folder == str(folder.resolve())
        ):
            return entry.lab_pid
    return None


def end_leftovers(run_root: Path | None = None) -> list[str]:
    """Ends what labs that are gone left running, and returns what that was, in words.

    Raises HostError where something does not end even when it is killed.
    """
    ended = []
    for path in sorted(_entries(run_root).glob("*.json")):
        entry = read(path)
        if entry is None:
            unregister(path)
            continue
        if entry.is_of_a_living_lab:
            continue
        if entry.is_known_here:
            ended += [f"{entry.what} (process {pid})" for pid in end_entry(entry)]
        elif entry.boot_id == boot_id():
            continue  # of another container, whose lab may live
        unregister(path)
    return ended


def end_rest(path: Path) -> list[int]:
    """Ends what is left of a server of ours whose postmaster has ended; returns what still ran.

    Its entry stays until `unregister`, as its data are still there.
    """
    entry = read(path)
    return end_entry(entry) if entry is not None else []


def read(path: Path) -> Leftover | None:
    """An entry of the register; None for what is no entry of this version of dyno."""
    try:
        raw = json.loads(path.read_text())
        known = {field.name: raw[field.name] for field in fields(Leftover)}
        return Leftover(**known | {"shared_memory": tuple(known["shared_memory"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def end_entry(entry: Leftover) -> list[int]:
    """Ends the processes of one entry, frees their shared memory; returns those that still ran."""
    if entry.folder is None:
        return end_all(entry.started, GENERATOR_SIGNALS, entry.what)
    memory = entry.shared_memory
    if not memory and entry.pid and entry.ticks and process.is_alive(entry.pid, entry.ticks):
        memory = tuple(shared_memory.mapped_by(entry.pid))
    ended = end_all(entry.started, END_SIGNALS, entry.what)
    # Then the children of one that was killed: only they have its memory.
    ended += end_all(holders(memory, entry.ticks or 0), END_SIGNALS, entry.what)
    shared_memory.free(memory, Path(entry.folder))
    return ended


def holders(memory: Sequence[str], since_ticks: int) -> list[tuple[int, int]]:
    """Processes that map this shared memory and began since then, the oldest first."""
    if not memory:
        return []
    pids = [
        pid for pid in process.pids() if not set(memory).isdisjoint(shared_memory.mapped_by(pid))
    ]
    born = ((pid, process.start_ticks(pid)) for pid in pids)
    found = [(pid, ticks) for pid, ticks in born if ticks is not None and ticks >= since_ticks]
    return sorted(found, key=lambda holder: (holder[1], holder[0]))


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


def namespace() -> str:
    """The kernel's name for the process ids that this process sees: a container has its own."""
    return os.readlink("/proc/self/ns/pid")


def _entries(run_root: Path | None) -> Path:
    return (run_root or place.run_root()) / "started"
