"""Brings builds of MySQL and MariaDB from their official archives into the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dbdyno.builds import Build, download, prebuilt
from dbdyno.engine.mysql import archive, build, verify
from dbdyno.engine.mysql.archive import Release
from dbdyno.host import account as accounts
from dbdyno.host import place
from dbdyno.model import engine as engines
from dbdyno.model.error import ServerError

LEFT_OUT = ("mysql-test", "mariadb-test")
"""Folders of an archive that no server needs: the tests, most of MariaDB's gigabyte."""


def fetch(engine: str, version: str, say: Callable[[str], None], *, md5: bool = False) -> Path:
    """The folder of a server of a version, brought into the cache where it is not there yet.

    `9.7` is the newest 9.7, which the archive is asked for. `md5`: an MD5 alone will do. Raises
    ServerError where it cannot be brought, or does not run here; of what was brought in part
    nothing stays.
    """
    cache = place.cache_root()
    archive.check(engine, version)
    folder = cache / engine / version
    if version.count(".") < 2 or not folder.is_dir():
        release = archive.find(engine, version, archive.this_machine())
        folder = cache / engine / release.version
        with prebuilt.locked(folder.parent, say):
            if not folder.is_dir():
                if not md5:
                    verify.refuse_md5(release)
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
    with prebuilt.workspace(folder, f"{release.engine} {release.version}") as workspace:
        tarball = workspace / "archive"
        say(f"bringing {release.url}")
        hashes = verify.HASHES[release.engine]
        sums = download.bring(release.url, tarball, archive.remedy(release.engine), hashes)
        say(verify.verify(release, tarball, sums))
        prebuilt.install(unpack(tarball, workspace / "tree", release), folder)


def unpack(tarball: Path, into: Path, release: Release) -> Path:
    """Unpacks a tarball and returns the folder with the server. Raises ServerError."""
    with tarball.open("rb") as file:
        prebuilt.unpack(file, into, release.url, LEFT_OUT)
    found = [one for one in into.glob("*") if build.program_of(one, release.engine) is not None]
    if len(found) != 1:
        product = engines.of(release.engine).product
        raise ServerError(f"`{release.url}` holds no server of {product}: nothing is kept")
    return found[0]
