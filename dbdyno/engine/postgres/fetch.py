"""Brings prebuilt PostgreSQL from the zonky project's Maven packages into the cache.

A package is a zip with a tarball `*.txz` (builds.maven).
"""

import os
import platform
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

from dbdyno.builds import maven, prebuilt
from dbdyno.engine.postgres import build, numbering
from dbdyno.engine.postgres.numbering import Release
from dbdyno.host import place
from dbdyno.model.error import ServerError

GROUP = "io/zonky/test/postgres"
VARIABLE = "DYNO_POSTGRES_ARCHIVE"
"""The environment variable that names another address of that group alone."""
REMEDY = f"name a mirror by `{VARIABLE}`, or a folder by `base_dir`"
MACHINES = {
    "x86_64": "amd64",
    "aarch64": "arm64v8",
    "ppc64le": "ppc64le",
    "armv7l": "arm32v7",
    "i686": "i386",
}
"""The machines that there are packages for, and their names in those of the packages."""
LISTED = re.compile(r"(\d+)\.(\d+)\.(\d+)")
"""A version in the list; one with more after it (`10.5.0-1`) packs the same release again."""


def fetch(
    engine: str,
    version: str,
    say: Callable[[str], None],
    cache: Path | None = None,
    *,
    newest: bool = False,
) -> Path:
    """The folder of a prebuilt server, brought into the cache where it is not there yet.

    `newest`: asks the list for the newest 17 even though a 17 is in the cache. Raises ServerError
    where the version does not exist or cannot be brought.
    """
    cache = cache or place.cache_root()
    check(engine, version)
    here = build.cached(engine, version, cache)
    if here is not None and (numbering.is_release(version) or not newest):
        return here
    try:
        listed = releases()
    except ServerError as error:
        if here is None:
            raise
        say(f"the newest {version} is unknown: {error}; {here.name} is in the cache")
        return here
    release = find(version, listed)
    folder = cache / engine / numbering.folder_name(release)
    if not build.holds_server(folder):
        with prebuilt.locked(folder.parent, say):
            if not build.holds_server(folder):
                bring(release, folder, say)
    return folder


def check(engine: str, version: str) -> None:
    """Raises ServerError for an engine or a version that there cannot be prebuilt."""
    if engine != "postgres":
        raise ServerError(f"no prebuilt `{engine}` is available: name its folder by `base_dir`")
    if not numbering.FORM.fullmatch(version) or numbering.numbers(version)[0] < build.MAJOR_MIN:
        raise ServerError(
            f"there is no PostgreSQL `{version}` prebuilt: write `17`, `17.6` (from 9.6 on)"
        )


def packages() -> str:
    """The address of the packages for this machine. Raises ServerError where there are none."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise ServerError(
            f"there is no prebuilt PostgreSQL for {platform.machine()}: compile one "
            "(`dyno server build postgres 18`), or name a folder by `base_dir`"
        )
    address = (os.environ.get(VARIABLE) or f"{maven.address()}/{GROUP}").rstrip("/")
    return f"{address}/embedded-postgres-binaries-linux-{machine}"


def releases() -> list[Release]:
    """The releases that there are packages of, the newest first.

    Raises ServerError where the list cannot be had.
    """
    matches = map(LISTED.fullmatch, maven.versions(packages(), REMEDY))
    listed = {(int(match[1]), int(match[2]), int(match[3])) for match in matches if match}
    return sorted(listed, reverse=True)


def find(version: str, listed: list[Release]) -> Release:
    """The newest of the releases, newest first, that `version` names. Raises ServerError."""
    for release in listed:
        if numbering.names(version, release):
            return release
    newest = {
        numbering.series(release): numbering.folder_name(release) for release in reversed(listed)
    }
    raise ServerError(
        f"there is no prebuilt PostgreSQL `{version}`: the newest of each major are "
        f"{', '.join(reversed(newest.values()))}"
    )


def bring(release: Release, folder: Path, say: Callable[[str], None]) -> None:
    """Downloads, verifies and unpacks a release into `folder`, which appears whole or not at all.

    Raises ServerError.
    """
    url = maven.url_of(packages(), ".".join(map(str, release)))
    if folder.exists():
        raise ServerError(f"`{folder}` holds no whole server: remove it, then fetch again")
    with prebuilt.workspace(folder, f"postgres {folder.name}") as workspace:
        say(f"bringing {url}")
        say(maven.bring(url, workspace / "package", REMEDY, ("sha512",)))
        unpack(workspace / "package", workspace / "tree", url)
        prebuilt.install(workspace / "tree", folder)


def unpack(package: Path, into: Path, url: str) -> None:
    """Unpacks the server in a package; `url` names it in errors. Raises ServerError."""
    try:
        with zipfile.ZipFile(package) as opened:
            tarballs = [name for name in opened.namelist() if name.endswith(".txz")]
            if tarballs:
                with opened.open(tarballs[0]) as tarball:
                    prebuilt.unpack(tarball, into, url)
    except zipfile.BadZipFile as error:
        raise ServerError(f"`{url}` cannot be unpacked: {error}") from error
    if not build.holds_server(into):
        raise ServerError(f"`{url}` holds no server of PostgreSQL: nothing is kept")
