"""What all tests share: skips where no server is, and the budget of a test without one."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import own_lab
from compare_command import _dyno
from comparison_builder import comparison
from cpu_budget import pytest_runtest_call
from dbdyno.engine import Place
from dbdyno.model import Comparison
from dbdyno.parts.part import Page
from dbdyno.report import page
from dbdyno.store import checksums
from hosts_lab import _hosts, _hosts_lab
from independent_blocks import independent_blocks, independent_here
from mysql_place import mysql_engine, mysql_server
from server_place import NONE, a_place, builds, ends

# Fixtures and a hook, here for all.
__all__ = [
    "_dyno",
    "_hosts",
    "_hosts_lab",
    "independent_blocks",
    "independent_here",
    "mysql_engine",
    "mysql_server",
    "pytest_runtest_call",
]

# How long an example takes says how busy the machine is, and nothing of what is tested.
# `make test` draws the same few examples each time; `make test-all` draws more, and others.
EXAMPLES = os.environ.get("DYNO_TEST_EXAMPLES")
settings.register_profile(
    "busy",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=int(EXAMPLES or 25),
    derandomize=EXAMPLES is None,
)
settings.load_profile("busy")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the folder of empty databases, which the processes that follow from this one share."""
    if own_lab.CLUSTERS not in os.environ:
        folder = os.environ[own_lab.CLUSTERS] = tempfile.mkdtemp(prefix="dyno-clusters-")
        config.add_cleanup(partial(shutil.rmtree, folder))
        config.add_cleanup(partial(os.environ.pop, own_lab.CLUSTERS))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a live test where there is nothing to start; those of MySQL look for themselves."""
    if "mysql_engine" in getattr(item, "fixturenames", ()):
        return
    if item.get_closest_marker("live") and builds() == [NONE]:
        pytest.skip(
            "no PostgreSQL here: `dyno server fetch postgres 18` or `apt-get install postgresql`"
        )


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sends what shares a server to one process, which starts it once (xdist's `loadgroup`)."""
    for item in items:
        if isinstance(item, pytest.Function) and (group := server_group(item)) is not None:
            item.add_marker(pytest.mark.xdist_group(group))


def server_group(item: pytest.Function) -> str | None:
    """The server that a live test shares with others, in words; None: it shares none."""
    if not item.get_closest_marker("live"):
        return None
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if "mysql_server" in item.fixturenames:
        return str(parameters["mysql_engine"])
    module = item.module.__name__
    shared = sorted(
        name
        for name, found in item._fixtureinfo.name2fixturedefs.items()
        if found[-1].scope == "module" and found[-1].func.__module__ == module
    )
    of = ("base_dir", "mysql_engine", *shared)
    builds_of = [str(parameters[name]) for name in of if name in parameters]
    return " ".join([module, *shared, *builds_of]) if shared else None


@pytest.fixture(scope="session", autouse=True)
def _own_lab() -> Iterator[None]:
    """Labs of this process wait for no other's."""
    folder = Path(tempfile.mkdtemp(prefix="dyno-lab-", dir="/tmp"))
    folder.chmod(0o755)  # a server's account enters it
    own_lab.take(folder)
    yield
    shutil.rmtree(folder)


@pytest.fixture(scope="session", autouse=True)
def _writable_results() -> Iterator[None]:
    """Tests may damage the finished blocks that they have made; only root could otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checksums, "FINISHED", 0o644)
        yield


@pytest.fixture(name="place")
def _place() -> Iterator[Place]:
    """A place for the servers of one test."""
    with a_place() as made:
        yield made


@pytest.fixture(params=ends(), ids=lambda path: path.name, scope="module")
def base_dir(request: pytest.FixtureRequest) -> Path:
    """The oldest and the newest build to test with."""
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
