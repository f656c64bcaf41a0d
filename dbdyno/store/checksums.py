"""The SHA-256 checksums of a block's files: taken as the block ends, compared when it is read.

They show damage, not forgery: whoever changes a file can change its checksum as well.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.block_files import BlockDone
from dbdyno.model.error import ResultError
from dbdyno.store import disk
from dbdyno.store.file import REMEDY, read_struct_if_there
from dbdyno.store.regular_file import opened

DONE = "done.json"
"""The file of a block that holds the checksums of all others."""

FINISHED = 0o444
"""The rights on files of a finished block: all may read them."""
Checksums = Mapping[str, str]
"""SHA-256 in hexadecimal digits, by a file's name from the block's folder on."""


@dataclass(frozen=True, kw_only=True)
class DamagedFile:
    """A file that is not as it was when its block ended."""

    name: str  # from the folder on that was looked at
    text: str  # what is wrong, and the remedy


def of_block(block: Path) -> dict[str, str]:
    """The checksums of all files of a block, but for its done.json.

    Whoever wrote them, they are on the disk then, with the names of their folders.
    """
    own = [name for name in names(block) if name != DONE]
    for name in own:
        disk.sync_path(block / name)
    for folder in {block / parent for name in own for parent in Path(name).parents}:
        disk.sync_path(folder)
    return {name: _sha256(block / name) for name in own}


def protect(block: Path) -> None:
    """Takes the right to write a finished block's files; its folders stay writable, as for rm."""
    for name in names(block):
        disk.set_rights(block / name, FINISHED)


def read(block: Path) -> Checksums | None:
    """The checksums in a block's done.json; None where it has none.

    A done.json that is damaged has none either: `BlockFolder` says so where it reads it.
    """
    try:
        done = read_struct_if_there(block / DONE, BlockDone)
    except ResultError:
        return None
    return None if done is None else done.sha256


def of_block_damaged(block: Path, expected: Checksums) -> Iterator[DamagedFile]:
    """The files of a block that are missing, changed or new."""
    return _compared(block, expected, set(names(block)) - {DONE})


def of_folder_damaged(folder: Path, expected: Checksums) -> Iterator[DamagedFile]:
    """The same of a folder within; `expected`: by the names there."""
    return _compared(folder, expected, set(names(folder)))


def changed(folder: Path, expected: Checksums) -> Iterator[DamagedFile]:
    """Those of the expected files that are there and have changed."""
    for name, checksum in expected.items():
        path = folder / name
        if path.exists() and _sha256(path) != checksum:
            text = f"is not as it was when the block ended (its SHA-256 differs); {REMEDY}"
            yield DamagedFile(name=name, text=text)


def _compared(folder: Path, expected: Checksums, present: set[str]) -> Iterator[DamagedFile]:
    for name in sorted({*expected, *present}):
        if name not in present:
            yield DamagedFile(name=name, text=f"is missing; {REMEDY}")
        elif name not in expected:
            yield DamagedFile(name=name, text="was not there when the block ended; move it away")
        else:
            yield from changed(folder, {name: expected[name]})


def names(folder: Path) -> list[str]:
    """The files in a folder and below, by their names from there on; without hidden ones."""
    inside = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(place, name) for name in files if not name.startswith("."))
        inside += [str(path.relative_to(folder)) for path in paths if path.is_file()]
    return sorted(inside)


def _sha256(path: Path) -> str:
    """The checksum of a file. Raises ResultError where it cannot be read."""
    try:
        with opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from error
