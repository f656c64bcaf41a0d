"""Places for tests that start real servers: folders that the servers' account can enter."""

from __future__ import annotations

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

FETCHED = ("17", "18")
"""The versions that `make servers` brings into the cache (its TEST_SERVERS; a test compares)."""
NONE = Path("/none")


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


def builds() -> list[Path]:
    """Folders of PostgreSQL to test with, the newest of each major version, oldest major first.

    Those that `make servers` brings, and the distribution's; what else a user's lab left in the
    cache is none of ours. Without any a name that is none: tests are then skipped (conftest.py).
    """
    fetched = [place for version in FETCHED for place in _cached(version)]
    here = sorted(
        (release, path)
        for path in [*fetched, *Path("/usr/lib/postgresql").glob("*")]
        if (release := numbering.of_folder_name(path.name)) is not None
        if build.holds_server(path)
    )
    return list({release[0]: path for release, path in here}.values()) or [NONE]


def _cached(version: str) -> list[Path]:
    folder = places.cache_root() / "postgres"
    return [*folder.glob(version), *folder.glob(f"{version}.*")]


def ends() -> list[Path]:
    """The oldest and the newest of them: enough for what versions do not do each in its own way."""
    return list(dict.fromkeys([builds()[0], builds()[-1]]))


def newest() -> list[Path | ParameterSet]:
    """The newest alone, where no version has a way of its own; in `make soak` the oldest, too."""
    *older, last = ends()
    return [*map(in_soak, older), last]


def outermost() -> list[Path | ParameterSet]:
    """The oldest and the newest, of which one goes the way of all between; those in `make soak`."""
    return [path if path in ends() else in_soak(path) for path in builds()]


def in_soak(value: object) -> ParameterSet:
    """A parameter of tests that `make soak` runs."""
    return pytest.param(value, marks=pytest.mark.soak)
