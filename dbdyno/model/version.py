"""Versions of engines, as presets compare them: (17,) and (9, 6); (8, 4, 6) of MySQL."""

import re
from collections.abc import Mapping
from typing import Any

from dbdyno.model import engine
from dbdyno.model.plan import Arm

Version = tuple[int, ...]

NUMBER = re.compile(r"\d+(\.\d+)*")
"""The number at the beginning of a version as a source says it: 19 of 19devel."""

PATCH_NEWEST = 99
"""The patch of a series of MySQL that is named without one: its newest."""


def of_number(name: str, version_num: int) -> Version:
    """The version of an engine that a build's `version_num` means."""
    if engine.of(name).whole_major_from is None:
        return (version_num // 10000, version_num // 100 % 100, version_num % 100)
    return release_of(name, version_num)


def release_of(name: str, version_num: int) -> Version:
    """The series of an engine that features come with: (17,), (9, 6); (8, 4) of MySQL."""
    return series(name, (version_num // 10000, version_num // 100 % 100))


def release(arm: Arm) -> Version | None:
    """The series that an arm's version is of, as a Build has it; None where it names a folder.

    (17,) of PostgreSQL 17.6, (9, 6) of 9.6.3; (8, 4) of MySQL 8.4.6.
    """
    return None if arm.version is None else series(arm.engine, bound(arm.version))


def series(name: str, version: Version) -> Version:
    """What of a version of an engine names the series that it is of."""
    whole_from = engine.of(name).whole_major_from
    return version[:1] if whole_from is not None and version[0] >= whole_from else version[:2]


def number_of(name: str, text: str) -> int:
    """The `version_num` of a version as a person writes it: 170000 of 17, 80499 of MySQL's 8.4."""
    parts = [int(part) for part in text.split(".")]
    whole_from = engine.of(name).whole_major_from
    if whole_from is not None:
        minor, patch = [*parts[1:], 0, 0][:2]
        return parts[0] * 10000 + (minor if parts[0] >= whole_from else minor * 100 + patch)
    minor, patch = [*parts[1:], *([0, PATCH_NEWEST] if len(parts) == 1 else [PATCH_NEWEST])][:2]
    return parts[0] * 10000 + minor * 100 + patch


def text(version: Version) -> str:
    """A version as it is read: 17, 9.6, 8.4.6."""
    return ".".join(map(str, version))


def bound(written: str) -> Version:
    """A version as a preset's file has it."""
    return tuple(int(part) for part in written.split("."))


def within(rule: Mapping[str, Any], version: Version) -> bool:
    """Whether a version lies in what `since` and `until` of a rule say, where they say anything."""
    since, until = rule.get("since"), rule.get("until")
    return (since is None or version >= bound(since)) and (until is None or version < bound(until))
