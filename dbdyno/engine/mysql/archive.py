"""The official archives of MySQL and MariaDB: where a version's build for this machine lies.

MySQL: ADDRESS/Downloads/MySQL-9.7/NAME holds the newest release of each series, and
ADDRESS/archives/mysql-9.7/NAME those before; beside NAME lies NAME.asc, its signature. There is no
list, so the newest is searched by asking for one patch after the other.

MariaDB: ADDRESS/mariadb-11.8.3/bintar-linux-systemd-x86_64/NAME, with sha256sums.txt beside it; the
list is the site's page of folders.
"""

import os
import platform
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from dbdyno.builds import download
from dbdyno.engine.mysql import flavour
from dbdyno.model import engine as engines
from dbdyno.model.error import ServerError

ADDRESSES = {"mysql": "https://cdn.mysql.com", "mariadb": "https://archive.mariadb.org"}
VARIABLES = {"mysql": "DYNO_MYSQL_ARCHIVE", "mariadb": "DYNO_MARIADB_ARCHIVE"}
"""The environment variables that name another address."""
MACHINES = ("x86_64", "aarch64")
VERSION = re.compile(r"(\d{1,2})\.(\d{1,2})(?:\.(\d{1,3}))?")
PATCH_MAX = 60
"""The highest patch that is asked for; MySQL's longest series, 5.6, ended with 51."""
ASKED_AT_ONCE = 8
FOLDERS = ("Downloads/MySQL-{series}", "archives/mysql-{series}")
NAMES = (
    ("glibc2.28-{machine}-minimal.tar.xz", (2, 28)),
    ("glibc2.17-{machine}-minimal.tar.xz", (2, 17)),
    ("glibc2.28-{machine}.tar.xz", (2, 28)),
    ("glibc2.12-{machine}.tar.xz", (2, 12)),
)
"""How MySQL's archives end from 8.0 on, the wanted first, with the glibc that each needs."""
OLD_NAME = "glibc2.12-{machine}.tar.gz"


@dataclass(frozen=True, kw_only=True)
class TargetMachine:
    """What a prebuilt server has to fit."""

    name: str  # as uname says it: "x86_64"
    glibc: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A build in an archive."""

    engine: str
    version: str  # in full: 9.7.2
    url: str  # of the tarball, or of the package of Maven Central
    packed: bool = False  # in such a package


def this_machine() -> TargetMachine:
    """This host. Raises ServerError where neither archive has builds for it."""
    name, (library, version) = platform.machine(), platform.libc_ver()
    if name not in MACHINES or library != "glibc":
        raise ServerError(
            f"the archives have no builds for {name} with {library or 'a C library but glibc'}: "
            "compile one (`dyno server build --help`), or name a folder by `base_dir`"
        )
    major, minor = version.split(".")[:2]
    return TargetMachine(name=name, glibc=(int(major), int(minor)))


def address(engine: str) -> str:
    """Where an engine's archive is, without a slash at its end."""
    return (os.environ.get(VARIABLES[engine]) or ADDRESSES[engine]).rstrip("/")


def remedy(engine: str) -> str:
    """What to do where a site does not answer."""
    return f"or name a mirror by `{VARIABLES[engine]}`"


def check(engine: str, version: str) -> None:
    """Raises ServerError for what is no version, or one that does not work."""
    traits, found = engines.of(engine), VERSION.fullmatch(version)
    if found is None:
        raise ServerError(
            f"there is no {traits.product} `{version}`: write `{traits.newest}` for the newest "
            f"{traits.newest}, or all three numbers"
        )
    number = int(found[1]) * 10000 + int(found[2]) * 100
    oldest = flavour.of(engine).oldest
    if number < oldest:
        raise ServerError(
            f"{traits.product} {version}: {oldest // 10000}.{oldest // 100 % 100} is the oldest "
            "that works"
        )


def find(engine: str, version: str, machine: TargetMachine) -> Release:
    """The build of a version for a machine; of a series alone the newest.

    Raises ServerError where there is none, or the site does not answer.
    """
    check(engine, version)
    release = (_mysql if engine == "mysql" else _mariadb)(version, machine)
    if release is None:
        raise ServerError(
            f"no {engines.of(engine).product} {version} for {machine.name} and glibc "
            f"{machine.glibc[0]}.{machine.glibc[1]} is at `{address(engine)}`: see its releases, "
            f"{remedy(engine)}"
        )
    return release


def _mysql(version: str, machine: TargetMachine) -> Release | None:
    full = version.count(".") == 2
    series, patch = version.rsplit(".", 1) if full else (version, "")
    patches = [int(patch)] if full else range(PATCH_MAX, -1, -1)
    for folder in FOLDERS:
        place = f"{address('mysql')}/{folder.format(series=series)}"
        asked = [
            Release(engine="mysql", version=f"{series}.{patch}", url=f"{place}/{name}")
            for patch in patches
            for name in mysql_names(f"{series}.{patch}", machine)
        ]
        if found := first_there(asked):
            return found
    return None


def mysql_names(version: str, machine: TargetMachine) -> list[str]:
    """The names that a MySQL's tarball for a machine may have, the wanted first."""
    ends = NAMES if int(version.split(".")[0]) >= 8 else ((OLD_NAME, (2, 12)),)
    return [
        f"mysql-{version}-linux-{end.format(machine=machine.name)}"
        for end, glibc in ends
        if glibc <= machine.glibc
    ]


def first_there(releases: Sequence[Release]) -> Release | None:
    """The first of the releases that lies at its address. Raises ServerError as `exists` does."""
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        for start in range(0, len(releases), ASKED_AT_ONCE):
            some = releases[start : start + ASKED_AT_ONCE]
            there = pool.map(lambda one: download.exists(one.url, remedy(one.engine)), some)
            if found := next(
                (one for one, is_there in zip(some, there, strict=True) if is_there), None
            ):
                return found
    return None


def _mariadb(version: str, machine: TargetMachine) -> Release | None:
    root = address("mariadb")
    if version.count(".") == 1:
        listed = download.page(f"{root}/", remedy("mariadb"))
        pattern = rf"""href=["']?(?:[^"'>]*/)?mariadb-{re.escape(version)}\.(\d+)/?["'> ]"""
        patches = [int(patch) for patch in re.findall(pattern, listed)]
        if not patches:
            return None
        version = f"{version}.{max(patches)}"
    kind = f"linux-systemd-{machine.name}"
    url = f"{root}/mariadb-{version}/bintar-{kind}/mariadb-{version}-{kind}.tar.gz"
    return first_there([Release(engine="mariadb", version=version, url=url)])
