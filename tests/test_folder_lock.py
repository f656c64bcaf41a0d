"""One lab writes into a result folder at a time."""

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
from dbdyno.host import leftovers
from dbdyno.model.error import ResultError
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
