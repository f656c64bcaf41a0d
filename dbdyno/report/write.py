"""Writes a report's files: all of them or, where one cannot be written, none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from dbdyno.model.error import DynoError


def publish(files: Mapping[Path, bytes]) -> None:
    """Writes every file, in place of earlier ones; whatever else their folders hold stays.

    All are written under other names first, and take their own when all are there. Raises
    DynoError where one cannot be written, as on a full disk; then nothing half-done is left.
    """
    parts = {path: path.with_name(f".{path.name}.part") for path in files}
    made: list[Path] = []
    path = Path()
    try:
        for path, content in files.items():
            if path.is_dir():
                raise IsADirectoryError(0, "a folder has this name")
            _folder(path.parent, made)
            parts[path].write_bytes(content)
        for path, part in parts.items():
            part.replace(path)
    except OSError as error:
        raise DynoError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        _clear(parts.values(), made)


def _folder(path: Path, made: list[Path]) -> None:
    """Makes a folder and those above it, and keeps in `made` which are new."""
    if path.is_dir():
        return
    if path.exists():
        raise NotADirectoryError(0, f"`{path}` is a file and no folder")
    _folder(path.parent, made)
    path.mkdir()
    made.append(path)


def _clear(parts: Iterable[Path], made: Iterable[Path]) -> None:
    """Removes what did not get its name, and new folders that stayed empty."""
    for part in parts:
        with suppress(OSError):  # also where its folder is a file, so that it was never written
            part.unlink()
    for folder in reversed(list(made)):
        if not any(folder.iterdir()):
            folder.rmdir()
