"""One lab writes into a result folder at a time."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.host import data_folder, leftovers
from dbdyno.model.error import HostError, ResultError
from dbdyno.run import blocks
from dbdyno.store import checksums
from dbdyno.store.folder_lock import FILE, FolderLock

BOOT = "3f2c"
PLAN = """
name = "locked"
arms.only = { engine = "fake", fake = { default_us = 100 } }
[[workloads]]
name = "insert-benchmark"
steps = ["l.i0"]
parameters = { rows = 1000, seconds = 1 }
"""
HOLD = """
import sys
from pathlib import Path
from dbdyno.store.folder_lock import FolderLock
with FolderLock(Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held(folder: Path, boot: str = BOOT, *, before: tuple[str, ...] = ()) -> Iterator[int]:
    """Another process that holds the folder; its id."""
    command = [*before, sys.executable, "-c", HOLD, str(folder), boot]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "held\n"
        yield process.pid
        process.stdin.close()


def refused(folder: Path, boot: str = BOOT) -> str:
    with pytest.raises(ResultError) as caught, FolderLock(folder, boot):
        pass
    return str(caught.value)


def test_a_second_lab_is_refused_in_a_line_that_names_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "result"
    with held(folder) as pid:
        assert re.fullmatch(
            rf".*/result: another lab writes there: process {pid} on host \S+, since "
            r"\d{4}-\d\d-\d\d \d\d:\d\d; wait for its end, or delete `.*/lab.json` if it is gone",
            refused(folder),
        )
        assert "another lab writes there" in refused(folder, "of another boot")
    assert not folder.exists(), "it was made for the lock, and is empty"


def test_a_holder_that_is_gone_is_taken_over_from_on_the_same_boot(tmp_path: Path) -> None:
    with held(tmp_path) as pid:
        os.kill(pid, signal.SIGKILL)
    assert (tmp_path / FILE).exists()
    assert f"process {pid}" in refused(tmp_path, "a later boot")
    with FolderLock(tmp_path, BOOT):
        assert json.loads((tmp_path / FILE).read_text())["process"] == os.getpid()
    assert not (tmp_path / FILE).exists()


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare"),
    reason="namespaces need root and `apt-get install util-linux`",
)
def test_two_containers_of_a_host_do_not_both_write(tmp_path: Path) -> None:
    with held(tmp_path, before=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")):
        assert "another lab writes there" in refused(tmp_path)
    with FolderLock(tmp_path, BOOT):
        pass


def test_a_file_that_says_nothing_is_left_to_the_person(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")
    assert refused(tmp_path).endswith("is damaged; delete it if no lab writes into the folder")
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).symlink_to("/etc/passwd")
    assert "cannot be locked" in refused(tmp_path)


def test_two_labs_at_once_the_second_is_refused(tmp_path: Path) -> None:
    asked = plan.parse(PLAN, None)
    folder = tmp_path / asked.name
    with held(folder, leftovers.boot_id()), pytest.raises(ResultError, match="another lab writes"):
        blocks.run(asked, tmp_path, wait=True)
    assert not folder.exists()
    outcome = blocks.run(asked, tmp_path, wait=True)
    assert outcome.failed == 0
    assert not (folder / FILE).exists()
    shutil.rmtree(folder)


@pytest.mark.parametrize("rights", [checksums.FINISHED])  # the program's: conftest.py has others
def test_nobody_writes_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rights: int
) -> None:
    monkeypatch.setattr(checksums, "FINISHED", rights)
    asked = plan.parse(PLAN, None)
    blocks.run(asked, tmp_path, wait=True)
    files = [path for path in (tmp_path / asked.name / "blocks").rglob("*") if path.is_file()]
    assert files and all(path.stat().st_mode & 0o777 == 0o444 for path in files)


# A server's folder is removed although processes of it still write, and never with a traceback.


RMDIR = os.rmdir
WORKER = "import sys; print(flush=True); sys.stdin.read()"


def marked(tmp_path: Path) -> Path:
    """A server's folder with data in it."""
    folder = tmp_path / "arm"
    (folder / "data" / "base").mkdir(parents=True)
    (folder / data_folder.MARK).write_text("")
    for number in range(20):
        (folder / "data" / "base" / str(number)).write_text("row")
    return folder


@contextmanager
def worker_in(folder: Path) -> Iterator[int]:
    """A process that works in the folder, as a server's do."""
    command = [sys.executable, "-c", WORKER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid


def test_what_a_process_writes_meanwhile_is_removed_with_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A background process of a server that was ended writes at each of the first three tries."""
    folder, tries = marked(tmp_path), []

    def written(path: str, **more: int) -> None:
        if path == "base" and len(tries) < 3:
            tries.append(path)
            (folder / "data" / "base" / "counts.out").write_text("late")
        RMDIR(path, **more)

    monkeypatch.setattr(os, "rmdir", written)
    data_folder.remove(folder)
    assert len(tries) == 3
    assert not folder.exists()


def test_a_folder_that_stays_is_told_in_a_line_with_who_works_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = marked(tmp_path) / "data"

    def refused(path: str, **_: int) -> None:
        raise OSError(errno.ENOTEMPTY, "Directory not empty", path)

    monkeypatch.setattr(os, "rmdir", refused)
    with worker_in(folder) as pid, pytest.raises(HostError) as raised:
        data_folder.clear(folder, seconds_max=0.2)
    assert str(raised.value) == (
        f"`{folder}` cannot be removed: processes {pid} work in it: end them"
    )
    with pytest.raises(HostError, match="cannot be removed: Directory not empty"):
        data_folder.clear(folder, seconds_max=0.0)


def test_what_no_second_try_mends_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder, tries = marked(tmp_path), []

    def refused(path: str, **_: int) -> None:
        tries.append(path)
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "rmdir", refused)
    with pytest.raises(HostError, match="Permission denied"):
        data_folder.remove(folder)
    assert len(tries) == 1


def test_what_is_not_there_is_removed(tmp_path: Path) -> None:
    data_folder.clear(tmp_path / "none")
    data_folder.remove(tmp_path / "none")
