"""Reads small kernel files; what is not there, or not ours to read, is None."""

import errno
import os
from pathlib import Path

READ_BYTES = 65536
RECORD_BYTES = 8192


EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Errors that say nothing of the file: taken for its absence they would falsify a result."""


def text(path: str | Path) -> str | None:
    """The text of `path`, or None.

    None where the file or its process has gone (also between opening and reading), or where
    reading is not allowed. Bytes that are not UTF-8 (process names are free) are kept escaped.
    Raises OSError only where this process has no descriptors or memory left.
    """
    try:
        return content(path).decode("utf-8", "surrogateescape")
    except OSError as error:
        if error.errno in EXHAUSTED:
            raise
        return None


def record(path: str) -> str | None:
    """As `text`, for files that hold one record: the kernel gives it in one read if it fits."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = chunk = os.read(file, RECORD_BYTES)
            while len(chunk) == RECORD_BYTES:
                chunk = os.read(file, RECORD_BYTES)
                found += chunk
        finally:
            os.close(file)
        return found.decode("utf-8", "surrogateescape")
    except OSError as error:
        if error.errno in EXHAUSTED:
            raise
        return None


def content(path: str | Path) -> bytes:
    """All bytes of `path`, without the machinery of Python's file objects; raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        chunks = [os.read(file, READ_BYTES)]
        while chunks[-1]:
            chunks.append(os.read(file, READ_BYTES))
    finally:
        os.close(file)
    return b"".join(chunks)


def line(path: str | Path) -> str | None:
    """The text of a one-line file without its end; None where it is missing or empty."""
    found = text(path)
    return (found.strip() or None) if found is not None else None


def number(path: str | Path) -> int | None:
    """The whole number in a one-line file; None where there is none."""
    found = line(path)
    try:
        return int(found) if found is not None else None
    except ValueError:
        return None


def chosen(path: str | Path) -> str | None:
    """The chosen word of a file such as `always [madvise] never`; a single word is itself."""
    found = line(path)
    return None if found is None else bracketed(found)


def bracketed(words: str) -> str:
    """The word in brackets; all of it where there are none."""
    _, bracket, rest = words.partition("[")
    return rest.partition("]")[0] if bracket else words
