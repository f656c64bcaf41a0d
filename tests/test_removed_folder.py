"""A server's folder is removed although processes of it still write, and never with a traceback."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dbdyno.host import data_folder
from dbdyno.model.error import HostError

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
