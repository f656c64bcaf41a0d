"""Runs a program in a terminal of its own, and makes an SVG picture of the screen."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

FONT = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
"""Of this machine: rich's pictures otherwise ask another site for theirs."""
RICHS_BLACK = "#4b4e55"
"""A gray, in which words on a colour are hard to read."""
ROWS = 60
CURSOR_HIDDEN, CURSOR_SHOWN = "\x1b[?25l", "\x1b[?25h"
"""Around each live display."""
PIECE = re.compile(
    r"\x1b\[(?P<of>[0-9;?]*)(?P<what>[A-Za-z])|(?P<move>[\r\n])|(?P<text>[^\x1b\r\n]+)"
)


class Terminal:
    """A program in a terminal of `columns`, and the lines that it shows, with their colours."""

    def __init__(self, command: Sequence[str | Path], *, columns: int, folder: Path) -> None:
        self.columns = columns
        self._reading, writing = pty.openpty()
        fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        inherited = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        environment = inherited | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=writing, stdout=writing, stderr=writing
        )
        os.close(writing)

    def read(self) -> str:
        """The program's whole output. Raises CalledProcessError where it fails."""
        written = bytearray()
        try:
            while piece := os.read(self._reading, 1 << 16):
                written += piece
        except OSError:  # so the kernel says that the other end is closed
            pass
        os.close(self._reading)
        if status := self._process.wait():
            raise subprocess.CalledProcessError(status, self._process.args, bytes(written))
        return written.decode()


def screen(written: str) -> list[str]:
    """The lines that stand there at the end, each with the sequences of its colours.

    Knows what rich's live displays use: lines are erased whole before they are written again.
    Raises ValueError for another sequence, which would make a wrong picture.
    """
    lines = [""]
    row = 0
    for piece in PIECE.finditer(written):
        if piece["move"] == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif piece["text"] or piece["what"] == "m":
            lines[row] += piece[0]
        elif piece["what"] == "K":
            lines[row] = ""
        elif piece["what"] == "A":
            row = max(0, row - int(piece["of"] or 1))
        elif piece["move"] != "\r" and piece[0] not in (CURSOR_HIDDEN, CURSOR_SHOWN):
            raise ValueError(f"{piece[0]!r}: not a sequence that a picture can be made of")
    while lines and not lines[-1]:
        lines.pop()
    return lines


def svg(lines: Sequence[str], *, title: str, columns: int) -> str:
    """The lines in a window that bears `title`."""
    console = Console(record=True, width=columns, file=io.StringIO(), color_system="truecolor")
    for line in lines:
        console.print(Text.from_ansi(line))
    picture = console.export_svg(title=title)
    without_links = re.sub(r"@font-face\s*{[^}]*}", "", picture)
    black = without_links.replace(RICHS_BLACK, "#000000")
    return re.sub(r"font-family: [^;]*;", f"font-family: {FONT};", black)
