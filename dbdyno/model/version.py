"""Versions of engines, as presets compare them: (17,) and (9, 6); (8, 4, 6) of MySQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Version = tuple[int, ...]

NEWEST = {"postgres": "18", "mysql": "9.7", "mariadb": "12.3"}
"""What a preset is shown for where nothing is said."""
PATCH_NEWEST = 99
"""The patch of a series of MySQL that is named without one: its newest."""


def of_number(engine: str, version_num: int) -> Version:
    """The version that a build's `version_num` means."""
    major, minor, patch = version_num // 10000, version_num // 100 % 100, version_num % 100
    if engine != "postgres":
        return (major, minor, patch)
    return (major,) if major >= 10 else (major, minor)


def number_of(engine: str, text: str) -> int:
    """The `version_num` of a version as a person writes it: 170000 of 17, 80499 of MySQL's 8.4."""
    parts = [int(part) for part in text.split(".")]
    if engine == "postgres":
        minor, patch = [*parts[1:], 0, 0][:2]
        return parts[0] * 10000 + (minor if parts[0] >= 10 else minor * 100 + patch)
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
