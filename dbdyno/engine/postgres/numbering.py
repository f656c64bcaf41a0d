"""How PostgreSQL numbers its releases, and how their folders in the cache are called.

A *series* is what `17` or `9.6` names: all releases of a major version.
"""

import re

FORM = re.compile(r"(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3})){0,2}")
TWO_NUMBERS_MIN = 10
"""From this major on releases have two numbers (17.6), before it three (9.6.24)."""

Release = tuple[int, int, int]
"""A release as packages number it: (17, 6, 0), (9, 6, 24)."""


def numbers(version: str) -> tuple[int, ...]:
    """(17, 6) of `17.6`."""
    return tuple(map(int, version.split(".")))


def is_release(version: str) -> bool:
    """Whether `version` names one release, and not the newest of a series."""
    wanted = numbers(version)
    return len(wanted) >= (2 if wanted[0] >= TWO_NUMBERS_MIN else 3)


def names(version: str, release: Release) -> bool:
    """Whether `version`, a release or a series, names that release."""
    wanted = numbers(version)
    return release[: len(wanted)] == wanted


def series(release: Release) -> tuple[int, ...]:
    """The series of a release: (17,), (9, 6)."""
    return release[:1] if release[0] >= TWO_NUMBERS_MIN else release[:2]


def folder_name(release: Release) -> str:
    """How a release is called, and its folder in the cache: 17.6, 9.6.24."""
    major, minor, patch = release
    short = major >= TWO_NUMBERS_MIN and patch == 0
    return f"{major}.{minor}" if short else f"{major}.{minor}.{patch}"


def of_folder_name(name: str) -> Release | None:
    """The release that a folder of the cache holds; None for a folder of another kind."""
    if not FORM.fullmatch(name):
        return None
    major, minor, patch = (*numbers(name), 0, 0)[:3]
    return major, minor, patch
