"""`dyno capture` as a person calls it: what cannot be captured is one line, and leaves nothing."""

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from captured_log import WrittenLog
from command import dyno
from dbdyno.capture import folder as folders
from dbdyno.capture.folder import CallSample, Capture, CapturedQuery, CapturedServer


@pytest.fixture
def log(tmp_path: Path) -> WrittenLog:
    log = WrittenLog(tmp_path / "postgresql.csv")
    log.call("SELECT a FROM t WHERE a = 'marker'")
    log.write()
    return log


def test_a_log_becomes_a_folder(log: WrittenLog, tmp_path: Path) -> None:
    done = dyno("capture", log.path, "--out", tmp_path / "app")
    assert (done.returncode, done.stdout) == (0, "")
    assert "1 query stands for 100.0 % of 0.001 s and 100.0 % of 1 calls" in done.stderr
    assert (tmp_path / "app/workload.toml").is_file()


def test_rotated_and_packed_files_are_read_in_their_order(log: WrittenLog, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log.rows.clear()
    log.call("SET work_mem = '8MB'")
    first = log.write().read_bytes()
    log.call("SELECT a FROM t")
    later = log.write().read_bytes()[len(first) :]
    (folder / "a.csv").write_bytes(later)
    (folder / "b.csv.gz").write_bytes(gzip.compress(first))
    assert dyno("capture", folder, "--out", tmp_path / "app").returncode == 0
    assert 'settings = { work_mem = "8MB" }' in (tmp_path / "app/workload.toml").read_text()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["none"], "`none`: there is no such file or folder"),
        (["LOG", "--for", "5m"], "--for: reads a server's statistics twice: name its DSN"),
        (["postgres://u@h/d", "--for", "5y"], "--for: `5y` is no time: write 90s, 10m or 1h"),
        (["postgres://u@h/a", "postgres://u@h/b"], "two servers: capture each into a folder"),
        (["postgres://u:marker@h/d"], "remove the password"),
        (["postgres://u@127.0.0.1:1/d"], "Connection refused"),
        (["oracle://u@h/d"], "no engine has `oracle://`"),
        (["LOG", "--database", "x"], "name another with --database, of `shop`"),
        (["EMPTY"], "is empty: name a log of the time that is to be captured"),
        (["FOLDER"], "holds no log files: name the folder of `log_directory`"),
        (["FOREIGN"], "no known prefix fits line 1: name it as log_line_prefix has it"),
        (["PREFIX"], "no known prefix fits the line that begins `26/11 7 `"),
        (["STDERR", "--prefix", "%m "], "has no time (%m) or no session (%c or %p)"),
        (["STDERR", "--prefix", "%Z %m %p"], "`%Z` is unknown"),
    ],
)
def test_what_cannot_be_captured_is_one_line_that_says_what_to_do(
    words: list[str], line: str, log: WrittenLog, tmp_path: Path
) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "logs").mkdir()
    (tmp_path / "foreign.log").write_text("hello marker\n")
    (tmp_path / "prefix.log").write_text("26/11 7 LOG:  duration: 1 ms  statement: marker\n")
    places = {
        "LOG": log.path,
        "EMPTY": tmp_path / "empty.log",
        "FOLDER": tmp_path / "logs",
        "FOREIGN": tmp_path / "foreign.log",
        "PREFIX": tmp_path / "prefix.log",
        "STDERR": tmp_path / "prefix.log",
    }
    before = sorted(tmp_path.iterdir())
    done = dyno("capture", *(places.get(word, word) for word in words), "--out", tmp_path / "app")
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
    assert "marker" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("place", ["postgresql.csv", "none/app", "."])
def test_a_place_that_cannot_be_the_folder_is_refused_before_anything_is_read(
    place: str, log: WrittenLog, tmp_path: Path
) -> None:
    done = dyno("capture", log.path, "--out", tmp_path / place)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.long
def test_a_log_may_come_by_standard_input(log: WrittenLog, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dbdyno", "capture", "-", "--out", str(tmp_path / "app")],
        input=log.path.read_bytes(),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "app/workload.toml").is_file()


# A capture that is ended at any moment leaves its folder whole, or none.


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
