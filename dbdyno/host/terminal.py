"""What reaches a terminal: text of servers, plans and results shows, and never commands it.

A name or a message may hold an escape sequence that clears the screen, or a mark that turns the
direction of what follows. Such characters are replaced here, for all that dyno prints, and so are
those that the terminal's locale lacks.
"""

import codecs
import locale
import os
import sys
import unicodedata
from collections.abc import Iterable
from io import TextIOWrapper
from typing import IO, Any, TextIO

from rich.console import Console
from rich.segment import Segment

REPLACEMENT = "\ufffd"
PICTURES = 0x2400
"""Unicode's pictures of control characters begin here: that of ESC is ␛."""
DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Marks of bidirectional text (Unicode Standard Annex 9, "Directional Formatting Characters")."""
SHOWN = {
    **{code: chr(PICTURES + code) for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: "\u2421",
    **dict.fromkeys((*range(0x80, 0xA0), *DIRECTIONS), REPLACEMENT),
}
"""By the code of a character what is shown in its place."""
UTF8_MODE = "utf8"
"""The option -X of Python's by which dyno starts itself again."""
READABLE = "dyno-readable"
"""The name by which streams know `readable`."""
INSTEAD = {
    "\u2212": "-", "\u2013": "-", "─": "-", "├": "|", "└": "`", "×": "x", "…": "...", "µ": "u",
    "“": '"', "”": '"', "→": "->", "≥": ">=", "≤": "<=", "±": "+-", "·": ".", "√": "sqrt ",
    "▲": "^", "▼": "v", "█": "#", "†": "*", "‡": "**", "\u00a0": " ",
}  # fmt: skip
"""What dyno prints where an encoding lacks the character."""


def visible(text: str) -> str:
    """The text with a picture for each character that would command a terminal."""
    return text.translate(SHOWN)


class VisibleConsole(Console):
    """A console whose text is visible; its colours and movements are rich's own.

    They go to the stream beneath all others: a live display puts one more before `VisibleStream`,
    and rich would write to the next one.
    """

    @property
    def file(self) -> IO[str]:
        """The stream that the console writes to."""
        file = super().file
        while (beneath := getattr(file, "rich_proxied_file", None)) is not None:
            file = beneath
        return file

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        shown = (
            segment if segment.control else Segment(visible(segment.text), segment.style)
            for segment in buffer
        )
        return super()._render_buffer(shown)


class VisibleStream:
    """A text stream that shows what is written to it; consoles write to the stream beneath."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream  # by this name rich finds it

    def write(self, text: str) -> int:
        """Writes the text; returns its length, as streams do."""
        self.rich_proxied_file.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def begin_in_utf8() -> None:
    """Starts this process again in Python's UTF-8 mode where the locale has another encoding.

    Names of files stand in plans and results, which are UTF-8 whatever the terminal has.
    """
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", UTF8_MODE, *sys.orig_argv[1:]])


def guard() -> None:
    """Lets all that this process prints from now on be visible, in whatever encoding."""
    codecs.register_error(READABLE, readable)
    ours = UTF8_MODE in sys._xoptions and "PYTHONIOENCODING" not in os.environ
    encoding = locale.getencoding() if ours else None
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(encoding=encoding, errors="replace")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding=encoding, errors=READABLE)
        if not isinstance(stream, VisibleStream):
            setattr(sys, name, VisibleStream(stream))


def readable(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that an encoding lacks: `>=` for `≥`, `^2` for `²`, else `?`."""
    assert isinstance(error, UnicodeEncodeError), "streams that are read have another handler"
    return "".join(map(_in_ascii, error.object[error.start : error.end])), error.end


def _in_ascii(character: str) -> str:
    if character in INSTEAD:
        return INSTEAD[character]
    raised = "^" if unicodedata.decomposition(character).startswith("<super>") else ""
    plain = unicodedata.normalize("NFKD", character).replace("\u2044", "/")
    plain = plain.encode("ascii", "ignore").decode()
    return raised + plain if plain else "?"
