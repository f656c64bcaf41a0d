"""One lab writes into a result folder at a time, from whatever host or container.

The file `lab.json` in the folder names the holder, who has it locked as long as it lives. On the
same boot of the same kernel the lock tells whether the holder is gone, also from another container.
Of another boot or host nobody can tell: that is refused, and the person decides.
"""

import contextlib
import fcntl
import os
import socket
import time
from pathlib import Path
from typing import Self

import msgspec

from dbdyno.model.error import DiskError, ResultError
from dbdyno.store import disk
from dbdyno.store.file import made

FILE = "lab.json"
HOLDER_BYTES_MAX = 4096
TRIES = 20
"""How often the file may go or come between two looks at it."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes into a result folder."""

    host: str
    boot_id: str
    process: int
    since_unix_ns: int


class FolderLock:
    """A result folder for this process alone, as a context manager.

    A folder that is missing is made, and goes again where it stays empty.
    """

    def __init__(self, folder: Path, boot_id: str, *, busy: str = "another lab writes") -> None:
        """`boot_id`: the kernel's name for this boot of the host; `busy`: what another does."""
        self._busy = busy
        self._path = folder / FILE
        self._holder = Holder(
            host=socket.gethostname(),
            boot_id=boot_id,
            process=os.getpid(),
            since_unix_ns=time.time_ns(),
        )
        self._file: disk.DiskFile | None = None

    def __enter__(self) -> Self:
        """Takes the lock, also over from a holder that is gone.

        Raises ResultError, naming the holder and the file, where another lab writes there.
        """
        try:
            made(self._path.parent)
            for _ in range(TRIES):
                self._file = self._made()
                if self._file is not None:
                    return self
                self._remove_left_behind()
        except OSError as error:
            raise ResultError(
                f"{self._path}: cannot be locked: {error.strerror}; choose another --out"
            ) from error
        raise ResultError(f"{self._path}: others take and leave it all the time; try again")

    def __exit__(self, *_: object) -> None:
        """Leaves the folder to others."""
        assert self._file is not None
        file, self._file = self._file, None
        try:
            with contextlib.suppress(FileNotFoundError):
                disk.remove(self._path)
        finally:
            disk.close(file)
        with contextlib.suppress(OSError, DiskError):  # it is not empty, as nearly always
            disk.remove_folder(self._path.parent)

    def _made(self) -> disk.DiskFile | None:
        """The file, made, locked and in its place at once; None where one is there.

        A link is what all file systems, NFS too, make for one process alone.
        """
        unfinished = self._path.with_name(f".{FILE}.{self._holder.host}.{self._holder.process}")
        with contextlib.suppress(FileNotFoundError):
            disk.remove(unfinished)
        file = disk.create(unfinished)
        try:
            fcntl.flock(file.descriptor, fcntl.LOCK_EX)
            disk.write(file, msgspec.json.encode(self._holder))
            disk.sync(file)
            disk.link(unfinished, self._path)
        except BaseException as error:
            disk.close(file)
            if not isinstance(error, FileExistsError):
                raise
            return None
        finally:
            disk.remove(unfinished)
        return file

    def _remove_left_behind(self) -> None:
        """Removes the file of a holder that is gone, if it is still there.

        Raises ResultError where its holder lives, or may live.
        """
        try:
            file = os.open(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            holder = self._read(file)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not self._path.exists() or not os.path.samestat(os.fstat(file), self._path.stat()):
                return
            if holder is None or holder.boot_id != self._holder.boot_id:
                raise BlockingIOError
            disk.remove(self._path)
        except BlockingIOError:
            raise ResultError(self._refusal(holder)) from None
        finally:
            os.close(file)

    def _refusal(self, holder: Holder | None) -> str:
        """Who has the folder, and how to get it."""
        if holder is None:
            return f"{self._path}: is damaged; delete it if no lab writes into the folder"
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(holder.since_unix_ns / 1e9))
        return (
            f"{self._path.parent}: {self._busy} there: process {holder.process} on host "
            f"{holder.host}, since {since}; wait for its end, or delete `{self._path}` if it is "
            "gone"
        )

    def _read(self, file: int) -> Holder | None:
        try:
            return msgspec.json.decode(os.pread(file, HOLDER_BYTES_MAX, 0), type=Holder)
        except msgspec.DecodeError:
            return None
