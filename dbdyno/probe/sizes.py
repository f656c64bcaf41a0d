"""Measures how much room the database takes: as it says itself, and as its files are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from dbdyno.model import Json
from dbdyno.probe.reader import Reader, Unavailable

WAL_FOLDERS = ("pg_wal", "pg_xlog")
WAL_FILE = re.compile(r"[0-9A-F]{24}")


def sizes(reader: Reader, data_dir: Path | None, wal_dir: Path | None) -> Json:
    """Sizes of the database and of its folders; the data folder's includes the log's."""
    found = {
        "database_bytes": reader.part(
            "sizes.database_bytes",
            lambda _: reader.row("SELECT pg_database_size(current_database()) AS bytes")["bytes"],
        ),
        "data_dir_bytes": reader.part(
            "sizes.data_dir_bytes", lambda _: data_dir_bytes(data_dir, wal_dir)
        ),
    }
    log = reader.part("sizes.wal_dir_bytes", lambda _: wal_files(reader, data_dir, wal_dir))
    return found | (log or {"wal_dir_bytes": None, "wal_files": None})


def data_dir_bytes(data_dir: Path | None, wal_dir: Path | None) -> int:
    """All files of the data folder, and of the log where that lies elsewhere, by their length."""
    if data_dir is None:
        raise Unavailable("the server's data folder is not on this machine, or not known")
    total = sum(size for _, size in files(data_dir))
    log = wal_folder(data_dir, wal_dir)
    if log is not None and not log.resolve().is_relative_to(data_dir.resolve()):
        total += sum(size for _, size in files(log))
    return total


def wal_files(reader: Reader, data_dir: Path | None, wal_dir: Path | None) -> Json:
    """The write-ahead log's folder: bytes of all files, number of segments."""
    log = wal_folder(data_dir, wal_dir)
    if log is not None:
        found = list(files(log))
    else:
        reader.need(100000, "pg_ls_waldir, and its data folder is not known")
        rows = reader.rows("SELECT name, size FROM pg_ls_waldir()")
        found = [(row["name"], row["size"]) for row in rows]
    return {
        "wal_dir_bytes": sum(size for _, size in found),
        "wal_files": sum(1 for name, _ in found if WAL_FILE.fullmatch(name)),
    }


def wal_folder(data_dir: Path | None, wal_dir: Path | None) -> Path | None:
    """Where the log's files are; None where that is not known."""
    if wal_dir is not None:
        return wal_dir
    if data_dir is None:
        return None
    return next((data_dir / name for name in WAL_FOLDERS if (data_dir / name).is_dir()), None)


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
