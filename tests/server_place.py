"""Places for tests that start real servers: folders that the servers' account can enter."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from dbdyno.engine import LabServer, Place
from dbdyno.engine.arm_server import provide
from dbdyno.engine.postgres import build, numbering
from dbdyno.engine.postgres.access import RULES
from dbdyno.host import place as places
from dbdyno.host.account import choose
from dbdyno.model import Address, Arm

TEST_SERVERS = ("postgres/12", "postgres/18", "mariadb/11.4.5", "mysql/9.7,5.5.9")
"""What `make test` brings into the cache (so the Makefile calls it; a test compares)."""
ALL_SERVERS = ("postgres/17", "mariadb/10.2.11", "mariadb/10.11.5")
"""What `make test-all` brings besides."""
ENDS = ("12", "18")
"""The majors that stand for all between them, where they are here."""
NONE = Path("/none")
MAJOR_MIN = 10
"""Tests know what versions say from this major on."""


@contextmanager
def an_open_folder(root: str = "/tmp") -> Iterator[Path]:
    """A folder that the servers' account may enter, as it may not enter pytest's own.

    Other hosts of a test see /var/tmp, and no /tmp.
    """
    folder = Path(tempfile.mkdtemp(prefix="dyno-test-", dir=root))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def a_place(engine: str = "postgres") -> Iterator[Place]:
    """A place under /tmp that is removed afterwards."""
    with an_open_folder() as base:
        place = Place(
            data_root=base / "data",
            run_root=base / "run",
            cache_root=base / "cache",
            log_dir=base / "log",
            account=choose(engine),
        )
        place.make()
        yield place


@contextmanager
def started(arm: Arm, place: Place) -> Iterator[LabServer]:
    """The arm's server, running; it is gone afterwards."""
    server = provide(arm, place=place)
    server.prepare()
    try:
        server.start()
        yield server
    finally:
        server.stop(crash=True)
        server.remove()


def restart_with(server: LabServer, settings: Mapping[str, str]) -> None:
    """Starts a PostgreSQL anew with settings that hold from a start on."""
    for name, value in settings.items():
        server.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    server.stop(crash=False)
    server.start()


def address(server: LabServer) -> Address:
    """Where a running server of our own answers, with the database that was made last."""
    found = server.address()
    assert found is not None
    return found


def reached(server: LabServer) -> Address:
    """Where load reaches a running server: over TCP, if the arm's transport says so."""
    found = server.load_address
    assert found is not None
    return found


def over_tcp(server: LabServer) -> Path:
    """The rules of who may come in, of a PostgreSQL whose arm's transport is TCP."""
    assert server.data_dir is not None
    return server.data_dir.parent / RULES


def within(limit_s: float, true: Callable[[], object]) -> bool:
    """Whether something comes true within so many seconds."""
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        if true():
            return True
        time.sleep(0.02)
    return False


def logged(server: LabServer, folder: str = "captured", limit_s: float = 60) -> list[Path]:
    """A PostgreSQL's log files, each with all that clients had it log before.

    A client has its answer before the collector has written the line. The mark is the last that
    is logged, so no line is read by half.
    """
    assert server.data_dir is not None
    at, mark = server.data_dir / folder, f"mark {time.monotonic_ns()}"
    ((formats,),) = server.execute(
        "SET log_min_duration_statement = -1",
        f"DO $$BEGIN RAISE LOG '{mark}'; END$$",
        "SHOW log_destination",
        database="postgres",
    )

    def marked() -> bool:
        return sum(mark.encode() in path.read_bytes() for path in at.iterdir()) == len(
            str(formats).split(",")
        )

    assert within(limit_s, marked), f"{at} without {mark}"
    return sorted(path for path in at.iterdir() if path.stat().st_size)


def builds() -> list[Path]:
    """Folders of PostgreSQL to test with, the newest of each major version, oldest major first.

    Those in dyno's cache, and the distribution's. Without any a name that is none: tests are then
    skipped (conftest.py).
    """
    return list({major(path): path for path in every_build()}.values()) or [NONE]


def every_build() -> list[Path]:
    """The same, of each major version all, the oldest first."""
    fetched = places.cache_root().joinpath("postgres").glob("*")
    here = sorted(
        (release, path)
        for path in [*fetched, *Path("/usr/lib/postgresql").glob("*")]
        if (release := numbering.of_folder_name(path.name)) is not None
        if release[0] >= MAJOR_MIN and build.holds_server(path)
    )
    return [path for _, path in here]


def major(path: Path) -> int:
    """The major version of a build's folder."""
    release = numbering.of_folder_name(path.name)
    assert release is not None
    return release[0]


def ends() -> list[Path]:
    """The oldest and the newest to test with: enough for what versions do not do each in its own
    way. PostgreSQL 12 and 18, as `make test` brings them, else what is nearest to both ends."""
    here = builds()
    by_major = {path.name.partition(".")[0]: path for path in here}
    oldest, newest = (by_major.get(major) for major in ENDS)
    return list(dict.fromkeys([oldest or here[0], newest or here[-1]]))


def distribution() -> Path:
    """The newest PostgreSQL of the distribution, which has clients; one that is none without it."""
    here = [path for path in every_build() if (path / "bin" / "pg_dump").exists()]
    return here[-1] if here else NONE


def newer_than(source: Path) -> list[Path]:
    """The builds of later majors; the source alone where it is the newest itself."""
    later = [path for path in builds() if source != NONE and major(path) > major(source)]
    return later or [source]


def newest() -> list[Path | ParameterSet]:
    """The newest alone, where no version has a way of its own; `make soak` has the oldest."""
    *older, last = ends()
    return [*(pytest.param(path, marks=pytest.mark.soak) for path in older), last]


def each() -> list[Path | ParameterSet]:
    """Every version, where each has its own way; those between the ends in `make test-all`."""
    between = (path for path in builds() if path not in ends())
    return [*ends(), *(pytest.param(path, marks=pytest.mark.long) for path in between)]


def outermost() -> list[Path | ParameterSet]:
    """The oldest and the newest, of which one goes the way of all between; those in `make soak`."""
    between = (path for path in builds() if path not in ends())
    return [*ends(), *(pytest.param(path, marks=pytest.mark.soak) for path in between)]
