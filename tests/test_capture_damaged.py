"""A log that is damaged anywhere ends in a folder or in one line, and gives away no value."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from captured_log import STDERR_PREFIX, WrittenLog
from dbdyno.capture.capturing import Wish, capture
from dbdyno.model.error import DynoError

TRIES = 40
INSERTED = (b"'", b'"', b",", b"\n", b"$1", b"\x00", b"\\", b"/*", b"$a$", b"9" * 30, b"\xff")


def damaged(whole: bytes, draw: random.Random) -> bytes:
    """The log with some bytes changed, lost, put in or doubled."""
    content = bytearray(whole)
    for _ in range(draw.randrange(1, 6)):
        place, what = draw.randrange(len(content)), draw.randrange(4)
        if what == 0:
            content[place] = draw.randrange(256)
        elif what == 1:
            del content[place : place + draw.randrange(1, 60)]
        elif what == 2:
            content[place:place] = draw.choice(INSERTED)
        else:
            other = draw.randrange(len(content))
            content[place:place] = content[other : other + 80]
    return bytes(content)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", ["csv", "json", "stderr"])
def test_a_damaged_log_ends_in_a_folder_or_one_line(form: str, seed: int, tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    log.call("SELECT a FROM t WHERE b = 'marker\n\tä'")
    log.bound("SELECT a FROM t WHERE a = $1", "$1 = 'marker'")
    log.call("EXECUTE p(7)", detail="prepare: PREPARE p(int) AS SELECT c FROM t WHERE a = $1")
    log.add("no such table", severity="ERROR", statement="SELECT 'marker'", state="42P01")
    path = {"csv": log.write, "json": log.write_json, "stderr": log.write_stderr}[form]()
    whole, draw = path.read_bytes(), random.Random(f"{form}{seed}")
    for _ in range(TRIES):
        path.write_bytes(damaged(whole, draw))
        folder = tmp_path / "app"
        prefix = draw.choice([STDERR_PREFIX, ""])
        wish = Wish(logs=[path], server=None, engine="postgres", out=folder, prefix=prefix)
        try:
            capture(wish, lambda line: None)
        except DynoError as error:
            assert "\n" not in str(error)
            assert "marker" not in str(error)
            assert not folder.exists()
        else:
            assert "marker" not in (folder / "coverage.md").read_text()
            shutil.rmtree(folder)
