"""Files of a result folder: JSON objects and JSON lines, written so that nothing is lost.

Writing is append-only and synced: objects are replaced atomically, lines are handed to the system
one by one, so that a killed lab loses nothing that was measured. Reading tolerates what an
interruption leaves behind: a last line that is cut off.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dbdyno.model.error import DiskError, ResultError
from dbdyno.model.json import decoder, misfit_words, plain
from dbdyno.store import disk, regular_file

Value = TypeVar("Value")
UNFINISHED = re.compile(r"\..+\.\d+")
"""The name of a file that a process has not written to its end, unless it is at it."""
REMEDY = "restore it from a copy"
REMEDY_OF_MISFIT = f"{REMEDY}, or use the version of dyno that wrote it"

# --- Writing files ---------------------------------------------------------------------------


def write_json(path: Path, value: object) -> None:
    """Write a Struct, dataclass or dict so that `path` holds the old or the whole new content.

    Raises ValueError where a number is not finite, which JSON cannot say.
    """
    text = json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, (text + "\n").encode())


def write_atomically(path: Path, content: bytes, *, synced: bool = True) -> None:
    """Write a file so that `path` holds either the old or the whole new content.

    `synced`: it is on the disk then.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    file = disk.create(temporary, anew=True)
    try:
        try:
            disk.write(file, content)
            if synced:
                disk.sync(file)
        finally:
            disk.close(file)
        disk.rename(temporary, path)
    except BaseException:
        with suppress(DiskError):  # the first error says more
            disk.remove(temporary)
        raise
    if synced:
        disk.sync_path(path.parent)


def made(folder: Path) -> Path:
    """The folder, made with those above it where it is missing, each durable in the one above."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(new):
        with suppress(FileExistsError):
            disk.make_folder(path)
    for path in reversed(new or [folder]):
        disk.sync_path(path.parent)
    return folder


class JsonLines:
    """Appends JSON lines to a file; each is handed to the system at once, `close` syncs them.

    No buffer of our own: lines survive a kill of this process, the sync is for a power failure.
    """

    def __init__(self, path: Path, *, goes_on: bool = False) -> None:
        """A new file; `goes_on`: one that may be there. Raises FileExistsError."""
        self.path = path
        self._file: disk.DiskFile | None = disk.append(path) if goes_on else disk.create(path)

    def write(self, value: object) -> None:
        """Append a Struct, dataclass or dict as a line. Raises ValueError as `write_json` does."""
        self.write_raw(json.dumps(plain(value), allow_nan=False, separators=(",", ":")))

    def write_raw(self, line: str | bytes) -> None:
        """Append one line as another program wrote it, with or without its line feed."""
        assert self._file is not None, "it is closed"
        data = line.encode() if isinstance(line, str) else line
        disk.write(self._file, data.rstrip(b"\r\n") + b"\n")

    def close(self) -> None:
        """Sync and close; further calls do nothing."""
        if self._file is None:
            return
        file, self._file = self._file, None
        try:
            disk.sync(file)
        finally:
            disk.close(file)
        disk.sync_path(file.path.parent)

    def __enter__(self) -> JsonLines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# --- Reading files ---------------------------------------------------------------------------


def read_struct(path: Path, form: type[Value]) -> Value:
    """The object in `path`, of a type (a Struct); keys that the type does not have are passed over.

    Raises ResultError, which names the file and the key, where it is missing, damaged or does not
    fit.
    """
    value = read_struct_if_there(path, form)
    if value is None:
        raise ResultError(f"{path}: is missing; {REMEDY}")
    return value


class FileFormat(msgspec.Struct, frozen=True):
    """The keys by which a file says how the rest is written, and by which dyno."""

    format: Any = None
    dyno: Any = None


def read_format(path: Path, form: type[Value], number: int) -> Value:
    """The object in `path`, whose key `format` has to be this number. Raises ResultError."""
    content = read_if_there(path)
    if content is None:
        raise ResultError(f"{path}: is missing; {REMEDY}")
    head = _decoded(path, content, FileFormat)
    if head.format != number:
        by = "" if head.dyno is None else f" ({head.dyno})"
        raise ResultError(
            f"{path}: key `format` is {head.format!r}, this version of dyno reads {number}; use "
            f"the version that wrote it{by}"
        )
    return _decoded(path, content, form)


def read_struct_if_there(path: Path, form: type[Value]) -> Value | None:
    """The same; None where there is no file."""
    content = read_if_there(path)
    return None if content is None else _decoded(path, content, form)


def _decoded(path: Path, content: bytes, form: type[Value]) -> Value:
    """The object in a file's content. Raises ResultError."""
    try:
        value: Value = decoder(form).decode(content)
        return value
    except msgspec.ValidationError as error:
        raise ResultError(f"{path}: {misfit_words(error)}; {REMEDY_OF_MISFIT}") from error
    except (ValueError, RecursionError) as error:
        what = f"is not JSON ({error})" if content else "is empty"
        raise ResultError(f"{path}: {what}; {REMEDY}") from error


def read_structs(path: Path, form: type[Value]) -> Iterator[Value]:
    """The objects of a file of JSON lines, each of a type; raises as `decoded_lines` does."""
    return decoded_lines(path, decoder(form).decode)


def read_if_there(path: Path) -> bytes | None:
    """The content of `path`, unpacked if its name ends in `.gz`; None where there is no file.

    Raises ResultError where it cannot be read or unpacked.
    """
    try:
        return regular_file.content(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from error
    except (EOFError, zlib.error) as error:
        raise ResultError(f"{path}: cannot be read: {error}; {REMEDY}") from error


def decoded_lines(path: Path, decode: Callable[[bytes], Value]) -> Iterator[Value]:
    """What `decode` makes of each line of JSON; nothing where the file is missing.

    A last line that an interruption cut off is passed over. Raises ResultError for any other line
    that is no JSON, and for each that is not of the decoder's type.
    """
    bad: int | None = None
    try:
        for number, line in enumerate(regular_file.lines(path), 1):
            if bad is not None:
                raise ResultError(f"{path}:{bad}: is not a JSON object; {REMEDY}")
            try:
                yield decode(line)
            except msgspec.ValidationError as error:
                raise ResultError(
                    f"{path}:{number}: {misfit_words(error)}; {REMEDY_OF_MISFIT}"
                ) from error
            except (msgspec.DecodeError, RecursionError):
                bad = number
    except FileNotFoundError:
        return
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from error
