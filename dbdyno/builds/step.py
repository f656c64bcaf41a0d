"""The steps of a build from source, and what their failures mean: parts that engines share."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SAID_LENGTH_MAX = 200


@dataclass(frozen=True, kw_only=True)
class BuildSite:
    """Where a build is made."""

    tree: Path  # the source, a copy of our own
    prefix: Path  # where the build will lie
    root: Path  # below which it is installed first
    jobs: int  # files compiled at once
    modules: tuple[str, ...] | None = None  # beside what dyno itself asks; None: a whole build


@dataclass(frozen=True, kw_only=True)
class BuildStep:
    """One program of a build; several may be one phase."""

    phase: str  # "configure", "compile" or "install"
    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    leftover: Path | None = None  # where the program writes why it failed


@dataclass(frozen=True)
class Package:
    """What a failure says where something is not installed, and who has it."""

    said: str  # a regular expression
    packages: str  # of Debian
    without: str | None = None  # the option that does without it


def first_line(said: str, marks: Sequence[str], lines: int = 1) -> str:
    """The first line that has the first mark (a regular expression) that is there, else the last.

    `lines`: so many from there on, for what says its reason in the lines below.
    """
    there = [line.strip() for line in said.splitlines() if line.strip()]
    for mark in marks:
        for number, line in enumerate(there):
            if re.search(mark, line):
                return " ".join(there[number : number + lines])
    return there[-1] if there else "it said nothing"


COMPILE_MARKS = (
    r"^\S+:\d+(:\d+)?: (fatal )?error:",
    r"undefined reference",
    r"[Ii]nternal compiler error|Killed",
    r"^[^ ]*make.*\*\*\*",
)
"""What a compiler, a linker, and make itself say where they fail."""


def explained(text: str, missing: Sequence[Package], option: str) -> str:
    """A failure's text in one line, with the package to install where one of `missing` fits."""
    short = text.rstrip(":") if len(text) <= SAID_LENGTH_MAX else text[:SAID_LENGTH_MAX] + "…"
    for one in missing:
        if re.search(one.said, text):
            other = f", or {option} {one.without}" if one.without else ""
            return f"{short}: apt-get install {one.packages}{other}"
    return short
