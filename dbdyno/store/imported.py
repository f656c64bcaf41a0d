"""What was brought from outside into a result folder: tables of metrics that others measured.

imported/001.csv is the file as it came, imported/001.json says how it is read. Neither is changed.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.store.file import made, read_if_there, read_struct, write_atomically, write_json

FOLDER = "imported"


class ImportFormat(Struct, frozen=True, kw_only=True):
    """How an imported table is read."""

    name: str  # of the file, as it was called
    zone: str | None = None  # of times that name none, such as "+02:00"
    every_s: float | None = None  # how long a row's values hold; None: until the next row
    shift_s: float = 0.0  # what is added to its times
    arm: str | None = None  # only this one's steps; None: whichever ran at the time
    sha256: str = ""  # of the table, from when it is kept on


@dataclass(frozen=True, kw_only=True)
class ImportedTable:
    """A table in a result folder."""

    path: Path
    text: str
    reading: ImportFormat


def all_of(folder: Path) -> Iterator[ImportedTable]:
    """The tables that were imported into a result folder, in their order. Raises ResultError."""
    for path in sorted((folder / FOLDER).glob("*.csv")):
        yield ImportedTable(
            path=path,
            text=(read_if_there(path) or b"").decode("utf-8"),
            reading=read_struct(path.with_suffix(".json"), ImportFormat),
        )


def add(folder: Path, content: bytes, reading: ImportFormat) -> Path | None:
    """Keeps a table; its path. None: the same table is there already, read in the same way."""
    reading = replace(reading, sha256=hashlib.sha256(content).hexdigest())
    there = sorted((folder / FOLDER).glob("*.json"))
    if any(read_struct(path, ImportFormat) == reading for path in there):
        return None
    made(folder / FOLDER)
    path = folder / FOLDER / f"{len(there) + 1:03}.csv"
    write_atomically(path, content)
    write_json(path.with_suffix(".json"), reading)
    return path
