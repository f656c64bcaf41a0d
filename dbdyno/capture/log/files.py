"""Opens a log's files in the order of their first records, and tells their formats apart."""

import bz2
import gzip
import io
import lzma
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Literal, get_args

from dbdyno.capture.log import general_log, slow_log
from dbdyno.capture.log.csv_log import is_row
from dbdyno.capture.log.json_log import is_record
from dbdyno.capture.log.record import STAMP
from dbdyno.capture.log.tally import Tally
from dbdyno.capture.log.wrapped import unwrapped
from dbdyno.model.error import DynoError

Format = Literal["csv", "json", "slow", "general", "stderr"]
"""The fullest first: a server that writes several says each thing in each."""
HEAD_BYTES, HEAD_LINES, BEGUN_LINES, NAMED_MAX = 1 << 16, 400, 2, 3
ZSTD = b"\x28\xb5\x2f\xfd"
Stream = io.BufferedReader | gzip.GzipFile | lzma.LZMAFile | bz2.BZ2File
PACKED: Mapping[bytes, Callable[[Path], Stream]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"\xfd7zXZ": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
}
"""How files are packed, by their first bytes."""
ENCODINGS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
"""How texts are encoded, by their first bytes; others are UTF-8."""
SUFFIXES = (".csv", ".json", ".jsonl", ".log", ".txt", ".gz", ".zst", ".xz", ".bz2")
ROTATED = re.compile(r"(?:[.-][\d.T_-]+)+$")
"""What stands behind the suffix of a rotated file: `x.log.1`, `postgresql.log.2026-11-26-10`."""


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
    """Whether a file of a folder is read: by its suffix, also of rotated ones."""
    return ROTATED.sub("", file.name).endswith(SUFFIXES)


@contextmanager
def opened(path: Path, tally: Tally | None = None) -> Iterator[Iterator[str]]:
    """The server's lines of a file, unpacked and unwrapped; bytes that are no UTF-8 are kept.

    `tally` is told in what they were wrapped. Raises DynoError: it cannot be read or unpacked.
    """
    try:
        with unpacked(path) as stream, text_of(stream) as text:
            lines, wrappers = unwrapped(with_plain_ends(text))
            if tally is not None:
                tally.wrapped = wrappers
                tally.begins(path.name)
            yield lines
    except (OSError, EOFError, lzma.LZMAError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DynoError(f"`{path}`: cannot be read: {reason}") from error


def text_of(stream: Stream) -> io.TextIOWrapper:
    """The text of a file, whatever its encoding."""
    begin = stream.peek(4)[:4]
    encoding = next((name for mark, name in ENCODINGS.items() if begin.startswith(mark)), "utf-8")
    if encoding == "utf-8" and begin[1::2] == b"\x00\x00" and begin[0]:
        encoding = "utf-16-le"  # without a mark
    errors = "replace" if encoding.startswith("utf-16") else "surrogateescape"
    return io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="\n")


def with_plain_ends(lines: Iterator[str]) -> Iterator[str]:
    """The lines of a text, of Windows' too."""
    head = list(islice(lines, HEAD_LINES))
    if 2 * sum(line.endswith("\r\n") for line in head) > len(head):
        return (line.replace("\r\n", "\n") for line in chain(head, lines))
    return chain(head, lines)


@contextmanager
def unpacked(path: Path) -> Iterator[Stream]:
    """The file's bytes. Raises OSError, EOFError; DynoError where no program unpacks it."""
    with path.open("rb") as raw:
        head = raw.read(6)
    if head.startswith(ZSTD):
        with unpacked_by_zstd(path) as stream:
            yield stream
        return
    packed = next((each for magic, each in PACKED.items() if head.startswith(magic)), None)
    with path.open("rb") if packed is None else packed(path) as stream:
        yield stream


@contextmanager
def unpacked_by_zstd(path: Path) -> Iterator[Stream]:
    """The bytes of a file that the program `zstd` unpacks, whose library Python has from 3.14 on.

    Raises DynoError where there is no such program, or the file is damaged.
    """
    program = shutil.which("zstd")
    if program is None:
        raise DynoError(f"`{path}`: is packed by zstd: install `zstd`, or unpack it first")
    words = [program, "--decompress", "--stdout", "--quiet", "--", str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None, "its output is a pipe"
        yield process.stdout  # type: ignore[misc]
        process.stdout.close()
    if process.returncode > 0:  # below 0: nobody wanted the rest
        raise DynoError(f"`{path}`: cannot be read: zstd finds it damaged")


def format_of(head: str, path: Path) -> Format:
    """The format of a log by its beginning. Raises DynoError: none that is known."""
    if slow_log.BEGINS.search(head):
        return "slow"
    if general_log.BEGINS.search(head):
        return "general"
    lines = [line for line in head.splitlines() if line.strip()]
    if lines[0].startswith("log_time,") or any(map(is_row, lines)):
        return "csv"
    if any(line.startswith("{") for line in lines[:BEGUN_LINES]):  # the first may be torn
        if is_record(head):
            return "json"
        raise DynoError(
            f"`{path}`: its lines are JSON, but no jsonlog of PostgreSQL, nor a log that a service "
            "has wrapped (`textPayload`, `message`, `properties.message`, `record`, `log`)"
        )
    return "stderr"


def in_order(files: Sequence[Path]) -> tuple[list[tuple[Path, Format]], str]:
    """The files with their formats, by the time of their first record. Raises DynoError.

    A server that writes more than one format says each thing twice: of files of several formats
    the fullest is read, and a sentence says so.
    """
    begun = []
    for path in files:
        with opened(path) as lines:
            head = "".join(islice(lines, HEAD_LINES))[:HEAD_BYTES]
        if not head.strip():
            continue
        format = format_of(head, path)
        begun.append((beginning(head, format), str(path), path, format))
    formats = {format for *_, format in begun}
    best = next((format for format in get_args(Format) if format in formats), "stderr")
    read = [(path, format) for _, _, path, format in sorted(begun) if format == best]
    others = sorted(path.name for *_, path, format in begun if format != best)
    if not others:
        return read, ""
    left = ", ".join(f"`{name}`" for name in others[:NAMED_MAX])
    more = f" and {len(others) - NAMED_MAX} more" if len(others) > NAMED_MAX else ""
    return read, (
        f"Of the log's formats the fullest ({best}) is read, without {left}{more}, which would "
        "tell the same calls again"
    )


def beginning(head: str, format: Format) -> str:
    """The time of a file's first record, as texts that sort like it."""
    if format == "slow":
        return slow_log.beginning(head)
    if format == "general":
        return general_log.beginning(head)
    stamp = STAMP.search(head)
    return stamp[0] if stamp else ""
