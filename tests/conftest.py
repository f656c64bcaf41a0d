"""What all tests share: those marked `live` are skipped, with a reason, where no server is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def server_folders() -> list[Path]:
    """Folders with a PostgreSQL that can be started: fetched ones, then the distribution's."""
    home = Path.home()
    fetched = [
        Path("/var/cache/dyno"),
        Path(os.environ.get("XDG_CACHE_HOME", home / ".cache")) / "dyno",
    ]
    patterns = [(folder / "postgres", "*/bin/postgres") for folder in fetched]
    patterns.append((Path("/usr/lib/postgresql"), "*/bin/postgres"))
    return [
        path.parents[1] for folder, pattern in patterns for path in sorted(folder.glob(pattern))
    ]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a live test where there is nothing to start."""
    if item.get_closest_marker("live") and not server_folders():
        pytest.skip(
            "no PostgreSQL here: `dyno server fetch postgres 17` or `apt-get install postgresql`"
        )
