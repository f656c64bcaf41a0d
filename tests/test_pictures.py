"""The pictures of docs/, and how a terminal becomes one."""

import struct
import sys
from pathlib import Path

import pytest

import pictures
import terminal_picture
from terminal_picture import CURSOR_HIDDEN, CURSOR_SHOWN, Terminal, screen

LIVE = """
import time
from rich.console import Console
from rich.live import Live
console = Console()
console.print("plan")
with Live("[red]one\\ntwo", console=console, transient=True, auto_refresh=False) as live:
    live.update("[red]three\\nfour", refresh=True)
    console.print("look")
console.print("end", console.width)
"""


@pytest.mark.parametrize("name", ["race", "live", "report"])
def test_the_pages_have_a_picture_each_of_less_than_the_most(name: str) -> None:
    content = (pictures.DOCS / f"{name}.png").read_bytes()
    assert len(content) < pictures.BYTES_MAX
    width, height = struct.unpack(">II", content[16:24])
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert width > 800 and height > 500


def test_a_terminal_shows_what_its_live_display_left(tmp_path: Path) -> None:
    written = Terminal([sys.executable, "-c", LIVE], columns=64, folder=tmp_path).read()
    assert screen(written) == ["plan", "look", "end \x1b[1;36m64\x1b[0m"]
    running, shown, ended = written.rpartition(CURSOR_SHOWN)
    assert shown
    assert screen(running) == ["plan", "look", "\x1b[31mthree\x1b[0m", "\x1b[31mfour\x1b[0m"]
    assert screen(ended) == ["end \x1b[1;36m64\x1b[0m"]


def test_what_moves_the_cursor_otherwise_is_refused() -> None:
    assert screen(f"{CURSOR_HIDDEN}a\r\nb") == ["a", "b"]
    with pytest.raises(ValueError, match="not a sequence that a picture can be made of"):
        screen("a\x1b[3;1Hb")


def test_a_terminals_picture_asks_no_other_site_for_a_font() -> None:
    drawn = terminal_picture.svg(["\x1b[31mslower\x1b[0m"], title="a race", columns=40)
    assert "slower" in drawn and "a&#160;race" in drawn
    assert "url(" not in drawn.replace("url(#", "")
    assert "Fira" not in drawn
