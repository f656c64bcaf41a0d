"""The derived values of steps, kept beside them.

Never the truth: an entry counts only for the very files (names, sizes, times of change) and the
very code that it was made from, and the folder can be deleted at any time. Where it cannot be
written, things go without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import orjson

from dbdyno.store.file import write_atomically

FORMAT = 1
FOLDER = "derived"
SETTLED_NS = 2_000_000_000
"""A file that was changed so lately may change again without its time telling."""
CODE = ("analysis/step", "analysis/wording.py", "model", "stats", "store")
"""The parts of the package by which an entry is derived."""

Files = dict[str, list[int]]


class Shelf:
    """The entries of a result folder, for one version of the deriving code."""

    def __init__(self, results: Path, code: str, *, keeps: bool = True) -> None:
        self._keeps = keeps
        self._folder = results / FOLDER
        self._blocks = results / "blocks"
        self._code = code

    def read(self, step: Path) -> Any | None:
        """The kept values of the step in this folder; None if missing or no longer valid."""
        try:
            entry = orjson.loads(self._path(step).read_bytes())
            valid = entry["code"] == self._code and entry["files"] == files(step)
            return entry["derived"] if valid and entry["format"] == FORMAT else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, step: Path, before: Files, derived: Any) -> None:
        """Keeps what was derived; `before`: the step's files before they were read.

        Does nothing where they have changed since, or may have, or where it cannot be written, nor
        on a shelf that keeps nothing.
        """
        if not self._keeps:
            return
        settled = time.time_ns() - SETTLED_NS
        with contextlib.suppress(OSError, ValueError):  # ValueError: a number that is none
            if files(step) != before or any(changed > settled for _, changed in before.values()):
                return
            entry = {"format": FORMAT, "code": self._code, "files": before, "derived": derived}
            text = json.dumps(entry, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
            path = self._path(step)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text.encode(), synced=False)  # if lost, it is derived again

    def _path(self, step: Path) -> Path:
        place = step.relative_to(self._blocks)
        return self._folder / place.with_name(f"{place.name}.json")


def files(step: Path) -> Files:
    """The files of a step's folder and its profile's: name, then size and time of change in ns."""
    return {name: [its.st_size, its.st_mtime_ns] for name, its in sorted(_stats(step))}


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
            path = package / part
            for source in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
                content = source.read_bytes()
                whole.update(f"{source.relative_to(package)} {len(content)}\n".encode() + content)
    except OSError:
        return None
    return whole.hexdigest()
