"""What all tests share: those marked `live` are skipped, with a reason, where no server is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from comparison_builder import comparison
from dbdyno.model import Comparison
from dbdyno.report import page
from dbdyno.report.view import Page
from dbdyno.server import Place
from dbdyno.server import place as places
from mysql_place import mysql_engine, mysql_server
from server_place import a_place, builds

__all__ = ["mysql_engine", "mysql_server"]  # fixtures, here for all


def is_server_here() -> bool:
    """Whether there is any build of PostgreSQL, fetched or of the distribution."""
    fetched = places.cache_root().glob("postgres/*/bin/postgres")
    return any(fetched) or any(Path("/usr/lib/postgresql").glob("*/bin/postgres"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a live test where there is nothing to start; those of MySQL look for themselves."""
    if "mysql_engine" in getattr(item, "fixturenames", ()):
        return
    if item.get_closest_marker("live") and not is_server_here():
        pytest.skip(
            "no PostgreSQL here: `dyno server fetch postgres 17` or `apt-get install postgresql`"
        )


@pytest.fixture(name="place")
def _place() -> Iterator[Place]:
    """A place for the servers of one test."""
    with a_place() as made:
        yield made


@pytest.fixture(params=builds(), ids=lambda path: path.name, scope="module")
def base_dir(request: pytest.FixtureRequest) -> Path:
    """Each build that is here, the newest of each major version."""
    path: Path = request.param
    return path


@pytest.fixture(scope="module")
def three() -> Comparison:
    """A made-up comparison of three blocks."""
    return comparison(blocks=3)


@pytest.fixture(scope="module")
def shown(three: Comparison) -> Page:
    """Its page."""
    return page.make(three)
