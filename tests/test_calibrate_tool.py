"""The tables of simulations in docs/error-rates.md, and what writes them."""

import re
import sys
from pathlib import Path

import pytest

import calibrate
import marked_page

PAGE = Path(__file__).parent.parent / "docs" / "error-rates.md"


def heads(text: str) -> list[str]:
    """The first lines of a page's tables."""
    return re.findall(r"^(\|.*\|)\n\|---", text, re.MULTILINE)


@pytest.mark.long
def test_the_page_has_the_tables_that_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = PAGE.read_text(encoding="utf-8")
    copy = tmp_path / "error-rates.md"
    copy.write_text(page, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["calibrate.py", "--draws", "0.001", "--write", str(copy)])
    assert marked_page.main(calibrate.TOOL, "", calibrate.tables) == 0
    made = copy.read_text(encoding="utf-8")
    assert heads(made) == heads(page)
    begin, end = marked_page.marks(calibrate.TOOL)
    assert made.split(begin)[0] == page.split(begin)[0]
    assert made.split(end)[1] == page.split(end)[1]


def test_a_page_without_the_marks_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "other.md"
    page.write_text("nothing here\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["calibrate.py", "--draws", "0.001", "--write", str(page)])
    assert marked_page.main(calibrate.TOOL, "", calibrate.tables) == 1
    assert page.read_text(encoding="utf-8") == "nothing here\n"
    assert "lacks the marks" in capsys.readouterr().err
