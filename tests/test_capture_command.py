"""`dyno capture` as a person calls it: what cannot be captured is one line, and leaves nothing."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from captured_log import WrittenLog
from command import dyno


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
