"""A result folder as one file to hand on: its own files, and nothing that tells whose they were."""

import gzip
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dbdyno.model import secret
from dbdyno.model.error import ResultError
from dbdyno.store import checksums
from dbdyno.store.folder import COUNT
from dbdyno.store.regular_file import opened

ENDING = ".tar.gz"
OWN = re.compile(
    r"(plan|host)(\.\d{3,})?\.json|generator\.jsonl|looks\.json|commits\.json\.gz"
    rf"|(hosts|imported|blocks|{COUNT})/.+"
)
"""What docs/results.md has of a result, but for the lab that writes: all else is somebody's own."""
CHUNK_BYTES, OVERLAP_BYTES = 4 << 20, 4 << 10
READABLE, PASSABLE = 0o644, 0o755


def pack(folder: Path, name: str, to: BinaryIO, at_s: float) -> None:
    """Writes the result in a folder as a packed folder of this name; all files are of one time.

    The same bytes for the same result. Raises ResultError where a file is none of a result.
    """
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=to, compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        known: set[Path] = set()
        for place, file in _files(folder):
            path = Path(name, place)
            for parent in reversed(path.parents[:-1]):  # whose time tells when it was measured
                if parent not in known:
                    known.add(parent)
                    archive.addfile(_entry(parent, at_s, tarfile.DIRTYPE, PASSABLE))
            entry = _entry(path, at_s, tarfile.REGTYPE, READABLE)
            entry.size = os.fstat(file.fileno()).st_size
            try:
                archive.addfile(entry, file)
            except OSError as error:
                if error.errno is not None:  # of `to`
                    raise
                raise ResultError(f"{folder / place}: changed while it was packed") from error


def _entry(path: Path, at_s: float, form: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path.as_posix())
    entry.type, entry.mtime, entry.mode = form, int(at_s), mode
    return entry


def with_password(folder: Path) -> str | None:
    """The first file of a result that holds a password, as far as one can be told; None: none does.

    Raises ResultError where a file is none of a result.
    """
    return next((place for place, file in _files(folder) if _has_password(file)), None)


def _files(folder: Path) -> Iterator[tuple[str, BinaryIO]]:
    """The files of a result, open, with their places in it. Raises ResultError."""
    for place in checksums.names(folder):
        if OWN.fullmatch(place):
            try:
                file = opened(folder / place)
            except OSError as error:
                text = f"{folder / place}: {error.strerror}; publish a copy without it"
                raise ResultError(text) from error
            with file:
                yield place, file


def _has_password(file: BinaryIO) -> bool:
    kept = b""
    while chunk := file.read(CHUNK_BYTES):
        if secret.has_password(kept + chunk):
            return True
        kept = chunk[-OVERLAP_BYTES:]
    return False
