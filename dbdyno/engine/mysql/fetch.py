"""Brings builds of MySQL and MariaDB from their official archives into the cache.

cache_root/<engine>/<version>/       a server, open to all accounts
cache_root/<engine>/.unfinished-*/   while it is brought; the next fetch sweeps up what a break left
cache_root/<engine>/.lock            held by who brings one
"""

from __future__ import annotations

import fcntl
import lzma
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdyno.builds import Build, download
from dbdyno.builds import cache as builds_cache
from dbdyno.engine.mysql import archive, build, verify
from dbdyno.engine.mysql.archive import Release
from dbdyno.host import account as accounts
from dbdyno.host import place
from dbdyno.model import engine as engines
from dbdyno.model.error import ServerError

UNFINISHED = ".unfinished-"
LEFT_OUT = ("mysql-test", "mariadb-test")
"""Folders of an archive that no server needs: the tests, most of MariaDB's gigabyte."""


def fetch(engine: str, version: str, say: Callable[[str], None], cache: Path | None = None) -> Path:
    """The folder of a server of a version, brought into the cache where it is not there yet.

    `9.7` is the newest 9.7, which the archive is asked for. Raises ServerError where it cannot be
    brought, or does not run here; of what was brought in part nothing stays.
    """
    cache = cache or place.cache_root()
    archive.check(engine, version)
    folder = cache / engine / version
    if version.count(".") < 2 or not folder.is_dir():
        release = archive.find(engine, version, archive.this_machine())
        folder = cache / engine / release.version
        with locked(folder.parent, say):
            if not folder.is_dir():
                bring(release, folder, say)
    runs(folder, engine)
    return folder


def runs(folder: Path, engine: str) -> Build:
    """The build in a folder of the cache. Raises ServerError where it does not run on this host."""
    return build.inspect(folder, engine, f"{engine} {folder.name}", accounts.choose(engine))


def bring(release: Release, folder: Path, say: Callable[[str], None]) -> None:
    """Downloads, verifies and unpacks a release into `folder`, which appears whole or not at all.

    Raises ServerError.
    """
    name = f"{UNFINISHED}{release.version}-"
    try:
        with tempfile.TemporaryDirectory(prefix=name, dir=folder.parent) as unfinished:
            tarball = Path(unfinished) / "archive"
            say(f"bringing {release.url}")
            hashes = verify.HASHES[release.engine]
            sums = download.bring(release.url, tarball, archive.remedy(release.engine), hashes)
            say(verify.verify(release, tarball, sums))
            tree = unpack(tarball, Path(unfinished) / "tree", release)
            builds_cache.open_to_all(tree, folder.parent.parent)
            tree.rename(folder)
    except OSError as error:
        raise ServerError(
            f"{release.engine} {release.version} cannot be put at `{folder}`: "
            f"{error.strerror or error}"
        ) from error


def unpack(tarball: Path, into: Path, release: Release) -> Path:
    """Unpacks a tarball and returns the folder with the server. Raises ServerError."""
    if not hasattr(tarfile, "data_filter"):
        raise ServerError("this Python cannot unpack archives safely: use 3.11.4 or newer")
    try:
        with tarfile.open(tarball) as opened:
            for member in opened:
                inner = Path(member.name).parts[1:2]
                if not (inner and inner[0] in LEFT_OUT):
                    opened.extract(member, into, filter="data")
    except (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ServerError(f"`{release.url}` cannot be unpacked: {reason}") from error
    found = [one for one in into.glob("*") if build.program_of(one, release.engine) is not None]
    if len(found) != 1:
        product = engines.of(release.engine).product
        raise ServerError(f"`{release.url}` holds no server of {product}: nothing is kept")
    return found[0]


@contextmanager
def locked(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Makes a folder of the cache, waits until nobody else brings into it, and sweeps it.

    Raises ServerError where it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / ".lock", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise ServerError(f"`{folder}` cannot be written: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another dyno that brings a server into `{folder}`")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        for one in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(one, ignore_errors=True)
        yield
    finally:
        os.close(descriptor)
