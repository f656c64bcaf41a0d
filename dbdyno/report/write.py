"""Writes files that belong together: all of them or, where one cannot be written, none."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

from dbdyno.model import secret
from dbdyno.model.error import ExportError

TEXTS = frozenset({".html", ".md", ".json", ".xml", ".svg"})
"""Files in which no password may stand."""
Content = bytes | Callable[[BinaryIO], object]
"""What a file gets, or what writes it where it is too large for the memory."""


def publish(files: Mapping[Path, Content]) -> None:
    """Writes every file, in place of earlier ones; whatever else their folders hold stays.

    Raises ExportError as `Publication.add` does; then nothing half-done is left.
    """
    with Publication() as publication:
        for path, content in files.items():
            publication.add(path, content)


class Publication:
    """Files that are written under other names, and take their own when all are there.

    They do at the end of a `with` that raised nothing, in the order in which they were added.
    """

    def __init__(self) -> None:
        self._parts: dict[Path, Path] = {}
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        path = Path()
        try:
            for path, part in self._parts.items() if kind is None else ():
                part.replace(path)
        except OSError as error:
            raise cannot(path, error) from error
        finally:
            _clear(self._parts.values(), self._made)

    def add(self, path: Path, content: Content) -> int:
        """Writes a file, of so many bytes; one that has these bytes already stays as it is.

        Raises ExportError where it cannot be written, as on a full disk, and what `content` raises.
        """
        if isinstance(content, bytes) and path.suffix in TEXTS:
            content = secret.masked(content)
        part = path.with_name(f".{path.name}.part")
        try:
            if path.is_dir():
                raise IsADirectoryError(0, "a folder has this name")
            if isinstance(content, bytes) and _is(path, content):
                return len(content)
            _folder(path.parent, self._made)
            _write(part, content)
        except OSError as error:
            raise cannot(path, error) from error
        self._parts[path] = part
        return part.stat().st_size


def cannot(path: Path, error: OSError) -> ExportError:
    """The error of a file that cannot be written."""
    return ExportError(f"{path}: cannot be written: {error.strerror}")


def _write(part: Path, content: Content) -> None:
    """Writes a file whole, or leaves none."""
    try:
        if isinstance(content, bytes):
            part.write_bytes(content)
        else:
            with part.open("wb") as file:
                content(file)
    except BaseException:
        with suppress(OSError):  # also where its folder is a file, so that it was never written
            part.unlink()
        raise


def _is(path: Path, content: bytes) -> bool:
    """Whether a file has these bytes."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return path.stat().st_size == len(content) and path.read_bytes() == content
    return False


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
        part.unlink(missing_ok=True)
    for folder in reversed(list(made)):
        if not any(folder.iterdir()):
            folder.rmdir()
