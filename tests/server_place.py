"""Places for tests that start real servers: folders that the servers' account can enter."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import server_folders
from dbdyno.server import Place
from dbdyno.server.account import choose


@contextmanager
def a_place() -> Iterator[Place]:
    """A place under /tmp that is removed afterwards (pytest's own folders are closed to others)."""
    base = Path(tempfile.mkdtemp(prefix="dyno-test-", dir="/tmp"))
    base.chmod(0o755)
    place = Place(
        data_root=base / "data",
        run_root=base / "run",
        cache_root=base / "cache",
        log_dir=base / "log",
        account=choose("postgres"),
    )
    place.make()
    try:
        yield place
    finally:
        shutil.rmtree(base)


def builds() -> list[Path]:
    """Folders of PostgreSQL to test with, one of each major version; at least a name to skip by."""
    by_version = {path.name.split(".")[0]: path for path in server_folders()}
    return list(by_version.values()) or [Path("/none")]
