"""What a run does to its result folder, call by call, and the folder as a break leaves it.

`Seam` stands in for the calls of store/disk.py: it takes down each, and lets one fail. `Disk` is a
model of a file system: from the calls so far it knows what a kill leaves (all of them), and what a
power failure leaves (a file's content up to its last sync, the names up to the folder's).
"""

from __future__ import annotations

import copy
import errno
import os
import random
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

from dbdyno.model.error import disk_errors_named
from dbdyno.store import disk

CALLS = (
    "create", "append", "write", "sync", "close", "sync_path", "rename", "link", "remove",
    "make_folder", "remove_folder", "set_rights", "set_changed",
)  # fmt: skip
GROWS = ("create", "append", "write", "make_folder", "link")
"""What a full disk refuses; it goes on refusing, as a read-only one does, which refuses all."""
KILL = 0
"""In place of an error: the process is killed before the call."""
ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)

View = Mapping[str, bytes | None]
"""A folder's files with their content, and folders (None), by their paths."""


@dataclass(frozen=True)
class Operation:
    """A call of the seam; paths from the root on."""

    call: str
    path: str
    to: str = ""
    content: bytes = b""

    @property
    def site(self) -> tuple[str, str]:
        """What it is a case of: the same call for another block, arm or process."""
        return self.call, re.sub(r"\d+|\bold\b|\bnew\b", "*", self.path)


class Seam:
    """Takes down the calls that change a root folder; a context manager.

    `at`: the number of the call that fails with the system's `error`.
    """

    def __init__(self, root: Path, at: int | None = None, error: int = 0) -> None:
        self.operations: list[Operation] = []
        self._root, self._at, self._error = root, at, error
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Self:
        for name in CALLS:
            self._patch.setattr(disk, name, self._stand_in(name, getattr(disk, name)))
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def _stand_in(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def stand_in(of: disk.DiskFile | Path, *more: Any, **named: Any) -> Any:
            path = of.path if isinstance(of, disk.DiskFile) else of
            if not path.is_relative_to(self._root):
                return call(of, *more, **named)
            number = len(self.operations)
            to = self._place(more[0]) if name in ("rename", "link") else ""
            content = more[0] if name == "write" else b""
            made = Operation(name, self._place(path), to, bytes(content))
            self.operations.append(made)
            if self._fails(number, name) and self._error == KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            elif self._fails(number, name):
                if name == "write":
                    os.write(of.descriptor, content[: len(content) // 2])  # type: ignore[union-attr]
                elif name == "close":
                    call(of)
                with disk_errors_named(path):
                    raise OSError(self._error, os.strerror(self._error))
            return call(of, *more, **named)

        return stand_in

    def _place(self, path: Path) -> str:
        """A path from the root on; an unfinished file is another process's, as it will be."""
        return re.sub(rf"\.{os.getpid()}$", ".1", str(path.relative_to(self._root)))

    def _fails(self, number: int, name: str) -> bool:
        if self._at is None or number < self._at:
            return False
        lasts = {errno.EIO: (), errno.EROFS: CALLS}.get(self._error, GROWS)
        return number == self._at or (name in lasts and name not in ("sync", "sync_path", "close"))


# --- A file system ----------------------------------------------------------------------------


@dataclass(eq=False)
class Node:
    """A file, or a folder with what is in it: as the system has it, and as the disk has it."""

    content: bytes = b""
    synced: int = 0  # of the content
    entries: dict[str, Node] | None = None
    on_disk: dict[str, Node] = field(default_factory=dict)


class Disk:
    """A file system after some calls."""

    def __init__(self) -> None:
        self.root = Node(entries={})

    def do(self, made: Operation, length: int | None = None) -> None:
        """Does a call; of a write only the first bytes where a length is given."""
        folder, name = self._place(made.path)
        entries = folder.entries
        assert entries is not None
        match made.call:
            case "create":
                entries[name] = Node()
            case "append":
                entries.setdefault(name, Node())
            case "write":
                entries[name].content += made.content[:length]
            case "sync" if name in entries:  # by this name
                entries[name].synced = len(entries[name].content)
            case "sync_path":
                node = entries[name] if name else folder
                node.synced, node.on_disk = len(node.content), dict(node.entries or {})
            case "rename" | "link":
                to, to_name = self._place(made.to)
                assert to.entries is not None
                to.entries[to_name] = entries[name]
                if made.call == "rename":
                    del entries[name]
            case "remove":
                entries.pop(name, None)
            case "remove_folder" if not entries[name].entries:
                del entries[name]
            case "make_folder":
                entries[name] = Node(entries={})

    def _place(self, path: str) -> tuple[Node, str]:
        *folders, name = Path(path).parts or ("",)
        node = self.root
        for folder in folders:
            assert node.entries is not None
            node = node.entries[folder]
        return node, name

    def view(self, *, names: bool = True, content: bool = True, zeros: bool = False) -> View:
        """The folder; without `names`, `content`: only what a sync has made durable of these.

        `zeros`: a file has its length, but zeros where it was not synced.
        """

        def entries(node: Node) -> Mapping[str, Node]:
            return (node.entries or {}) if names else node.on_disk

        def text(node: Node) -> bytes:
            lost = b"\0" * (len(node.content) - node.synced) if zeros else b""
            return node.content if content else node.content[: node.synced] + lost

        return dict(_walked(self.root, "", entries, text))

    def some(self, chance: random.Random) -> View:
        """The folder where of what was not synced some is lost."""

        def entries(node: Node) -> Mapping[str, Node]:
            now, before = node.entries or {}, node.on_disk
            either = {name: chance.choice((now, before)).get(name) for name in {*now, *before}}
            return {name: node for name, node in sorted(either.items()) if node is not None}

        def text(node: Node) -> bytes:
            return node.content[: chance.randint(node.synced, len(node.content))]

        return dict(_walked(self.root, "", entries, text))


def _walked(
    node: Node, place: str, entries: Callable[[Node], Mapping[str, Node]],
    text: Callable[[Node], bytes],
) -> Iterator[tuple[str, bytes | None]]:  # fmt: skip
    for name, inner in entries(node).items():
        yield f"{place}{name}", None if inner.entries is not None else text(inner)
        if inner.entries is not None:
            yield from _walked(inner, f"{place}{name}/", entries, text)


# --- States -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """A folder after a break at a call."""

    number: int  # of the call that was made last, from 0
    how: str
    view: View

    @property
    def by_power(self) -> bool:
        """Whether the power failed, so that the next command runs in another boot."""
        return self.how not in ("killed", "torn")

    def build(self, root: Path) -> None:
        """Makes the folder."""
        root.mkdir(parents=True, exist_ok=True)
        for path, content in self.view.items():
            if content is None:
                (root / path).mkdir()
            else:
                (root / path).write_bytes(content)


def states(operations: list[Operation], seed: int) -> Iterator[State]:
    """The folder as each break at each call leaves it."""
    now, chance = Disk(), random.Random(seed)
    for number, made in enumerate(operations):
        if made.call == "write":
            for length in {len(made.content) // 2, len(made.content) - 1}:
                torn = copy.deepcopy(now)
                torn.do(made, length)
                yield State(number, "torn", torn.view())
        now.do(made)
        yield State(number, "killed", now.view())
        yield State(number, "content lost", now.view(content=False))
        yield State(number, "content zeroed", now.view(content=False, zeros=True))
        yield State(number, "names lost", now.view(names=False))
        yield State(number, "both lost", now.view(names=False, content=False))
        yield State(number, "some lost", now.some(chance))
