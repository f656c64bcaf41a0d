"""One log in every shape in which people have it gives one folder: of services, tools, systems."""

import bz2
import csv
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from captured_log import WrittenLog
from dbdyno.capture.capturing import CaptureRequest, capture
from log_shapes import PLAIN, SHAPES

UNWRAPPED = ("AlloyDB", "CloudNativePG", "verbose", "blank lines", "RDS without tabs", "Windows")
"""Where the log's own lines stand, and no wrapping is told."""


def captured(path: Path, **more: object) -> dict[str, str]:
    """The folder's files of a log, coverage apart from what came within."""
    folder = path.parent / f"{path.name}.app"
    wish = CaptureRequest(logs=[path], server=None, engine="postgres", out=folder, **more)  # type: ignore[arg-type]
    capture(wish, lambda line: None)
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_text() for each in files}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the log gives as the server wrote it."""
    path = tmp_path_factory.mktemp("plain") / "plain.log"
    path.write_text(PLAIN)
    files = captured(path)
    assert sum(name.startswith("queries/") for name in files) == 2
    return files


def compared(files: dict[str, str], expected: dict[str, str], *, names: bool = True) -> None:
    """Raises where queries, values or weights differ; times of day may."""
    for name, text in expected.items():
        if name.startswith(("queries/", "values/")):
            assert files[name] == text
    weights = ("calls = ", "time_s = ", "protocol = ") + (
        ("role = ", "database = ") if names else ()
    )
    lines, others = (
        [line for line in each["workload.toml"].splitlines() if line.startswith(weights)]
        for each in (files, expected)
    )
    assert lines == others
    assert files["coverage.md"].splitlines()[2] == expected["coverage.md"].splitlines()[2]


@pytest.mark.parametrize("name", SHAPES)
def test_a_log_gives_the_same_folder_in_every_shape(
    name: str, tmp_path: Path, expected: dict[str, str]
) -> None:
    path = tmp_path / "shaped.log"
    path.write_bytes(SHAPES[name]().encode())
    files = captured(path)
    compared(files, expected, names=name != "Heroku")
    assert ("The log came within " in files["coverage.md"]) == (name not in UNWRAPPED)


@pytest.mark.parametrize("name", ["CloudNativePG", "Docker", "S3", "syslog, RFC 5424", "Azure"])
def test_a_log_whose_first_line_is_torn_gives_the_rest(
    name: str, tmp_path: Path, expected: dict[str, str]
) -> None:
    path = tmp_path / "torn.log"
    path.write_bytes((SHAPES[name]() * 60)[30:].encode())
    files = captured(path)
    assert files.keys() == expected.keys()
    assert int(files["coverage.md"].rsplit(" calls.", 1)[0].rsplit(" ", 1)[1]) in (179, 180)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_log_that_begins_within_a_record_gives_the_others(form: str, tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    for number in range(150):
        log.call(f"SELECT a\nFROM t\nWHERE a = {number}")
    path = log.write() if form == "csv" else log.write_json()
    whole = path.read_text()
    path.write_text(whole[whole.index("FROM") :])
    assert "100.0 % of 149 calls" in captured(path)["coverage.md"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_a_log_is_read_in_each_encoding_of_windows(
    encoding: str, tmp_path: Path, expected: dict[str, str]
) -> None:
    path = tmp_path / "windows.log"
    path.write_bytes(PLAIN.replace("\n", "\r\n").encode(encoding))
    compared(captured(path), expected)


@pytest.mark.parametrize(("suffix", "pack"), [("xz", lzma.compress), ("bz2", bz2.compress)])
def test_packed_logs_are_unpacked_and_torn_ones_are_refused(
    suffix: str, pack: Callable[[bytes], bytes], tmp_path: Path, expected: dict[str, str]
) -> None:
    path = tmp_path / f"plain.log.{suffix}"
    path.write_bytes(pack(PLAIN.encode()))
    compared(captured(path), expected)
    torn = tmp_path / f"torn.log.{suffix}"
    torn.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(Exception, match="cannot be read"):
        captured(torn)


@pytest.mark.parametrize("major", [12, 13, 14])
def test_a_csvlog_is_read_with_quotes_around_everything(major: int, tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "plain.csv", major=major)
    log.bound("SELECT a FROM t\nWHERE a = $1", "$1 = '4'")
    log.call("DELETE FROM t\n\nWHERE a = 5")
    plain = log.write()
    quoted = tmp_path / "quoted.csv"
    with plain.open(newline="") as source, quoted.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(csv.reader(source))
    compared(captured(quoted), captured(plain))
