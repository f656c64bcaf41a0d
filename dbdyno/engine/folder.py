"""Measures folders of a server: the lengths of their files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dbdyno.engine.snapshot import Unavailable


def data_dir_bytes(data_dir: Path | None, log: Path | None) -> int:
    """All files of the data folder, and of the log where that lies elsewhere, by their length.

    Raises Unavailable where the folder is not known, OSError where it cannot be read.
    """
    if data_dir is None:
        raise Unavailable("the server's data folder is not on this machine, or not known")
    total = sum(size for _, size in files(data_dir))
    if log is not None and not log.resolve().is_relative_to(data_dir.resolve()):
        total += sum(size for _, size in files(log))
    return total


def files(folder: Path) -> Iterator[tuple[str, int]]:
    """Name and length of each file under `folder`; follows no links below it.

    A live server removes files while we look: what has gone meanwhile counts nothing. Raises
    OSError where the folder itself cannot be read.
    """
    waiting = [os.fspath(folder)]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as entries:
                found = list(entries)
        except FileNotFoundError:
            if path == os.fspath(folder):
                raise
            continue
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.name, length(entry)


def length(entry: os.DirEntry[str]) -> int:
    """A file's length; 0 for one that has gone."""
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0
