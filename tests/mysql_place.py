"""Servers of MySQL and MariaDB for tests: which are here, and one of each that runs for a while.

Tests take the newest of a family that is here: in dyno's cache (`dyno server fetch`), or where the
distribution and its like put servers; or that of the folder which `DYNO_MYSQL` or `DYNO_MARIADB`
names. Where there is none, or only one that is older than a test needs, tests are skipped and say
what brings one.
"""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dbdyno.engine import Build, LabServer
from dbdyno.engine.mysql import build
from dbdyno.host import account
from dbdyno.model import Arm
from dbdyno.model.engine import TRAITS
from dbdyno.model.error import ServerError
from server_place import ALL_SERVERS, TEST_SERVERS, a_place, started

ENGINES = ("mysql", "mariadb")
VARIABLES = {"mysql": "DYNO_MYSQL", "mariadb": "DYNO_MARIADB"}
FETCH = {"mysql": "dyno server fetch mysql 9.7", "mariadb": "dyno server fetch mariadb 11.4.5"}
"""What brings a server that is new enough for every test."""
RELEASES = tuple(
    f"{family}/{versions.split(',')[-1]}"
    for family, _, versions in (name.partition("/") for name in (*TEST_SERVERS, *ALL_SERVERS))
    if family in ENGINES
)
"""What `make test` and `make test-all` bring of both, with what stands for a newer one."""
SETTINGS = {"innodb_buffer_pool_size": "64M"}
"""Small, so that a server is there in seconds and two fit beside others."""


@cache
def found(engine: str) -> Build | str:
    """The newest build of an engine to test with; else why there is none."""
    variable = VARIABLES[engine]
    there = os.environ.get(variable)
    here = list[Build]()
    for folder in [Path(there)] if there else build.folders(engine):
        try:
            here.append(build.inspect(folder, engine, variable, account.choose(engine)))
        except ServerError as error:  # of the other engine, or closed to the account
            if there:
                return str(error)
    if here:
        return max(here, key=lambda one: one.version_num)
    return f"no {TRAITS[engine].product} here: `{FETCH[engine]}`, or name its folder by {variable}"


def needs(engine: str, what: str, *, mysql: int = 0, mariadb: int = 0) -> None:
    """Skips a test of `what` where the newest server here is older than has it (80000 is 8.0)."""
    here = build_of(engine)
    if here.version_num < {"mysql": mysql, "mariadb": mariadb}[engine]:
        said = f"{TRAITS[engine].product} {here.version} has no {what}"
        pytest.skip(f"{said}: `{FETCH[engine]}` brings one that has")


def build_of(engine: str) -> Build:
    """The build of an engine to test with; skips the test where there is none."""
    here = found(engine)
    if isinstance(here, str):
        pytest.skip(here)
    return here


def an_arm(engine: str, **changes: object) -> Arm:
    """A small arm of an engine, with its settings on top; skips where there is no build."""
    settings = SETTINGS | dict(changes.pop("settings", {}))
    base_dir = build_of(engine).base_dir
    return Arm(name="a", engine=engine, base_dir=base_dir, settings=settings, **changes)


@pytest.fixture(params=ENGINES, scope="session")
def mysql_engine(request: pytest.FixtureRequest) -> str:
    """Each of the two engines of which there is a server here."""
    build_of(request.param)
    return str(request.param)


@pytest.fixture(scope="session")
def mysql_server(mysql_engine: str) -> Iterator[LabServer]:
    """A running server of each engine, for tests that leave it well; its databases are theirs."""
    arm = an_arm(mysql_engine, transport="tcp")
    with a_place(mysql_engine) as place, started(arm, place) as server:
        yield server
