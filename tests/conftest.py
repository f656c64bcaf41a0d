"""What all tests share: those marked `live` are skipped, with a reason, where no server is."""

from __future__ import annotations

import functools

import pytest

from dbdyno.server import fetch


@functools.cache
def is_server_here() -> bool:
    """Whether dyno finds any build of PostgreSQL that runs, fetched or of the distribution."""
    return bool(fetch.installed())


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a live test where there is nothing to start."""
    if item.get_closest_marker("live") and not is_server_here():
        pytest.skip(
            "no PostgreSQL here: `dyno server fetch postgres 17` or `apt-get install postgresql`"
        )
