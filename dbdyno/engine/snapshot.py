"""Snapshots of a database: what they are taken of, parts that cannot be had, sizes of folders.

A part that cannot be had is None, and named with its reason.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from dbdyno.model import Address


@dataclass(frozen=True)
class SnapshotSubject:
    """The database at `address`, as a step of a workload sees it."""

    address: Address
    tables: Sequence[str] = ()
    explain: Mapping[str, str] = field(default_factory=dict)  # SQL by statement (Step.explain)
    session: Sequence[str] = ()  # what sessions send first in which these statements run
    data_dir: Path | None = None  # None: not to be seen from here
    wal_dir: Path | None = None  # where the write-ahead log is, if not in `data_dir`


# --- Parts ------------------------------------------------------------------------------------


Row = dict[str, Any]
Found = TypeVar("Found")


class UnavailableError(Exception):
    """The server has no such thing; the text says why."""


def part(
    reasons: dict[str, str],
    name: str,
    read: Callable[[], Found],
    errors: tuple[type[Exception], ...],
) -> Found | None:
    """The result of `read`; None, with the reason kept under `name`, where it cannot be had.

    `errors`: what the driver raises of the server's refusals.
    """
    try:
        return read()
    except UnavailableError as error:
        reasons[name] = str(error)
    except errors as error:
        reasons[name] = one_line(error)
    return None


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers, text, truth, None, lists; times and intervals as text."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def one_line(error: Exception) -> str:
    """The first line of an error's text, or its kind where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


# --- Folders ----------------------------------------------------------------------------------


def data_dir_bytes(data_dir: Path | None, log: Path | None) -> int:
    """All files of the data folder, and of the log where that lies elsewhere, by their length.

    Raises UnavailableError where the folder is not known, OSError where it cannot be read.
    """
    if data_dir is None:
        raise UnavailableError("the server's data folder is not on this machine, or not known")
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
