"""A log that is damaged anywhere ends in a folder or in one line, and gives what it has alone."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from captured_log import WrittenLog
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.model.error import DynoError
from log_shapes import SHAPES

INSERTED = (
    b"'",
    b'"',
    b",",
    b"\n",
    b"$1",
    b"\x00",
    b"\\",
    b"/*",
    b"$a$",
    b"9" * 30,
    b"\xff",
    b"\t",
)
WORDS = re.compile(r"[^\W\d_]{3,}")


def written(form: str, folder: Path) -> Path:
    """A log of the server's own three formats."""
    log = WrittenLog(folder / "postgresql.csv")
    log.call("SELECT a FROM t WHERE b = 'marker\n\tä'")
    log.bound("SELECT a FROM t WHERE a = $1", "$1 = 'marker'")
    log.call("DELETE FROM t\nWHERE a = 'marker'\nAND b = 7")
    log.call("EXECUTE p(7)", detail="prepare: PREPARE p(int) AS SELECT c FROM t WHERE a = $1")
    log.add("no such table", severity="ERROR", statement="SELECT 'marker'", state="42P01")
    return {"csv": log.write, "json": log.write_json, "stderr": log.write_stderr}[form]()


def test_json_within_a_jsonlog_that_is_no_record_is_said(tmp_path: Path) -> None:
    log = written("json", tmp_path)
    log.write_text(log.read_text() + '{"level": "info"}\n')
    capture(
        CaptureRequest(logs=[log], server=None, engine="postgres", out=tmp_path / "app"),
        lambda line: None,
    )
    page = (tmp_path / "app" / "coverage.md").read_text()
    assert "not understood, the first is `postgresql.json`: line 8, `{" in page


FORMS = ("csv", "json", "stderr", *SHAPES)


@st.composite
def damage(draw: st.DrawFn) -> list[tuple[int, float, float, int]]:
    """What happens to a log: how, at which two places of it, and over how many bytes."""
    place = st.floats(0, 1, exclude_max=True)
    each = st.tuples(st.integers(0, 5), place, place, st.integers(1, 200))
    return draw(st.lists(each, min_size=1, max_size=6))


def damaged(whole: bytes, changes: list[tuple[int, float, float, int]]) -> bytes:
    """The log with bytes changed, dropped, put in, doubled, swapped, and cut off."""
    content = bytearray(whole)
    for how, at, to, count in changes:
        place, other = int(at * len(content)), int(to * len(content))
        if how == 0 and content:
            content[place] = count % 256
        elif how == 1:
            del content[place : place + count]
        elif how == 2:
            content[place:place] = INSERTED[count % len(INSERTED)]
        elif how == 3:
            content[place:place] = content[other : other + count]
        elif how == 4:
            first, second = content[place : place + count], content[other : other + count]
            content[place : place + count], content[other : other + count] = second, first
        else:
            del content[len(content) - count // 4 :]
    return bytes(content)


def words_of(log: bytes) -> set[str]:
    """All words of a log, also as its escapes write them."""
    text = log.decode("utf-8", "replace")
    plain = text.replace("\\n", " ").replace("\\t", " ").replace("#011", " ")
    return {text, plain, text.replace("\x00", ""), re.sub(r"\s", "", text)}


def check(log: bytes, folder: Path, *, shape: str = "") -> None:
    """Captures a log; raises where it ends otherwise than in a folder of its words, or a line."""
    path, out = folder / "damaged.log", folder / "app"
    path.write_bytes(log)
    wish = CaptureRequest(logs=[path], server=None, engine="postgres", out=out)
    try:
        capture(wish, lambda line: None)
    except DynoError as error:
        assert "\n" not in str(error)
        assert "marker" not in str(error)
        assert not out.exists()
        return
    assert "marker" not in (out / "coverage.md").read_text()
    has = words_of(log)
    texts = [file.read_text() for file in (out / "queries").iterdir()]
    for values in (out / "values").glob("*.jsonl"):
        lines = [json.loads(line)["values"] for line in values.read_text().splitlines()]
        texts += [value for line in lines for value in line if isinstance(value, str)]
    if "journald" not in shape:  # its bytes are numbers
        for word in {word for text in texts for word in WORDS.findall(text)}:
            assert any(word in text for text in has), word
    shutil.rmtree(out)


@pytest.fixture(autouse=True)
def no_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is synced: what is tried is reading."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


SETTINGS = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def whole(form: str, folder: Path) -> bytes:
    """A log of this form."""
    return SHAPES[form]().encode() if form in SHAPES else written(form, folder).read_bytes()


@given(form=st.sampled_from(FORMS), changes=damage())
@settings(SETTINGS, max_examples=25, derandomize=True)
def test_a_damaged_log_ends_in_a_folder_of_its_words_or_in_one_line(
    form: str, changes: list[tuple[int, float, float, int]], tmp_path: Path
) -> None:
    check(damaged(whole(form, tmp_path), changes), tmp_path, shape=form)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@given(changes=damage())
@settings(SETTINGS, max_examples=150)
def test_each_form_of_a_damaged_log_ends_in_a_folder_of_its_words_or_in_one_line(
    form: str, changes: list[tuple[int, float, float, int]], tmp_path: Path
) -> None:
    check(damaged(whole(form, tmp_path), changes), tmp_path, shape=form)
