"""The profile of a step: a folder in the step's, with files of an unjudged repetition of it.

`profile.json` says how it was sampled. `stacks.gz` has the samples: a line for each call stack, its
owner and functions from the root, parted by semicolons, then a blank and how often it was seen.
"""

import gzip
from collections.abc import Mapping
from pathlib import Path

from dbdyno.model.error import ResultError
from dbdyno.model.profile import NoProfile, ProfileFile, Stack
from dbdyno.store import file
from dbdyno.store.file import REMEDY, read_if_there, write_atomically, write_json

FOLDER = "profile"
FACTS = "profile.json"
STACKS = "stacks.gz"
FOLDED = 6
"""How hard stacks are deflated: more takes twice as long for a hundredth."""


def made(step: Path) -> Path:
    """The folder of the profile of the step in this folder, made where it is missing."""
    return file.made(step / FOLDER)


def write(folder: Path, facts: ProfileFile | NoProfile, stacks: Mapping[Stack, int]) -> None:
    """Writes what was sampled into the folder of a profile, the facts last."""
    lines = "".join(f"{line}\n" for line in sorted(folded(stacks)))
    write_atomically(folder / STACKS, gzip.compress(lines.encode(), FOLDED, mtime=0))
    write_json(folder / FACTS, facts)


def folded(stacks: Mapping[Stack, int]) -> list[str]:
    """The lines of `stacks.gz`; a semicolon or line feed in a name becomes a colon."""
    return [f"{';'.join(map(_name, stack))} {count}" for stack, count in stacks.items()]


def _name(part: str) -> str:
    return part.replace(";", ":").replace("\n", ":")


def read_stacks(path: Path) -> dict[Stack, int]:
    """How often each call stack was seen; nothing without a file. Raises ResultError."""
    text = (read_if_there(path) or b"").decode(errors="replace")
    stacks: dict[Stack, int] = {}
    for number, line in enumerate(filter(None, text.split("\n")), start=1):
        stack, _, count = line.rpartition(" ")
        if not stack or not count.isdecimal():
            raise ResultError(f"{path}:{number}: is no call stack with a count; {REMEDY}")
        key = tuple(stack.split(";"))
        stacks[key] = stacks.get(key, 0) + int(count)
    return stacks
