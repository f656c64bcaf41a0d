"""Frees the shared memory of a PostgreSQL server that was killed and will not be started again.

A server that shuts down, or starts again in the same data directory, frees it itself. One that was
killed and whose data directory is then removed leaves a System V segment and files under /dev/shm.
"""

import array
import ctypes
import time
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path("/dev/shm")
PREFIX = "PostgreSQL."
IPC_RMID = 0
DETACH_S_MAX = 2.0
LOOK_EVERY_S = 0.01
SEGMENT_LINE = 6
"""The line of postmaster.pid, from 0, with key and id of the System V segment."""


def mapped_by(pid: int) -> list[str]:
    """The files of dynamic shared memory that a process of a server maps: its control segment.

    None of a process that is gone, or not ours to see.
    """
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []
    paths = {line.split(maxsplit=5)[5] for line in lines if str(FOLDER / PREFIX) in line}
    return sorted(path for path in paths if path.startswith(str(FOLDER)))


def free(control: Iterable[str], folder: Path) -> None:
    """Frees what an ended server left, by its control segments and the data under `folder`."""
    for path in map(Path, control):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        for file in segments_named_in(content, path):
            file.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    for pid_file in folder.rglob("postmaster.pid"):
        free_system_v(pid_file)


def segments_named_in(content: bytes, control: Path) -> list[Path]:
    """The files whose handle stands in a control segment.

    Its layout differs between versions, the handles do not: 32-bit numbers at multiples of four
    bytes, random, and the number in a file's name.
    """
    words = set(array.array("I", content[: len(content) // 4 * 4]))
    owner = control.stat().st_uid
    return [
        file
        for file in FOLDER.glob(PREFIX + "*")
        if file.name[len(PREFIX) :].isdigit()
        and int(file.name[len(PREFIX) :]) in words
        and file.stat().st_uid == owner
    ]


def free_system_v(pid_file: Path) -> None:
    """Removes the System V segment that postmaster.pid names, unless somebody is attached to it.

    A child of a killed server that is just ending is attached for a moment longer than its program
    can be seen, so it is waited for.
    """
    lines = pid_file.read_text().splitlines()
    numbers = lines[SEGMENT_LINE].split() if len(lines) > SEGMENT_LINE else []
    end_s = time.monotonic() + DETACH_S_MAX
    while (attached := attached_to(numbers)) and time.monotonic() < end_s:
        time.sleep(LOOK_EVERY_S)
    if attached == 0:
        ctypes.CDLL(None).shmctl(int(numbers[1]), IPC_RMID, None)


def attached_to(numbers: list[str]) -> int | None:
    """How many processes are attached to the segment of this key and id; None: there is none."""
    for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        key, segment, _mode, _size, _creator, _last, attached, *_ = line.split()
        if [key, segment] == numbers:
            return int(attached)
    return None
