"""Processes by id and start time: whether one still lives, whose child it is, how to end it.

A process id alone is used again by the kernel; with its start time it names one process for good.
"""

import os
import select
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

PROC = Path("/proc")
STATE, PARENT, START_TICKS = 0, 1, 19
"""Positions in /proc/PID/stat after the process's name (proc(5): fields 3, 4 and 22)."""

Signals = Sequence[tuple[signal.Signals, float]]
"""Signals to send in turn, each with the seconds to wait for the end before the next."""


def stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the name, which may hold anything; None: it is gone."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2 :].split()


def start_ticks(pid: int) -> int | None:
    """When the process began, in clock ticks since boot; None when there is none that runs."""
    fields = stat(pid)
    if fields is None or fields[STATE] in ("Z", "X"):
        return None
    return int(fields[START_TICKS])


def is_alive(pid: int, ticks: int) -> bool:
    """Whether exactly the process that began at `ticks` still runs."""
    return start_ticks(pid) == ticks


def pids() -> Iterator[int]:
    """All process ids of the host that can be seen."""
    return (int(name) for name in os.listdir(PROC) if name.isdigit())


def children(pid: int) -> list[int]:
    """The process's children, in no particular order; empty when it is gone."""
    try:
        # Kernels with CONFIG_PROC_CHILDREN; a postmaster has one thread, so its own task is enough.
        return [int(word) for word in (PROC / f"{pid}/task/{pid}/children").read_text().split()]
    except ProcessLookupError:
        return []
    except FileNotFoundError:
        return children_by_scan(pid) if stat(pid) is not None else []


def children_by_scan(pid: int) -> list[int]:
    """The process's children on kernels that do not list them: reads every process's parent."""
    found = []
    for other in pids():
        fields = stat(other)
        if fields is not None and fields[PARENT] == str(pid):
            found.append(other)
    return found


def command_line(pid: int) -> str:
    """The process's title, as it set it itself; empty when it is gone."""
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return raw.rstrip(b"\0 ").replace(b"\0", b" ").decode(errors="replace")


def working_in(folder: Path) -> list[int]:
    """The processes whose working directory is `folder` or lies in it, as far as we may see it.

    PostgreSQL's processes all work in their data directory.
    """
    inside = str(folder)
    found = []
    for pid in pids():
        try:
            place = os.readlink(PROC / str(pid) / "cwd")
        except OSError:
            continue  # gone, or of another user
        if place == inside or place.startswith(inside + "/"):
            found.append(pid)
    return found


def program(pid: int) -> Path | None:
    """The file that the process runs; None when it is gone or not ours to see."""
    try:
        return Path(os.readlink(PROC / str(pid) / "exe"))
    except OSError:
        return None


def end(pid: int, ticks: int, signals: Signals) -> bool:
    """Sends the signals in turn until the process that began at `ticks` has ended.

    Returns whether it has. A child of ours that ended counts as ended before it is waited for.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        # The handle holds the id: what is checked now is what the signals reach.
        if not is_alive(pid, ticks):
            return True
        for number, wait_s in signals:
            try:
                signal.pidfd_send_signal(handle, number)
            except ProcessLookupError:
                return True
            if select.select([handle], [], [], wait_s)[0]:
                return True
        return False
    finally:
        os.close(handle)
