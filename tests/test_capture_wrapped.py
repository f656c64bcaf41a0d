"""Logs as services and people keep them: wrapped in JSON, packed by zstd; types from plans."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from captured_log import WrittenLog
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.capture.coverage import Coverage
from dbdyno.capture.log import plans
from dbdyno.model.error import DynoError

STDERR = """\
2026-11-26 10:00:00.100 UTC [7] app@shop LOG:  duration: 2.000 ms  statement: SELECT a
\tFROM t WHERE a = 5
2026-11-26 10:00:00.200 UTC [7] app@shop LOG:  duration: 3.000 ms  statement: SELECT a
\tFROM t WHERE a = 6
"""
RECORDS = STDERR.replace("\n2026", "\n\n2026").split("\n\n")


def captured(path: Path) -> tuple[Coverage, dict[str, str]]:
    """What is captured of a log, and the folder's files."""
    folder = path.parent / f"{path.name}.app"
    wish = CaptureRequest(logs=[path], server=None, engine="postgres", out=folder)
    coverage = capture(wish, lambda line: None)
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return coverage, {str(each.relative_to(folder)): each.read_text() for each in files}


def google(records: list[str]) -> str:
    """Entries of Cloud Logging, a line each."""
    return "".join(json.dumps({"insertId": "x", "textPayload": each}) + "\n" for each in records)


def test_a_torn_wrapped_log_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "torn.json"
    path.write_text(google(RECORDS)[:-20])
    assert captured(path)[0].covered_calls == 1


def test_json_that_wraps_no_log_is_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"level": "info", "text": "secret"}\n')
    with pytest.raises(DynoError, match="its lines are JSON, but no jsonlog") as refused:
        captured(path)
    assert "secret" not in str(refused.value)


@pytest.mark.skipif(shutil.which("zstd") is None, reason="no zstd here: `apt-get install zstd`")
def test_a_log_that_is_packed_by_zstd_is_unpacked(tmp_path: Path) -> None:
    plain = tmp_path / "log.log"
    plain.write_text(STDERR)
    subprocess.run(["zstd", "-q", plain], check=True)
    packed = tmp_path / "log.log.zst"
    assert captured(packed)[1] == captured(plain)[1]
    torn = tmp_path / "torn.log.zst"
    torn.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(DynoError, match="zstd finds it damaged"):
        captured(torn)
    assert not (tmp_path / "torn.log.zst.app").exists()


def test_a_host_without_zstd_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "log.log.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(DynoError, match="install `zstd`, or unpack it first"):
        captured(path)


PLAN: dict[str, Any] = {
    "Query Text": "SELECT a FROM t WHERE a = $1 AND b = $2 AND c = $3",
    "Plan": {
        "Node Type": "Index Scan",
        "Index Cond": "(a = '5'::smallint)",
        "Filter": "(((b)::numeric = '5.5'::numeric) AND (c = 'x'::text))",
    },
}


def test_types_of_numbers_are_those_of_the_plans_casts(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    log.add(f"duration: 1.9 ms  plan:\n{json.dumps(PLAN)}")
    log.add(
        f"duration: 2.0 ms  execute <unnamed>: {PLAN['Query Text']}",
        detail="Parameters: $1 = '5', $2 = '5.5', $3 = 'x'",
    )
    _, files = captured(log.write())
    assert 'types = ["smallint", "numeric", ""]' in files["workload.toml"]


def test_a_value_that_may_be_two_parameters_tells_no_type() -> None:
    message = json.dumps(PLAN)
    assert plans.types_of(message, ("5", "5.5", "x")) == ("smallint", "numeric", "")
    assert plans.types_of(message, ("5", "5", "x")) == ()
    assert plans.types_of(message.replace("'5.5'", "'5'"), ("5",)) == ()
    assert plans.types_of(message, (None, "9")) == ()
