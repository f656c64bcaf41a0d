"""Logs as objects of JSON: those of cloud services, of Docker, and of journald.

Google's Cloud Logging has the server's line in `textPayload` or `jsonPayload.message`, Azure's
diagnostics in `properties.message` (and the values in `properties.detail`), CloudWatch (RDS,
Aurora) in `message`, Docker in `log`, journald in `MESSAGE`. A file has an object a line, or is one
list of them, which may be the value of `events`, `value` or `records`.
"""

import datetime
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

import msgspec
from msgspec import Struct, field

from dbdyno.capture.log.json_log import is_record
from dbdyno.capture.log.line_prefix import SEVERITY
from dbdyno.capture.log.message import Message

BEGINS = re.compile(r"\{|\[\s*(?:\{|$)")
HEAD_LINES, TORN_LINES = 100, 2
"""Of the latter the first may be torn."""
SAID = re.compile(r"(?=(?:duration|statement|execute \S+|connection \w+|disconnection): )")
"""Where a message begins in a text that has lost its severity."""


class Properties(Struct):
    """Of Azure's entries."""

    message: str = ""
    detail: str = ""
    prefix: str = ""
    level: str = field(name="errorLevel", default="")

    @property
    def text(self) -> str:
        """The server's line: of some servers its prefix and its severity stand apart."""
        if not self.level or SEVERITY.search(self.message):
            return self.prefix + self.message
        if self.prefix:
            return f"{self.prefix}{self.level}:  {self.message}"
        return SAID.sub(f"{self.level}:  ", self.message, count=1)


class Payload(Struct):
    """Of Google's entries."""

    message: str = ""


class ServiceEntry(Struct):
    """What capture reads of an entry, whatever the service."""

    text_payload: str = field(name="textPayload", default="")
    json_payload: Payload | None = field(name="jsonPayload", default=None)
    message: str = ""
    properties: Properties | None = None
    log: str = ""
    journal: str | list[int] | None = field(name="MESSAGE", default=None)
    process: str = field(name="_PID", default="")
    identifier: str = field(name="SYSLOG_IDENTIFIER", default="postgres")
    microseconds: str = field(name="__REALTIME_TIMESTAMP", default="")
    timestamp: str | int | float = ""
    time: str | int | float = ""

    @property
    def text(self) -> str:
        """The server's own text; empty: the entry has none. Of journald a line as syslog has it."""
        if self.journal is not None:
            return f"{self.when} {self.identifier}[{self.process}]: {self.journal_text}"
        properties, payload = self.properties or Properties(), self.json_payload or Payload()
        texts = (self.text_payload, properties.text, self.log, payload.message, self.message)
        return next((text for text in texts if text), "")

    @property
    def journal_text(self) -> str:
        """What journald has of a line: an array of bytes where it is no plain text."""
        if not isinstance(self.journal, list):
            return self.journal or ""
        octets = bytes(octet for octet in self.journal if 0 <= octet < 256)
        return octets.decode("utf-8", "surrogateescape")

    @property
    def when(self) -> str:
        """When the service says that it was."""
        if self.microseconds.isdecimal():
            return of_epoch(int(self.microseconds) / 1e6)
        time = self.timestamp or self.time
        return time if isinstance(time, str) else of_epoch(time / 1e3 if time > 1e11 else time)

    def around(self, text: str) -> Message:
        """The text with what stands outside of it."""
        detail = self.properties.detail if self.properties is not None else ""
        return Message(text, time="" if self.process else self.when, detail=detail)


class Document(Struct):
    """A file that is one object."""

    events: list[ServiceEntry] = []
    value: list[ServiceEntry] = []
    records: list[ServiceEntry] = []

    @property
    def entries(self) -> list[ServiceEntry]:
        """Its entries."""
        return self.events or self.value or self.records


DECODER = msgspec.json.Decoder(ServiceEntry)


def of_epoch(seconds: float) -> str:
    """A time in ISO 8601; empty where it is none."""
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def fits(head: list[str]) -> bool:
    """Whether a file begins as such a log; the server's own jsonlog does not."""
    beginning = "".join(head)
    if is_record(beginning) or not any(BEGINS.match(line.lstrip()) for line in head[:TORN_LINES]):
        return False
    names = ("textPayload", "jsonPayload", "message", "MESSAGE", "log")
    return any(f'"{name}"' in beginning for name in names)


def messages(lines: Iterator[str]) -> Iterator[Message]:
    """The texts of all entries, the earliest first; a line that is no entry stays as it is."""
    head = list(islice(lines, HEAD_LINES))
    if not any(map(read_entry, [line for line in head if line.strip()][:TORN_LINES])):
        yield from (
            entry.around(entry.text) for entry in of_document((*head, *lines)) if entry.text
        )
        return
    ended = any(entry and entry.log.endswith("\n") for entry in map(read_entry, head))
    part = ""
    for line in chain(head, lines):
        entry = read_entry(line)
        if entry is None:
            yield Message(line, whole=line.endswith("\n"))
        elif ended and entry.log and not entry.log.endswith("\n"):
            part += entry.log  # Docker's: a long line comes in parts
        elif entry.text:
            yield entry.around(part + entry.text)
            part = ""
        else:
            yield from (each.around(each.text) for each in of_document((line,)) if each.text)
    if part:
        yield Message(part, whole=False)


def read_entry(line: str) -> ServiceEntry | None:
    """The entry of a line; None: it is none."""
    try:
        return DECODER.decode(line.strip().removesuffix(",").encode("utf-8", "surrogateescape"))
    except (msgspec.DecodeError, UnicodeError):
        return None


def of_document(lines: Iterable[str]) -> list[ServiceEntry]:
    """The entries of a file that is one list or object; none where it is torn."""
    raw = "".join(lines).encode("utf-8", "surrogateescape")
    try:
        whole = msgspec.json.decode(raw, type=list[ServiceEntry] | Document)
    except (msgspec.DecodeError, UnicodeError):
        return []
    listed = whole if isinstance(whole, list) else whole.entries
    ends = [str(entry.when) for entry in (*listed[:1], *listed[-1:])]
    return listed[::-1] if ends and ends[0] > ends[-1] else listed
