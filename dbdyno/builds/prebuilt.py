"""Prebuilt servers in the cache: each appears there whole, by one rename, or not at all.

cache_root/<engine>/<version>/       a server, open to all accounts
cache_root/<engine>/.unfinished-*/   while it is brought; the next fetch sweeps up what a break left
cache_root/<engine>/.lock            held by who brings one
"""

import fcntl
import lzma
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dbdyno.builds import cache
from dbdyno.model.error import ServerError, refusal

UNFINISHED = ".unfinished-"


@contextmanager
def locked(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Makes a folder of the cache, waits until nobody else brings into it, and sweeps it.

    Raises ServerError where it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise ServerError(f"`{folder}` cannot be written: {refusal(error)}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another dyno that brings a server into `{folder}`")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        for unfinished in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def workspace(folder: Path, server: str) -> Iterator[Path]:
    """An empty folder beside `folder`, to bring a server into; removed at the end.

    Raises ServerError, which names the server, where it cannot be written or `install` fails.
    """
    try:
        with tempfile.TemporaryDirectory(
            prefix=f"{UNFINISHED}{folder.name}-", dir=folder.parent
        ) as made:
            yield Path(made)
    except OSError as error:
        raise ServerError(f"{server} cannot be put at `{folder}`: {refusal(error)}") from error


def install(tree: Path, folder: Path) -> None:
    """Opens a server in a workspace to all accounts and makes it `folder`. Raises OSError."""
    cache.open_to_all(tree, folder.parent.parent)
    tree.rename(folder)


def unpack(archive: IO[bytes], into: Path, url: str, leave_out: Collection[str] = ()) -> None:
    """Unpacks a tarball; nothing of it can get outside of `into`.

    `url` names it in errors. `leave_out`: folders directly below its top that are not unpacked.
    Raises ServerError where it is no tarball, OSError where it cannot be written.
    """
    try:
        with tarfile.open(fileobj=archive) as opened:
            for member in opened:
                if not set(Path(member.name).parts[1:2]) & set(leave_out):
                    extract(opened, member, into)
    except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ServerError(f"`{url}` cannot be unpacked: {reason}") from error


def extract(archive: tarfile.TarFile, member: tarfile.TarInfo, into: Path) -> None:
    """Unpacks one member as data: inside of `into`, owned by this account, no device.

    Raises TarError for what does not fit, OSError where it cannot be written.
    """
    if hasattr(tarfile, "data_filter"):
        archive.extract(member, into, filter="data")
        return
    # Python 3.11.0 to 3.11.3, as Debian 12 has it, lacks the filter.
    if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
        raise tarfile.ExtractError(f"`{member.name}` is no file, folder or link")
    target = into / member.name
    places = [target]
    if member.issym():
        places.append(target.parent / member.linkname)
    elif member.islnk():
        places.append(into / member.linkname)
    if not all(place.resolve().is_relative_to(into.resolve()) for place in places):
        raise tarfile.ExtractError(f"`{member.name}` is outside the destination")
    member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
    member.mode = 0o755 if member.isdir() else member.mode & 0o755
    archive.extract(member, into)
