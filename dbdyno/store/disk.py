"""Every change to a result folder, each one call of the system: no other code makes any.

Tests record these calls, build the folder as each of them leaves it, and make each of them fail.
What children write (a server's log, the generator's log of transactions) arrives beside them: a
block's end syncs that, too.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.error import disk_errors_named

NEW = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True)
class DiskFile:
    """A file that is open for writing."""

    path: Path
    descriptor: int


def create(path: Path, *, anew: bool = False) -> DiskFile:
    """A new file; `anew`: in place of one that is there. Raises FileExistsError."""
    with disk_errors_named(path):
        return DiskFile(path, os.open(path, NEW | (os.O_TRUNC if anew else os.O_EXCL), 0o644))


def append(path: Path) -> DiskFile:
    """A file to write at its end, made where it is missing."""
    with disk_errors_named(path):
        return DiskFile(path, os.open(path, NEW | os.O_APPEND, 0o644))


def write(file: DiskFile, content: bytes) -> None:
    """Adds to a file; the system has it then, whatever becomes of this process."""
    rest = memoryview(content)
    with disk_errors_named(file.path):
        while rest:  # a write may be short
            rest = rest[os.write(file.descriptor, rest) :]


def sync(file: DiskFile) -> None:
    """Waits until a file's content is on the disk."""
    with disk_errors_named(file.path):
        os.fsync(file.descriptor)


def close(file: DiskFile) -> None:
    """Closes a file."""
    with disk_errors_named(file.path):
        os.close(file.descriptor)


def sync_path(path: Path) -> None:
    """Makes a folder's names durable, or the content of a file, whoever wrote it."""
    with disk_errors_named(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def rename(path: Path, to: Path) -> None:
    """Gives a file or folder another name, at once."""
    with disk_errors_named(to):
        path.rename(to)


def link(path: Path, to: Path) -> None:
    """Gives a file a second name. Raises FileExistsError."""
    with disk_errors_named(to):
        to.hardlink_to(path)


def remove(path: Path) -> None:
    """Removes a file's name. Raises FileNotFoundError."""
    with disk_errors_named(path):
        path.unlink()


def make_folder(path: Path) -> None:
    """Makes a folder in one that is there. Raises FileExistsError."""
    with disk_errors_named(path):
        path.mkdir()


def remove_folder(path: Path) -> None:
    """Removes an empty folder. Raises OSError where it is not empty."""
    with disk_errors_named(path):
        path.rmdir()


def set_rights(path: Path, mode: int) -> None:
    """Sets who may read and write a file."""
    with disk_errors_named(path):
        path.chmod(mode)


def set_changed(path: Path, unix_ns: int) -> None:
    """Sets when a file was changed."""
    with disk_errors_named(path):
        os.utime(path, ns=(unix_ns, unix_ns))
