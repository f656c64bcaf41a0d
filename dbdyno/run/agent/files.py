"""Brings the files of a block from the host that measured it, as soon as each step has ended."""

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from dbdyno.model.error import HostError
from dbdyno.run.agent.wire import FilePiece
from dbdyno.store import disk
from dbdyno.store.file import made

PIECE_BYTES = 1 << 20
LOG = "log"
"""The folder of a server's log, which grows until the server ends."""


class FileSender:
    """Sends what is new in a block's folder."""

    def __init__(self, block: Path, send: Callable[[FilePiece], None]) -> None:
        self.block = block
        self._send = send
        self._sent: dict[Path, tuple[int, int]] = {}  # size and time of change

    def new(self, *, all_of_it: bool) -> None:
        """Sends each file that has changed since; logs only with `all_of_it`."""
        for path in files(self.block):
            if not all_of_it and LOG in path.relative_to(self.block).parts:
                continue
            facts = path.stat()
            if self._sent.get(path) != (facts.st_size, facts.st_mtime_ns):
                self._sent[path] = (facts.st_size, facts.st_mtime_ns)
                self._pieces(path, facts.st_mtime_ns)

    def _pieces(self, path: Path, changed_ns: int) -> None:
        name = path.relative_to(self.block).as_posix()
        with path.open("rb") as file:
            while True:
                content = file.read(PIECE_BYTES)
                last = len(content) < PIECE_BYTES
                self._send(FilePiece(name, zlib.compress(content, 1), changed_ns if last else None))
                if last:
                    return


def files(block: Path) -> Iterator[Path]:
    """The files of the arms in a block's folder, in the order of their names; no hidden ones."""
    for folder, folders, names in os.walk(block):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        if Path(folder) != block:
            yield from (Path(folder) / name for name in sorted(names) if name[0] != ".")


class Receiver:
    """Writes what comes into a block's folder; a file is there whole or not at all."""

    def __init__(self, block: Path, host: str) -> None:
        self._block = block
        self._host = host

    def take(self, piece: FilePiece) -> None:
        """Takes a piece of a file. Raises HostError where its name leads out of the folder."""
        name = PurePosixPath(piece.file)
        if name.is_absolute() or ".." in name.parts or len(name.parts) < 2:
            raise HostError(f"host {self._host}: sends a file `{name}`: not of a block; not taken")
        path = self._block / name
        if not path.parent.is_dir():
            made(path.parent)
        coming = disk.append(path.with_name(f".{path.name}.coming"))
        try:
            disk.write(coming, zlib.decompress(piece.content))
            if piece.changed_ns is None:
                return
            disk.sync(coming)
        finally:
            disk.close(coming)
        disk.set_changed(coming.path, piece.changed_ns)
        disk.rename(coming.path, path)
        disk.sync_path(path.parent)

    def clear(self) -> None:
        """Removes what never came whole."""
        for path in self._block.rglob(".*.coming"):
            disk.remove(path)
