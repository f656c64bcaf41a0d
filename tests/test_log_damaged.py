"""A log that is damaged anywhere ends in a folder or in one line, and gives what it has alone."""

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from captured_log import WrittenLog
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.capture.log.tally import shown
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


# What of a log is not understood ends the capture, or is left out and said, but never silent.


BEGIN = "2026-11-26 10:00:00.{:03d} UTC [7] app@shop "
CALL = "duration: 1.000 ms  statement: "


def call(number: int, text: str, begin: str = BEGIN) -> str:
    """A call's lines as stderr has them."""
    return f"{begin.format(number)}LOG:  {CALL}{text}\n".replace("\n", "\n\t")[:-1]


MANY = "".join(call(number, f"SELECT a\nFROM t WHERE a = {number}") for number in range(300))
DELETE = call(999, "DELETE FROM t\nWHERE a = 'marker'")


def captured(paths: Sequence[Path], folder: Path, *, accepts_loss: bool = False) -> tuple[str, str]:
    """The folder's first page and its texts."""
    wish = CaptureRequest(
        logs=paths, server=None, engine="postgres", out=folder, accepts_loss=accepts_loss
    )
    capture(wish, lambda line: None)
    texts = sorted(path.read_text() for path in (folder / "queries").iterdir())
    return (folder / "coverage.md").read_text(), "".join(texts)


def refused(log: str, tmp_path: Path) -> str:
    """The line on a log that is refused, which holds no value."""
    path = tmp_path / "postgresql.log"
    path.write_text(log)
    with pytest.raises(DynoError) as error:
        captured([path], tmp_path / "app")
    assert not (tmp_path / "app").exists()
    assert "marker" not in str(error.value)
    return str(error.value)


def test_lines_that_have_lost_their_tabs_end_the_capture_with_the_first_of_them(tmp_path: Path):
    line = refused((MANY + DELETE).replace("\t", ""), tmp_path)
    assert re.match(
        r"`postgresql.log`: line 2, `FROM … WHERE … = …`: is not understood, nor are 300 other "
        r"lines, 50.0 % of all with 100.0 % of the time: .* --accept-loss$",
        line,
    )


def test_blanks_in_place_of_tabs_are_read_where_no_line_has_a_tab(tmp_path: Path) -> None:
    path = tmp_path / "postgresql.log"
    path.write_text((MANY + DELETE).replace("\t", "    "))
    page, texts = captured([path], tmp_path / "app")
    assert "DELETE FROM t\nWHERE a = $1" in texts
    assert "tabs have become blanks" in page and "may be cut" not in page


def test_few_strange_lines_are_said_and_much_time_in_them_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "postgresql.log"
    path.write_text(f"{MANY}cp: cannot stat 'marker': No such file\n{MANY}")
    page, _ = captured([path], tmp_path / "app")
    assert "1 lines that are not understood, the first is `postgresql.log`: line 601," in page
    assert "marker" not in page
    costly = f"{MANY}@@ LOG:  duration: 9000.000 ms  statement: SELECT 'marker'\n{MANY}"
    (tmp_path / "app").rename(tmp_path / "other")
    assert "0.1 % of all with 93.8 % of the time" in refused(costly, tmp_path)


def test_a_loss_that_is_accepted_is_said(tmp_path: Path) -> None:
    path = tmp_path / "postgresql.log"
    path.write_text(MANY + "lost\n" * 60)
    page, _ = captured([path], tmp_path / "app", accepts_loss=True)
    assert "60 lines that are not understood, the first is `postgresql.log`: line 601, `…`" in page


def test_a_damaged_row_of_csv_costs_itself_alone(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    for number in range(400):
        log.call(f"SELECT a\nFROM t WHERE a = {number}")
    path = log.write()
    lines = path.read_text().splitlines(keepends=True)
    lines[200] = lines[200].replace('"duration', "duration", 1)  # its quote is lost
    path.write_text("".join(lines))
    page, _ = captured([path], tmp_path / "app")
    assert "398 calls" in page or "399 calls" in page
    assert "lines that are not understood, the first is `postgresql.csv`: line 201, `" in page


def test_formats_beside_each_other_are_counted_once_and_the_choice_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    log = WrittenLog(folder / "postgresql.csv")
    log.call("SELECT a FROM t")
    log.write(), log.write_stderr(), log.write_json()
    page, _ = captured([folder], tmp_path / "app")
    assert "100.0 % of 1 calls" in page
    assert "the fullest (csv) is read, without `postgresql.json`, `postgresql.log`, which" in page


def test_files_of_one_folder_may_begin_their_lines_otherwise(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    (folder / "postgresql.log.2026-11-26-10").write_text(MANY)
    other = "2026-11-26 11:00:00.{:03d} UTC [7]: user=app,db=shop,client=10.0.0.1 "
    later = "".join(call(number, "SELECT b FROM t", other) for number in range(300))
    (folder / "postgresql.log.2026-11-26-11").write_text(later)
    said: list[str] = []
    capture(
        CaptureRequest(logs=[folder], server=None, engine="", out=tmp_path / "app"), said.append
    )
    assert said == [
        "the log's lines begin as `%m [%p] %u@%d ` writes it",
        "the log's lines begin as `%m [%p]: user=%u,db=%d,client=%h ` writes it",
    ]
    assert "100.0 % of 600 calls" in (tmp_path / "app/coverage.md").read_text()


def test_a_server_that_is_told_another_prefix_goes_on_in_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "postgresql.log"
    other = "2026-11-26 11:00:00.{:03d} UTC [7]: user=app,db=shop,client=10.0.0.1 "
    few = "".join(call(number, "SELECT b\nFROM t", other) for number in range(5))
    path.write_text(few + MANY + few)
    page, texts = captured([path], tmp_path / "app")
    assert "100.0 % of 310 calls" in page
    assert "not understood" not in page
    assert "SELECT b\nFROM t" in texts


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (call(1, "x").replace("UTC [7]", "UTC"), "no known prefix fits the line that begins"),
        (MANY.replace("duration:", "durée :").replace("ms  statement", "ms  instruction"), "langu"),
        (
            BEGIN.format(1) + "LOG:  duration: 1.000 ms\n",
            "times without their statements: set log_min",
        ),
        (MANY.replace("duration: 1.000 ms  ", ""), "statements without their times: set log_min"),
        (MANY.replace("1.000 ms", "one ms"), "among 300 records: set log_min_dur"),
        (MANY.replace(CALL, "connection received: host="), "among 300 records: set log_min_dur"),
        (MANY.replace("statement: SELECT", "plan:\n\t<explain>"), "300 plans that are neither"),
        ("secret\nmarker\n", "no known prefix fits line 1"),
    ],
)
def test_what_holds_no_call_is_refused_with_what_it_shows(log: str, said: str, tmp_path: Path):
    assert said in refused(log, tmp_path)


def test_a_quoted_line_shows_its_form_and_no_value() -> None:
    assert shown("  WHERE a = 'marker' AND b = 7\n") == "  WHERE … = '…' AND … = …"
    assert shown("2026-11-26 10:00 [7] LOG:  duration: 1 ms marker") == "2026-11-26 10:00 [7] LOG:"
