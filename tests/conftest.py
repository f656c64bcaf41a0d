"""What all tests share: those marked `live` are skipped, with a reason, where no server is."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.server import place


def is_server_here() -> bool:
    """Whether there is any build of PostgreSQL, fetched or of the distribution."""
    fetched = place.cache_root().glob("postgres/*/bin/postgres")
    return any(fetched) or any(Path("/usr/lib/postgresql").glob("*/bin/postgres"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a live test where there is nothing to start."""
    if item.get_closest_marker("live") and not is_server_here():
        pytest.skip(
            "no PostgreSQL here: `dyno server fetch postgres 17` or `apt-get install postgresql`"
        )
