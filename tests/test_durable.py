"""Before a block's done.json vouches for it, all that the block has is on the disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dbdyno import plan
from dbdyno.run import blocks
from dbdyno.store import file

PLAN = """
name = "durable"
[arms.old]
engine = "fake"
fake = { default_us = 100 }
[arms.new]
engine = "fake"
fake = { default_us = 90 }
[[workloads]]
name = "insert-benchmark"
steps = ["l.i0", "l.x"]
parameters = { rows = 1000, seconds = 1 }
[schedule]
blocks = 2
"""
DONE = "done.json"


class Trace:
    """What a process did with names and files below a folder, in its order."""

    def __init__(self) -> None:
        self.root: str | None = None
        self.calls: list[tuple[str, str]] = []
        sys.addaudithook(self.hear)  # for good: nothing removes a hook

    def hear(self, event: str, values: tuple[Any, ...]) -> None:
        """Takes down new folders, new files and new names."""
        if self.root is None:
            return
        if event == "os.mkdir":
            self.note("new", values[0])
        elif event == "os.rename":
            self.note("new", values[1])
        elif event == "open" and isinstance(values[2], int) and values[2] & os.O_CREAT:
            self.note("new", values[0])

    def note(self, what: str, path: Any) -> None:
        """Takes down a call of a path below the root."""
        if isinstance(path, int):  # a file that is open already
            return
        name = os.path.abspath(os.fsdecode(path))
        if self.root is not None and name.startswith(self.root):
            self.calls.append((what, name))


TRACE = Trace()


def unsynced(calls: list[tuple[str, str]]) -> set[str]:
    """The names, of files and folders that are there, that a power failure may take away."""
    names: set[str] = set()
    for what, name in calls:
        if what == "new":
            names.add(name)
        else:  # a folder that is synced keeps the names in it
            names -= {one for one in names if os.path.dirname(one) == name}
    return {name for name in names if os.path.exists(name)}


def unfinished(path: Path) -> str:
    """The name that a file gets once it is written: `.done.json.4711` becomes done.json."""
    return str(path.with_name(path.name.removeprefix(".").rpartition(".")[0]))


def test_all_of_a_block_is_on_the_disk_before_its_done_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    moments: dict[str, set[str]] = {}
    write_json = file.write_atomically

    def sync(descriptor: int) -> None:
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        TRACE.note("sync", name)
        synced.append(name)
        os.fsync(descriptor)

    def written(path: Path, content: bytes, *, synced: bool = True) -> None:
        if path.name == DONE and path.parent.parent.name == "blocks":
            moments[path.parent.name] = unsynced(TRACE.calls)
        write_json(path, content, synced=synced)

    monkeypatch.setattr(file, "sync", sync)
    monkeypatch.setattr(file, "write_atomically", written)
    TRACE.root = str(tmp_path)
    try:
        outcome = blocks.run(plan.parse(PLAN, None), tmp_path, wait=True)
    finally:
        TRACE.root = None
    assert outcome.failed == 0
    assert set(moments) == {"001", "002"}
    lock = str(outcome.folder / "lab.json")
    for names in moments.values():
        assert {name for name in names if name != lock} == set()
    hidden = (Path(name) for name in synced if Path(name).name.startswith("."))
    renamed = {unfinished(path) for path in hidden}
    files = {str(path) for path in (outcome.folder / "blocks").rglob("*") if path.is_file()}
    assert files - set(synced) - renamed == set(), "each file was synced itself"
