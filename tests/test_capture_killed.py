"""A capture that is ended at any moment leaves its folder whole, or none."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from captured_log import WrittenLog
from command import dyno
from dbdyno.capture import folder as folders
from dbdyno.capture.folder import CallSample, Capture, CapturedQuery, CapturedServer

QUERIES = 60


def application() -> Capture:
    """An application of many files."""
    queries = [
        CapturedQuery(
            name=f"select-{number}", text="SELECT $1", samples=(CallSample(("1",)),), calls=1
        )
        for number in range(QUERIES)
    ]
    return Capture(source=CapturedServer(description="x", engine="postgres"), queries=queries)


@pytest.mark.parametrize("write", (1, 2, 61, 122, 123, 124))
def test_a_write_that_fails_leaves_nothing(
    write: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = write

    def put(path: Path, text: str) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise OSError("no space")
        path.write_text(text)

    monkeypatch.setattr(folders, "put", put)
    if write <= 2 * QUERIES + 3:
        with pytest.raises(OSError, match="no space"):
            folders.write(tmp_path / "app", application())
        assert not list(tmp_path.iterdir())
    else:
        folders.write(tmp_path / "app", application())


def logged(folder: Path, tables: int) -> Path:
    """A log with a query of each of so many tables."""
    log = WrittenLog(folder / "postgresql.csv")
    for table in range(tables):
        log.call(f"SELECT a FROM t{table} WHERE a = 5")
    log.write()
    return log.path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("write", [1, 43])
def test_a_capture_that_is_killed_at_a_write_leaves_no_half_folder(
    write: int, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, app, put, left = logged(tmp_path, 20), tmp_path / "app", folders.put, write

    def put_or_die(path: Path, text: str) -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), number)
        put(path, text)

    monkeypatch.setattr(folders, "put", put_or_die)
    if (child := os.fork()) == 0:
        try:
            dyno("capture", log, "--out", app)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    assert not app.exists()
    if number == signal.SIGTERM:
        assert not list(tmp_path.glob(".*"))


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_killed_at_any_moment_leaves_no_half_folder(
    number: signal.Signals, tmp_path: Path
) -> None:
    log = logged(tmp_path, 300)
    for delay_s in (0.6, 1.0, 1.4):
        app = tmp_path / f"app{delay_s}"
        process = subprocess.Popen(
            [sys.executable, "-m", "dbdyno", "capture", str(log), "--out", str(app)],
            stderr=subprocess.DEVNULL,
        )
        time.sleep(delay_s)
        process.send_signal(number)
        process.wait()
        if app.exists():
            file = tomllib.loads((app / "workload.toml").read_text())
            assert len(file["queries"]) == 300
            assert len(list((app / "values").iterdir())) == 300
        if number == signal.SIGTERM:
            assert not list(tmp_path.glob(".*"))
