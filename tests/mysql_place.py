"""Servers of MySQL and MariaDB for tests: which are here, and one of each that runs for a while.

MySQL is looked for in the folder that `DYNO_MYSQL` names, MariaDB in that of `DYNO_MARIADB`; else
in the folder of the cache that `.ci/run` fills, and where the distribution and its like put
servers. Where there is none, tests are skipped and say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dbdyno.engine import Build, LabServer
from dbdyno.engine.mysql import build
from dbdyno.host import account, place
from dbdyno.model import Arm
from dbdyno.model.engine import TRAITS
from dbdyno.model.error import ServerError
from server_place import a_place, started

ENGINES = ("mysql", "mariadb")
VARIABLES = {"mysql": "DYNO_MYSQL", "mariadb": "DYNO_MARIADB"}
FETCHED = {"mysql": [place.cache_root() / "mysql" / "unstable"], "mariadb": list[Path]()}
"""What `.ci/run` brings; what else a user's lab left in the cache is none of ours."""
RELEASES = ("mariadb/10.2.11", "mariadb/10.11.5", "mariadb/11.4.5", "mysql/5.5.9")
"""What `make servers` brings beside PostgreSQL (its TEST_RELEASES; a test compares)."""
SETTINGS = {"innodb_buffer_pool_size": "64M"}
"""Small, so that a server is there in seconds and two fit beside others."""


@cache
def found(engine: str) -> Build | str:
    """The build of an engine to test with; else why there is none."""
    variable = VARIABLES[engine]
    there = os.environ.get(variable)
    folders = (
        [Path(there)] if there else [*FETCHED[engine], *build.folders(engine, cache=Path("/none"))]
    )
    for folder in folders:
        try:
            return build.inspect(folder, engine, variable, account.choose(engine))
        except ServerError as error:
            if there:
                return str(error)
    return f"no {TRAITS[engine].product} here: name its folder by {variable}"


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
