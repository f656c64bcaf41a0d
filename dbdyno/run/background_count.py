"""The work of a counted server's background in a step, by kind, apart from the session's.

callgrind writes a process's counts where it enters a function that it was told, and at its end.
Every process of PostgreSQL reads its settings anew when it is told to, by one function: so that
function is a mark of all of them, which the lab sets by a signal before a step's load and after it.
A server of threads is one process, which writes the counts of each when Valgrind's vgdb asks. The
session, which lives between the two marks, does not see them.
"""

import itertools
import os
import re
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.engine.counting import Background
from dbdyno.host import data_folder, process
from dbdyno.host.callgrind import counts, program
from dbdyno.host.callgrind.counts import CallgrindCounts, Function
from dbdyno.host.program import unended
from dbdyno.model.error import HostError

FILE_BYTES_MAX = 64 << 20
MARKED_S_MAX = 10.0
"""How long processes may take to write what they have counted; later ones are left out."""
LOOK_EVERY_S = 0.01
ASKED_S_MAX = 60.0
"""The same for all threads of a process."""
OTHER = "other"
FILE = "counts."
PART = re.compile(r"counts\.(\d+)\.(\d+)(?:-\d+)?")
"""A file that was written before its process's end; of a server of threads one of each."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What each process had written when the lab set a mark."""

    parts: Mapping[int, int]  # by process: the number of its last file
    unix_ns: int


class CountMarks:
    """The mark after a server's last step, which is that before its next one: nothing is between.

    So a step has one mark to wait for and not two.
    """

    def __init__(self) -> None:
        self._last: tuple[int, Mark] | None = None  # by the server's first process

    def keep(self, first: int | None, mark: Mark) -> None:
        """Keeps the mark after a step."""
        self._last = None if first is None else (first, mark)

    def taken(self, first: int | None) -> Mark | None:
        """The mark after this server's step before, once; None: it had none that was counted."""
        last, self._last = self._last, None
        return last[1] if last is not None and last[0] == first else None


def mark(folder: Path, first: int, *, threads: bool = False) -> Mark:
    """Has the server's processes, or threads, write what they have counted, and begin anew.

    `first`: the process that the others are children of. Raises OSError where it is gone,
    HostError where threads cannot be asked.
    """
    if threads:
        ask(folder, first)
        return Mark(parts=parts(folder), unix_ns=time.time_ns())
    before, ends_s = parts(folder), time.monotonic() + MARKED_S_MAX
    living = process.children(first)
    os.kill(first, signal.SIGHUP)
    while time.monotonic() < ends_s:
        now = parts(folder)
        if all(now.get(pid, 0) > before.get(pid, 0) for pid in living if is_there(pid)):
            break
        time.sleep(LOOK_EVERY_S)
    return Mark(parts=parts(folder), unix_ns=time.time_ns())


def ask(folder: Path, pid: int) -> None:
    """Has a process write the counts of all of its threads. Raises HostError where it does not."""
    command = ["vgdb", f"--vgdb-prefix={folder / program.PIPES}", f"--pid={pid}", "dump"]
    owner = (process.PROC / str(pid)).stat()
    user, group = (owner.st_uid, owner.st_gid) if os.geteuid() == 0 else (None, None)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=ASKED_S_MAX,
            check=False,
            user=user,
            group=group,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"`vgdb` {unended(error)}") from error
    if done.returncode != 0:
        raise HostError(f"vgdb: {' '.join(done.stderr.split())[-200:]}")


def is_there(pid: int) -> bool:
    """Whether a process still runs."""
    return process.start_ticks(pid) is not None


def parts(folder: Path) -> dict[int, int]:
    """By process the number of the last file that it has written, those at its end left out."""
    rows: dict[int, int] = defaultdict(int)
    for name in os.listdir(folder):
        if (match := PART.fullmatch(name)) is not None:
            rows[int(match[1])] = max(rows[int(match[1])], int(match[2]))
    return dict(rows)


def between(folder: Path, begun: Mark, ended: Mark, background: Background) -> dict[str, float]:
    """The instructions of background processes between two marks, by what they are for.

    Raises HostError, OSError.
    """
    sums: dict[str, float] = defaultdict(float)
    last = written_between(folder, begun, ended)
    over = ended_between(folder, begun, ended, known=begun.parts.keys())
    for written in itertools.chain(last, over):
        named, works = 0.0, plain(written.with_callees)
        for function in works.keys() & background.kinds.keys():
            sums[background.kinds[function]] += works[function]
            named += works[function]
        rest = written.total.instructions - named
        if background.sessions and rest > 0 and not serves(written, background):
            sums[OTHER] += rest
    return dict(sums)


def serves(written: CallgrindCounts, background: Background) -> bool:
    """Whether a thread serves a session, or takes connections."""
    return not background.sessions.isdisjoint(plain(written.with_callees))


def plain(works: Mapping[Function, float]) -> dict[str, float]:
    """The work of functions by their names without parameters; those that did nothing left out."""
    sums: dict[str, float] = defaultdict(float)
    for (_, function), work in works.items():
        if work > 0:
            sums[function.partition("(")[0]] += work
    return dict(sums)


def written_between(folder: Path, begun: Mark, ended: Mark) -> Iterator[CallgrindCounts]:
    """What processes and threads wrote at the second mark that had written at the first, too."""
    for name in sorted(os.listdir(folder)):
        if (match := PART.fullmatch(name)) is None:
            continue
        pid, part = int(match[1]), int(match[2])
        if part == ended.parts.get(pid) and 0 < begun.parts.get(pid, 0) < part:
            yield whole(folder, name)


def ended_between(
    folder: Path, begun: Mark, ended: Mark, known: Collection[int]
) -> Iterator[CallgrindCounts]:
    """What processes wrote at their end that began and ended between two marks."""
    for path in folder.iterdir():
        pid = path.name.removeprefix(FILE)
        new = path.name.startswith(FILE) and pid.isdigit() and int(pid) not in known
        if new and begun.unix_ns <= path.lstat().st_mtime_ns <= ended.unix_ns:
            yield whole(folder, path.name)


def whole(folder: Path, name: str) -> CallgrindCounts:
    """The counts of a file, once its process has written all of it. Raises HostError, OSError."""
    ends_s = time.monotonic() + MARKED_S_MAX
    while True:
        text = data_folder.read(folder, name, FILE_BYTES_MAX).decode(errors="replace")
        try:
            return counts.read(text, str(folder / name))
        except HostError:
            if time.monotonic() > ends_s:
                raise
            time.sleep(LOOK_EVERY_S)
