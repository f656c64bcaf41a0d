"""Whether a server of PostgreSQL can go on with the data of another one."""

from __future__ import annotations

import re
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.model import Json

HEADERS = ("include/postgresql/server", "include/server", "include/postgresql/*/server")
"""Where an installed build may have the headers of its server."""
CATALOG_HEADER = "catalog/catversion.h"
CATALOG_VERSION = re.compile(r"(?m)^#define\s+CATALOG_VERSION_NO\s+(\d+)")
PAGE_HEADER = "pg_config.h"
PAGES = re.compile(r"(?m)^#define\s+(BLCKSZ|RELSEG_SIZE|XLOG_BLCKSZ)\s+(\d+)")
RELEASED = re.compile(r"\d+(?:\.\d+)+")
"""The version of a release, such as 17.6: of one series all have the same catalogs."""
SHAPING = re.compile(
    r"autovacuum|default_.*|gin_.*|maintenance_work_mem|max_parallel_maintenance_workers"
    r"|shared_preload_libraries|track_commit_timestamp|vacuum_.*"
)
"""Settings that determine what data a fill leaves, or how they lie."""


def shapes(setting: str) -> bool:
    """Whether a setting determines what data a fill leaves, or how they lie."""
    return SHAPING.fullmatch(setting.lower()) is not None


def catalogs(build: Build) -> Json:
    """What a data directory has to have for a build: as pg_control says it.

    Servers refuse other catalogs. Where a build has no headers, releases of one series are alike,
    and any other build is alike to itself alone.
    """
    for pattern in HEADERS:
        for folder in sorted(build.base_dir.glob(pattern)):
            version = CATALOG_VERSION.search(text_of(folder / CATALOG_HEADER))
            if version is not None:
                pages = PAGES.findall(text_of(folder / PAGE_HEADER))
                return {"catalog": version[1], "pages": dict(pages)}
    if RELEASED.fullmatch(build.version):
        return {"release": list(build.release)}
    return {"sha256": build.sha256}


def text_of(path: Path) -> str:
    """The text of a file; empty where there is none."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
