"""A capture that is ended at any moment leaves its folder whole, or none."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from captured_log import WrittenLog
from dbdyno.capture import folder as folders
from dbdyno.capture.folder import Captured, CapturedQuery, Sample, Source

QUERIES = 60


def application() -> Captured:
    """An application of many files."""
    queries = [
        CapturedQuery(name=f"select-{number}", text="SELECT $1", samples=(Sample(("1",)),), calls=1)
        for number in range(QUERIES)
    ]
    return Captured(source=Source(description="x", engine="postgres"), queries=queries)


@pytest.mark.parametrize("write", range(1, 3 * QUERIES, 17))
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_capture_leaves_no_half_folder(number: signal.Signals, tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    for table in range(300):
        log.call(f"SELECT a FROM t{table} WHERE a = 5")
    log.write()
    ended = 0
    for delay_s in (0.6, 0.8, 1.0, 1.2, 1.4):
        app = tmp_path / f"app{delay_s}"
        process = subprocess.Popen(
            [sys.executable, "-m", "dbdyno", "capture", str(log.path), "--out", str(app)],
            stderr=subprocess.DEVNULL,
        )
        time.sleep(delay_s)
        process.send_signal(number)
        ended += process.wait() != 0
        if app.exists():
            file = tomllib.loads((app / "workload.toml").read_text())
            assert len(file["queries"]) == 300
            assert len(list((app / "values").iterdir())) == 300
        if number == signal.SIGTERM:
            assert not list(tmp_path.glob(".*"))
    assert ended
