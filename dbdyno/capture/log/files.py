"""Opens a log's files in the order of their first records, and tells their formats apart."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO, get_args

from dbdyno.capture.log import general_log, slow_log
from dbdyno.capture.log.csv_log import COLUMNS
from dbdyno.capture.log.record import STAMP
from dbdyno.capture.log.wrapped import Unwrapped, is_wrapped
from dbdyno.model.error import DynoError

Format = Literal["csv", "json", "slow", "general", "stderr"]
"""The fullest first: a server that writes several says each thing in each."""
HEAD_BYTES = 1 << 16
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
AS_IT_IS: Any = {"encoding": "utf-8", "errors": "surrogateescape", "newline": "\n"}
SUFFIXES = (".csv", ".json", ".log", ".txt", ".gz", ".zst")


def files_in(path: Path) -> list[Path]:
    """The log files of a place, a file or a folder. Raises DynoError: there are none."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DynoError(f"`{path}`: there is no such file or folder: name a log, or a DSN")
    files = sorted(
        file
        for file in path.iterdir()
        if file.is_file() and not file.name.startswith(".") and looks_like_a_log(file)
    )
    if not files:
        raise DynoError(f"`{path}`: holds no log files: name the folder of `log_directory`")
    return files


def looks_like_a_log(file: Path) -> bool:
    """Whether a file of a folder is read: by its suffix, also of rotated ones (`x.log.1`)."""
    name = file.name.rstrip("0123456789").rstrip(".") if file.name[-1].isdecimal() else file.name
    return name.endswith(SUFFIXES)


@contextmanager
def opened(path: Path) -> Iterator[TextIO | Unwrapped]:
    """The file's text, unpacked where it is packed; bytes that are no UTF-8 are kept.

    Raises DynoError: the file cannot be read or unpacked.
    """
    try:
        with unpacked(path) as text:
            wrapped = is_wrapped(text.read(HEAD_BYTES))
        with unpacked(path) as text:
            yield Unwrapped(text) if wrapped else text
    except (OSError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DynoError(f"`{path}`: cannot be read: {reason}") from error


@contextmanager
def unpacked(path: Path) -> Iterator[TextIO]:
    """The file's text. Raises OSError, EOFError; DynoError where no program unpacks it."""
    with path.open("rb") as raw:
        head = raw.read(4)
    if head.startswith(GZIP):
        with gzip.open(path, "rt", **AS_IT_IS) as text:
            yield text
    elif head == ZSTD:
        with unpacked_by_zstd(path) as text:
            yield text
    else:
        with path.open("rt", **AS_IT_IS) as text:
            yield text


@contextmanager
def unpacked_by_zstd(path: Path) -> Iterator[TextIO]:
    """The text of a file that the program `zstd` unpacks, whose library Python has from 3.14 on.

    Raises DynoError where there is no such program, or the file is damaged.
    """
    program = shutil.which("zstd")
    if program is None:
        raise DynoError(f"`{path}`: is packed by zstd: install `zstd`, or unpack it first")
    words = [program, "--decompress", "--stdout", "--quiet", "--", str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None, "its output is a pipe"
        with io.TextIOWrapper(process.stdout, **AS_IT_IS) as text:
            yield text
            whole = not text.read(1)
    if whole and process.returncode:
        raise DynoError(f"`{path}`: cannot be read: zstd finds it damaged")


def format_of(head: str, path: Path) -> Format:
    """The format of a log by its beginning. Raises DynoError: none that is known."""
    if slow_log.BEGINS.search(head):
        return "slow"
    if general_log.BEGINS.search(head):
        return "general"
    first = next((line for line in head.splitlines() if line.strip()), "")
    if first.startswith("{"):
        if '"timestamp"' in first and '"error_severity"' in head:
            return "json"
        raise DynoError(
            f"`{path}`: its lines are JSON, but no jsonlog of PostgreSQL, nor a log that a service "
            "has wrapped (`textPayload`, `message`, `properties.message`)"
        )
    stamp = first.split(",", 1)[0]
    if STAMP.fullmatch(stamp) and first.count(",") >= min(COLUMNS) // 2:
        return "csv"
    return "stderr"


def in_order(files: Sequence[Path]) -> list[tuple[Path, Format]]:
    """The files with their formats, by the time of their first record. Raises DynoError.

    A server that writes more than one format says each thing twice: of files of several formats
    the fullest is read.
    """
    begun = []
    for path in files:
        with opened(path) as stream:
            head = stream.read(HEAD_BYTES)
        if not head.strip():
            continue
        format = format_of(head, path)
        begun.append((beginning(head, format), str(path), path, format))
    formats = {format for *_, format in begun}
    best = next((format for format in get_args(Format) if format in formats), "stderr")
    return [(path, format) for _, _, path, format in sorted(begun) if format == best]


def beginning(head: str, format: Format) -> str:
    """The time of a file's first record, as texts that sort like it."""
    if format == "slow":
        return slow_log.beginning(head)
    if format == "general":
        return general_log.beginning(head)
    stamp = STAMP.search(head)
    return stamp[0] if stamp else ""
