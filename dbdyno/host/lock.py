"""One lab measures on a host at a time: a lock that the kernel drops when its holder is gone."""

import fcntl
import os
import sys
import time
from pathlib import Path
from typing import Self

from dbdyno.model import Plan
from dbdyno.model.error import HostError

FOLDERS = (Path("/run/lock"), Path("/tmp"))
"""Where the lock file lies: the first that is there, the same for all users of the host."""
HOLDER_BYTES_MAX = 500
LOCKS = Path("/proc/locks")
UNNAMED = "of a user who does not say which"


def default_path() -> Path:
    """The lock file of this host. Raises HostError where there is no folder for it."""
    for folder in FOLDERS:
        if folder.is_dir():
            return folder / "dyno.lock"
    raise HostError(f"none of the folders {', '.join(map(str, FOLDERS))} is there: make one")


class HostLock:
    """The whole host, as a context manager: held from `with` to its end, or the process's.

    The file names the holder (process and plan). It stays when the lock is dropped: removing it
    would let a third lab in beside one that waits.
    """

    def __init__(
        self,
        *,
        plan: str = "",
        wait: bool = False,
        path: Path | None = None,
        minutes: float | None = None,
        quiet: bool = False,
    ) -> None:
        """`wait`: until the holder is done, instead of raising HostError on entering.

        `minutes`: how long the lock is held, where that is known. `quiet`: does not say for whom
        this one waits.
        """
        self._minutes = minutes
        self._quiet = quiet
        self.path = path or default_path()
        self._wait = wait
        self._plan = plan
        self._file: int | None = None

    @classmethod
    def of_plan(cls, plan: Plan, *, wait: bool, quiet: bool = False) -> Self:
        """The lock for a plan, which says until when where the plan has a limit."""
        minutes = plan.schedule.minutes_max
        return cls(plan=plan.name, wait=wait, minutes=minutes, quiet=quiet)

    def __enter__(self) -> Self:
        """Takes the lock. Raises HostError, naming the holder, where another lab has it."""
        file = open_shared(self.path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = read_holder(file)
            if not self._wait:
                os.close(file)
                raise HostError(
                    f"another lab measures on this host ({holder}): wait for its end, or say --wait"
                ) from None
            if not self._quiet:
                print(f"waits for another lab on this host ({holder})", file=sys.stderr)  # noqa: T201
            fcntl.flock(file, fcntl.LOCK_EX)
        write_holder(file, self._words())
        self._file = file
        return self

    def _words(self) -> str:
        """Who holds it, since when, and until when where that is known."""
        now_s = time.time()
        plan = f", plan {self._plan}" if self._plan else ""
        until = "" if self._minutes is None else f" until about {clock(now_s + 60 * self._minutes)}"
        return f"process {os.getpid()}{plan}, since {clock(now_s)}{until}"

    def __exit__(self, *_: object) -> None:
        """Drops the lock."""
        assert self._file is not None
        write_holder(self._file, "")
        os.close(self._file)
        self._file = None


def clock(unix_s: float) -> str:
    """The time of day here: 14:02."""
    return time.strftime("%H:%M", time.localtime(unix_s))


def holder(path: Path | None = None, locks: Path = LOCKS) -> str | None:
    """Who holds the lock now, in words; None where nobody does. Takes no lock to find out.

    From the kernel's list of locks: `1: FLOCK ADVISORY WRITE 4711 fe:00:12345 0 EOF` (proc(5)).
    """
    path = path or default_path()
    try:
        found, listed = path.stat(), locks.read_text()
        words = path.read_bytes()[:HOLDER_BYTES_MAX].decode(errors="replace").strip()
    except OSError:  # no lab was ever here, or none of it is for us to see
        return None
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    held = [line.split() for line in listed.splitlines() if " FLOCK " in line]
    if not any(device in fields and "->" not in fields for fields in held):
        return None
    return words or UNNAMED


def is_held_by_another(path: Path | None = None) -> bool:
    """Whether a process that is not this one holds the host's lock now."""
    words = holder(path)
    return words is not None and not words.startswith(f"process {os.getpid()},")


def open_shared(path: Path) -> int:
    """Opens the lock file, made where it is missing, so that every user can lock it and read it.

    It is opened without O_CREAT first: in a folder open to all, kernels refuse to open another
    user's file with it (fs.protected_regular). A file that only another may write is locked all the
    same.
    """
    for flags in (os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDWR, os.O_RDONLY):
        try:
            file = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except (FileNotFoundError, FileExistsError, PermissionError) as error:
            problem = error
            continue
        except OSError as error:
            raise HostError(f"`{path}` cannot be locked: {error.strerror}: remove it") from error
        if flags & os.O_CREAT:
            os.fchmod(file, 0o666)
        return file
    raise HostError(f"`{path}` cannot be opened to lock the host: {problem.strerror}") from problem


def read_holder(file: int) -> str:
    """Who holds the lock, in words."""
    text = os.pread(file, HOLDER_BYTES_MAX, 0).decode(errors="replace").strip()
    return text or UNNAMED


def write_holder(file: int, text: str) -> None:
    """Writes who holds the lock; a file of another user that we may only read stays as it is."""
    if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        return
    os.ftruncate(file, 0)
    os.pwrite(file, text.encode()[:HOLDER_BYTES_MAX], 0)
