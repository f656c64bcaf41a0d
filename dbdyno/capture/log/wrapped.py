"""Logs as services hand them out: a line of the server's log as a field of an object of JSON.

Google's Cloud Logging has it in `textPayload`, Azure's diagnostics in `properties.message`,
CloudWatch (RDS, Aurora) in `message`. A file has an object a line, or is one list of them, which
may be the value of `events`, `value` or `records`. (The services' manuals; tried on made files.)
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import TextIO

import msgspec
from msgspec import Struct, field

LINES_GO_ON = re.compile(r"\b(?:LOG|ERROR|FATAL|DETAIL|STATEMENT):  ")
"""In a message of PostgreSQL's log, whose further lines begin with a tab."""
BEGINS = re.compile(r"\{|\[\s*\{")
STAMPED = re.compile(r"\t|\d{4}-\d\d-\d\d ")


class Properties(Struct):
    """Of Azure's entries."""

    message: str = ""


class Entry(Struct):
    """What capture reads of an entry, whatever the service."""

    text_payload: str = field(name="textPayload", default="")
    message: str = ""
    properties: Properties | None = None
    timestamp: str | int | float = ""  # by which a list is told to begin with the latest
    error_severity: str = ""  # of PostgreSQL's own jsonlog, which is no wrapper

    @property
    def text(self) -> str:
        """The server's own text; empty: the entry has none."""
        if self.error_severity:
            return ""
        return self.text_payload or (self.properties or Properties()).message or self.message


class Document(Struct):
    """A file that is one object."""

    events: list[Entry] = []
    value: list[Entry] = []
    records: list[Entry] = []

    @property
    def entries(self) -> list[Entry]:
        """Its entries."""
        return self.events or self.value or self.records


def is_wrapped(head: str) -> bool:
    """Whether a file with this beginning is such a log."""
    first = head.lstrip()
    if BEGINS.match(first) is None:
        return False
    line = first.split("\n", 1)[0]
    try:
        return bool(msgspec.json.decode(line.encode("utf-8", "surrogateescape"), type=Entry).text)
    except (msgspec.DecodeError, UnicodeError):
        names = ("textPayload", "message")
        return '"error_severity"' not in first and any(f'"{name}"' in first for name in names)


class Unwrapped(io.TextIOBase):
    """The server's lines of a wrapped log, as a file to be read once."""

    def __init__(self, wrapped: TextIO) -> None:
        self._lines = lines_of(wrapped)
        self._rest = ""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        """The next line; empty at the end."""
        line, self._rest = self._rest or next(self._lines, ""), ""
        return line

    def read(self, size: int | None = -1, /) -> str:
        """So many characters, or all."""
        parts, left = [self._rest], -1 if size is None else size
        self._rest = ""
        while left < 0 or sum(map(len, parts)) < left:
            line = next(self._lines, "")
            if not line:
                break
            parts.append(line)
        text = "".join(parts)
        if left < 0:
            return text
        self._rest = text[left:]
        return text[:left]


def lines_of(wrapped: TextIO) -> Iterator[str]:
    """The server's lines of all entries, in the order of a log that ends with the latest."""
    for entry in entries(wrapped):
        lines = entry.text.rstrip("\n").split("\n")
        goes_on = LINES_GO_ON.search(lines[0]) is not None
        for number, line in enumerate(lines):
            tab = "\t" if number and goes_on and not STAMPED.match(line) else ""
            yield f"{tab}{line}\n"


def entries(wrapped: TextIO) -> Iterator[Entry]:
    """The entries of a file that have a text; a torn one is left out."""
    first = next((line for line in wrapped if line.strip()), "")
    decoder = msgspec.json.Decoder(Entry)
    by_line = read_entry(first, decoder)
    if by_line is not None and by_line.text:
        yield by_line
        for line in wrapped:
            entry = read_entry(line, decoder)
            if entry is not None and entry.text:
                yield entry
        return
    yield from of_document((first, *wrapped))


def read_entry(line: str, decoder: msgspec.json.Decoder[Entry]) -> Entry | None:
    """The entry of a line; None: it is none."""
    try:
        return decoder.decode(line.encode("utf-8", "surrogateescape"))
    except (msgspec.DecodeError, UnicodeError):
        return None


def of_document(lines: Iterable[str]) -> list[Entry]:
    """The entries of a file that is one list or object; none where it is torn."""
    raw = "".join(lines).encode("utf-8", "surrogateescape")
    try:
        whole = msgspec.json.decode(raw, type=list[Entry] | Document)
    except (msgspec.DecodeError, UnicodeError):
        return []
    listed = whole if isinstance(whole, list) else whole.entries
    ends = [str(entry.timestamp) for entry in (*listed[:1], *listed[-1:])]
    return listed[::-1] if ends and ends[0] > ends[-1] else listed
