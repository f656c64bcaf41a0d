"""The folders of one server's data: made by us, known by a mark, never taken from somebody else.

data_root/<arm>/made-by-dyno     the mark: without it nothing here is removed
data_root/<arm>/data/            the data directory
wal_root/<arm>/wal/              its write-ahead log, where the plan names a folder for it
"""

import errno
import os
import shutil
import stat
import time
from pathlib import Path

from dbdyno.host import account as accounts
from dbdyno.host import process
from dbdyno.host.account import Account
from dbdyno.model.error import HostError, ServerError

MARK = "made-by-dyno"
LONG = "long-files"
"""A further mark: files are as long as another server's, and have no rows."""
SYSTEM = (Path("/usr"), Path("/usr/local"))
REMOVE_S_MAX, AGAIN_S = 20.0, 0.1
"""So long, and so often, a folder is removed in which processes that end still write."""
BUSY = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.EBUSY})
"""What they make of a removal."""
READ_BYTES_MAX = 1 << 20
"""More than any file has that is read whole."""


def check(folder: Path, account: Account, arm: str) -> None:
    """Raises ServerError where `folder` is foreign, HostError where it is closed."""
    if blocked := accounts.blocked_at(folder.parent, account):
        raise HostError(
            f"server.data_dir: account `{account.name}` cannot enter `{blocked}`: choose another "
            f"folder, or open it (chmod o+x {blocked})"
        )
    if changeable := accounts.changeable_at(folder.parent, account):
        raise HostError(
            f"server.data_dir: others than root can change `{changeable}`, and so exchange what "
            "root writes below it: choose another folder, or let root alone own and change it"
        )
    if not folder.exists():
        return
    if not (folder / MARK).is_file() and any(folder.iterdir()):
        raise ServerError(
            f"arms.{arm}: `{folder}` was not made by dyno: move it away, or choose another "
            "`data_dir`"
        )


def refuse_used(folder: Path, arm: str) -> None:
    """Raises ServerError where a server works in the folder."""
    holder = user_of(folder)
    if holder is not None:
        raise ServerError(
            f"arms.{arm}: `{folder}` is in use by process {holder}: end that, or move data_dir"
        )


def user_of(folder: Path) -> int | None:
    """The server process that works in `folder`; None where nobody does."""
    try:
        pid = int(read(folder / "data", "postmaster.pid").split(b"\n", 1)[0])
    except (OSError, ValueError):
        pid = None
    working = process.working_in(folder)
    return pid if pid in working else min(working, default=None)


def read(folder: Path, name: str, bytes_max: int = READ_BYTES_MAX) -> bytes:
    """The first bytes of a file in a server's folder, whose account may have put anything there.

    Raises FileNotFoundError; OSError where a link, a FIFO or the file of somebody else lies there.
    """
    path = folder / name
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid != folder.lstat().st_uid:
            raise PermissionError(errno.EPERM, "is no file of the server's account", str(path))
        return file.read(bytes_max)


def make(folder: Path, name: str, account: Account) -> Path:
    """Makes `folder` anew, with its mark and an empty folder `name` of the account in it.

    Raises HostError where it cannot be made.
    """
    remove(folder)
    try:
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        (folder / MARK).write_text("This folder is dyno's: it may be removed at any time.\n")
        account.make_folder(folder / name)
    except OSError as error:
        raise HostError(
            f"`{folder}` cannot be made: {error.strerror}: choose another folder"
        ) from error
    return folder / name


def mark_long(folder: Path) -> None:
    """Says of a folder that its files are long and empty; `make` begins without that."""
    (folder / LONG).write_text("The files in here have holes in place of rows: plan only.\n")


def make_long(folder: Path) -> None:
    """Makes a private folder that is swept with those of files that are long and empty."""
    folder.mkdir(mode=0o700, parents=True)
    (folder / MARK).touch()
    mark_long(folder)


def sweep_long(root: Path) -> None:
    """Removes the folders of a root whose lab was killed while it planned.

    The caller has the host's lock, so that no other lab has one.
    """
    for mark in root.glob(f"*/{LONG}"):
        remove(mark.parent)


def refuse_long(folder: Path, arm: str) -> None:
    """Raises ServerError where the files of a folder are long and empty."""
    if (folder / LONG).exists():
        raise ServerError(
            f"arms.{arm}: `{folder}` has long files without rows, by which `dyno plans` plans: "
            "nothing else runs on them"
        )


def bring(programs: Path, target: Path) -> None:
    """Lets programs lie at another path, too: their files linked, or copied where they cannot be.

    Those of the whole system (`/usr`) by a link to their folder. Raises HostError.
    """
    try:
        if programs.resolve() in SYSTEM:
            target.symlink_to(programs)
        else:
            shutil.copytree(programs, target, symlinks=True, copy_function=link)
    except (OSError, shutil.Error) as error:
        raise HostError(f"`{programs}` cannot be copied to `{target}`: {error}") from error


def link(source: str, target: str) -> None:
    """One more name of a file; a copy on another file system, or of somebody else's file."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def remove(folder: Path) -> None:
    """Removes a folder that has our mark; one without it is left alone, whatever is in it.

    Raises HostError where it cannot be removed.
    """
    if (folder / MARK).is_file():
        # The marks go last: what a break leaves of the folder is still known as what it is.
        for inside in sorted(folder.iterdir(), key=lambda inside: inside.name == LONG):
            if inside.name != MARK:
                clear(inside)
        clear(folder)
    elif folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def clear(place: Path, seconds_max: float = REMOVE_S_MAX) -> None:
    """Removes a file, or a folder in which processes of a server may still write as they end.

    What appears or goes meanwhile is no failure: dyno tries again. Raises HostError where it is
    there after `seconds_max`.
    """
    end_s = time.monotonic() + seconds_max
    while True:
        try:
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
        except OSError as error:
            if error.errno not in BUSY or time.monotonic() > end_s:
                raise HostError(f"`{place}` cannot be removed: {why_kept(place, error)}") from error
            time.sleep(AGAIN_S)
        else:
            return


def why_kept(place: Path, error: OSError) -> str:
    """What keeps a folder from being removed: the processes that work in it, else the error."""
    working = ", ".join(map(str, process.working_in(place)))
    return f"processes {working} work in it: end them" if working else f"{error.strerror}"
