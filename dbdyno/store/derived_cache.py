"""The derived values of steps, kept in the reader's own cache folder.

Never in the result: whoever sends a result would send its figures, too. An entry counts only for
the files of this very folder (names, sizes, times of change) and for the code that it was made
from. The kernel sets a file's time of change (ctime), and nobody who sends or copies a file can
choose it. Where the cache cannot be written, things go without it.
"""

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from dbdyno.host import place
from dbdyno.model.error import DiskError, HostError
from dbdyno.store.file import write_atomically

FORMAT = 3
FOLDER = "derived"
OF_RESULT = "result"
"""The file of a shelf that holds the real path of its result."""
SETTLED_NS = 2_000_000_000
"""A file that was changed so lately may change again without its time telling."""
CODE = (
    "analysis/step/*.py",
    "evidence/*.py",
    "findings/finding.py",
    "findings/steps.py",
    "findings/*/facts.py",
    "findings/*/metrics.py",
    "findings/*/series.py",
    "findings/*/step.py",
    "parts/number.py",
    "parts/owner.py",
    "model/**/*.py",
    "stats/**/*.py",
    "store/**/*.py",
)
"""The files of the package by which an entry is derived."""

Files = dict[str, tuple[int, int]]
Value = TypeVar("Value")


class CacheEntry(Struct, Generic[Value], frozen=True):
    """What is kept of a step."""

    format: int
    code: str
    files: Files
    derived: Value


class Shelf:
    """The entries of a result folder, for one version of the deriving code."""

    def __init__(self, results: Path, code: str) -> None:
        self._result = results.resolve()
        self._blocks = results / "blocks"
        self._code = code

    def read(self, step: Path, form: type[Value]) -> Value | None:
        """The kept values of the step in this folder; None if missing or no longer valid."""
        try:
            content = self._path(step).read_bytes()
            entry: CacheEntry[Value] = msgspec.msgpack.decode(content, type=CacheEntry[form])  # type: ignore[valid-type]
            valid = entry.code == self._code and entry.files == files(step)
            return entry.derived if valid and entry.format == FORMAT else None
        except (OSError, HostError, ValueError):
            return None

    def keep(self, step: Path, before: Files, derived: object) -> None:
        """Keeps what was derived; `before`: the step's files before they were read.

        Does nothing where they have changed since, or may have, or where it cannot be written.
        """
        settled = time.time_ns() - SETTLED_NS
        with contextlib.suppress(OSError, HostError, DiskError):
            if files(step) != before or any(changed > settled for _, changed in before.values()):
                return
            entry = msgspec.msgpack.encode(CacheEntry(FORMAT, self._code, before, derived))
            path = self._path(step)
            self._make(path.parent)
            write_atomically(path, entry, synced=False)  # if lost, it is derived again

    @cached_property
    def folder(self) -> Path:
        """The folder of the result's entries. Raises HostError where others may write there."""
        place.cache_root().mkdir(parents=True, exist_ok=True)
        shelves = place.private_folder(place.cache_root() / FOLDER)
        return shelves / hashlib.sha256(os.fsencode(self._result)).hexdigest()

    def _path(self, step: Path) -> Path:
        name = step.relative_to(self._blocks)
        return self.folder / name.with_name(f"{name.name}.msgpack")

    def _make(self, folder: Path) -> None:
        """Makes a folder for entries; with a result's first one, those of results that went go."""
        own = self.folder
        if not own.exists():
            own.mkdir(exist_ok=True)
            write_atomically(own / OF_RESULT, os.fsencode(self._result), synced=False)
            _sweep(own.parent)
        folder.mkdir(parents=True, exist_ok=True)


def _sweep(shelves: Path) -> None:
    """Removes the entries of results that lie no longer where they were read."""
    for shelf in shelves.iterdir():
        with contextlib.suppress(OSError):
            result = Path(os.fsdecode((shelf / OF_RESULT).read_bytes()))
            if not (result / "plan.json").exists():
                shutil.rmtree(shelf)


def files(step: Path) -> Files:
    """The files of a step's folder and its profile's: name, then size and time of change in ns."""
    return {name: (stat.st_size, stat.st_ctime_ns) for name, stat in sorted(_stats(step))}


def _stats(folder: Path, prefix: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """The files of a folder and of those in it, by their names from there."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _stats(Path(entry.path), f"{prefix}{entry.name}/")
            else:
                yield prefix + entry.name, entry.stat()


def code_version() -> str | None:
    """A hash of the deriving code's sources; None where they cannot be read."""
    package = Path(str(resources.files("dbdyno")))
    whole = hashlib.sha256()
    try:
        for part in CODE:
            for source in sorted(package.glob(part)):
                content = source.read_bytes()
                whole.update(f"{source.relative_to(package)} {len(content)}\n".encode() + content)
    except OSError:
        return None
    return whole.hexdigest()
