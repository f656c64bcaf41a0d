"""Before a block's done.json vouches for it, all that the block has is on the disk."""

import ast
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from dbdyno import plan
from dbdyno.run import blocks
from dbdyno.store import disk, file

PLAN = """
name = "durable"
[[hooks]]
when = "before-step"
command = ["sh", "-c", 'echo arrived > "$DYNO_RESULTS/arrived.txt"']
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
OUTSIDE_RESULTS = (
    "store/derived_cache.py", "run/agent/lab.py", "run/agent/load.py", "run/driver/benchmark.py",
    "run/driver/program.py", "run/driver/sysbench/run.py", "run/extra_run.py",
    "run/slurm/batch.py", "run/slurm/job.py", "run/slurm/spool.py",
)  # fmt: skip
"""What writes elsewhere: into caches, folders of Slurm's jobs, an agent's root, scratch."""
CHANGING_CALLS = re.compile(
    r"(?!disk\.).*\.(write_text|write_bytes|makedirs|(mk|rm)dir|unlink|rename|touch|chmod|f?chown"
    r"|fd?sync|fdatasync|ftruncate|(sym|hard)link_to|rmtree|copy(2|file|tree))"
    r"|os\.(replace|remove|link|symlink|truncate|utime|p?write)"
)
CHANGING_MODE = re.compile(r"'[rbt]*[wax+][wxabt+]*'|.*\bO_(CREAT|WRONLY|TRUNC|APPEND)\b.*", re.S)
DONE = "done.json"
ROOT = Path(__file__).resolve().parents[1]
WRITES = os.O_CREAT | os.O_WRONLY | os.O_RDWR
CHANGES = {
    "open": 0, "os.mkdir": 0, "os.rename": 1, "os.link": 1, "os.remove": 0, "os.rmdir": 0,
    "os.chmod": 0, "os.utime": 0, "os.truncate": 0, "os.symlink": 1, "os.chown": 0,
}  # fmt: skip
"""The audit events of calls that change folders and files, and which argument is the path."""


class Trace:
    """What a process did with names and files below a folder, in its order."""

    def __init__(self) -> None:
        self.root: str | None = None
        self.calls: list[tuple[str, str]] = []
        self.around: set[str] = set()
        sys.addaudithook(self.hear)  # for good: nothing removes a hook

    def hear(self, event: str, values: tuple[Any, ...]) -> None:
        """Takes down new folders, new files and new names; and who changes anything himself."""
        if self.root is None or event not in CHANGES:
            return
        path = values[CHANGES[event]]
        is_read = event == "open" and not (isinstance(values[2], int) and values[2] & WRITES)
        if is_read or not self.is_within(path):
            return
        if event in ("os.mkdir", "os.rename", "os.link", "open"):
            self.note("new", path)
        if (place := caller()) != disk.__file__:
            self.around.add(f"{place}: {event} {path}")

    def is_within(self, path: Any) -> bool:
        """Whether a call is of a path below the root."""
        if self.root is None or isinstance(path, int):  # a file that is open already
            return False
        return os.path.abspath(os.fsdecode(path)).startswith(self.root)

    def note(self, what: str, path: Any) -> None:
        """Takes down a call of a path below the root."""
        if self.is_within(path):
            self.calls.append((what, os.path.abspath(os.fsdecode(path))))


def caller() -> str:
    """The file of dyno, or else of a test, from which the system was called."""
    frame = sys._getframe(2)
    while frame.f_back is not None and not frame.f_code.co_filename.startswith(str(ROOT)):
        frame = frame.f_back
    return frame.f_code.co_filename


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


def changing(text: str) -> list[str]:
    """The calls of a module that change files or folders, but for those of the seam."""
    names = []
    for call in ast.walk(ast.parse(text)):
        if isinstance(call, ast.Call):
            name, arguments = ast.unparse(call.func), map(ast.unparse, call.args)
            opens = name.rpartition(".")[2] == "open" and any(
                map(CHANGING_MODE.fullmatch, arguments)
            )
            names += [name] if opens or CHANGING_CALLS.fullmatch(name) else []
    return names


def test_what_writes_results_changes_nothing_around_the_seam() -> None:
    package = ROOT / "dbdyno"
    paths = [*package.glob("store/*.py"), *package.glob("run/**/*.py")]
    for path in paths:
        if path != Path(disk.__file__) and str(path.relative_to(package)) not in OUTSIDE_RESULTS:
            assert changing(path.read_text()) == [], f"{path}: call dbdyno/store/disk.py for that"
    calls = 'a.write_text(""); a.open("ab", 0); open(a, "w"); os.open(a, os.O_CREAT); os.remove(a)'
    assert changing(calls) == ["a.write_text", "a.open", "open", "os.open", "os.remove"]
    assert (
        changing('a.open("rb"); os.open(a, os.O_RDONLY); t.replace("a", "w"); disk.rename(a)') == []
    )


def test_all_of_a_block_is_on_the_disk_before_its_done_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    moments: dict[str, set[str]] = {}
    write_json = file.write_atomically

    def sync(of: disk.DiskFile | Path) -> None:
        name = str(of.path if isinstance(of, disk.DiskFile) else of)
        TRACE.note("sync", name)
        synced.append(name)

    def written(path: Path, content: bytes, *, synced: bool = True) -> None:
        if path.name == DONE and path.parent.parent.name == "blocks":
            moments[path.parent.name] = unsynced(TRACE.calls)
        write_json(path, content, synced=synced)

    monkeypatch.setattr(disk, "sync", sync)
    monkeypatch.setattr(disk, "sync_path", sync)
    monkeypatch.setattr(file, "write_atomically", written)
    TRACE.root = str(tmp_path)
    try:
        outcome = blocks.run(plan.parse(PLAN, None), tmp_path, wait=True)
    finally:
        TRACE.root = None
    assert outcome.failed == 0
    assert TRACE.around == set(), "all that changes a result folder is in store/disk.py"
    assert set(moments) == {"001", "002"}
    lock = str(outcome.folder / "lab.json")
    for names in moments.values():
        assert {name for name in names if name != lock} == set()
    hidden = (Path(name) for name in synced if Path(name).name.startswith("."))
    renamed = {unfinished(path) for path in hidden}
    files = {str(path) for path in (outcome.folder / "blocks").rglob("*") if path.is_file()}
    assert files - set(synced) - renamed == set(), "each file was synced itself"
