"""Logs by way of syslog (RFC 3164 and 5424), of journalctl's lines, and of Heroku's.

The server numbers its messages and their parts there: `[12-2]` is the second part of its twelfth.
A part is a line (`#011` is its tab), or goes on with one that was too long for syslog.
"""

import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dbdyno.capture.log.line_prefix import BESIDE, SEVERITY
from dbdyno.capture.log.message import Message, head_shape

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
PLAIN = re.compile(
    rf"(?:<\d+>)?([A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|{TIME}) (?:[^\s\[]+ )?"
    r"([A-Za-z][\w./@-]*)(?:\[(?:[a-z]+\.)?(\d+)\])?: ?(.*)",
    re.DOTALL,
)
NEW = re.compile(
    rf"(?:\d+ )?<\d+>1 ({TIME}|-) \S+ (\S+) (\S+) \S+ "
    r"(?:-|(?:\[(?:[^\]\\]|\\.)*\])+) ?(?:\ufeff)?(.*)",
    re.DOTALL,
)
PART = re.compile(r"\s?(?:\[[A-Z]+\] )?\[(\d+)-(\d+)\] ?(.*)", re.DOTALL)
POSTGRES = re.compile(r"postgres|pgsql|patroni|pg_", re.IGNORECASE)
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
KEPT_LINES = 1000
"""After so many lines of others a message is over."""


@dataclass
class Pending:
    """A message whose parts still come."""

    number: str
    time: str
    since: int  # the line in which it went on last
    parts: list[str] = field(default_factory=list)

    def goes_on(self, part: re.Match[str] | None, text: str) -> bool:
        """Whether a further text of its process is a part of it; parts may have no numbers."""
        if part is not None:
            return part[1] == self.number and part[2] != "1"
        severity = SEVERITY.search(text)
        return text.startswith("\t") or (severity is not None and severity[1] in BESIDE)


def matched(line: str) -> re.Match[str] | None:
    """What a line of syslog is made of."""
    return (
        NEW.match(line) if line[:1] in "<0123456789" and ">1 " in line[:16] else PLAIN.match(line)
    )


def fits(head: list[str]) -> bool:
    """Whether half of the lines that do not go on are such lines."""
    begun = [line for line in head if not line[0].isspace()]
    return 2 * sum(matched(line) is not None for line in begun) > len(begun)


def messages(lines: Iterable[str]) -> Iterator[Message]:
    """The server's messages, each when its last part is read; other programs' are left out."""
    pending: dict[str, Pending] = {}
    names: dict[str, bool] = {}
    last: Pending | None = None  # whose lines without a head may follow
    ours = True
    for number, line in enumerate(lines):
        match = matched(line)
        if match is None:
            if last is not None:
                last.parts.append(line if line.startswith("\t") else f"\t{line.lstrip()}")
            elif ours:
                yield Message(line)
            continue
        time, name, process, text = match[1], match[2], match[3] or "", match[4]
        text = text.replace("#011", "\t").replace("#012", "\n")
        part = PART.match(text)
        if not names.get(name):
            names[name] = POSTGRES.search(name) is not None or bool(part and SEVERITY.search(text))
        ours, last = names[name], None
        if not ours:
            continue
        last = pending.get(process)
        if last is not None and last.goes_on(part, text):
            last.parts.append(text if part is None else part[3])
            last.since = number
            continue
        if last is not None:
            yield whole(last, process)
        first, number_of = (text, "") if part is None else (part[3], part[1])
        last = pending[process] = Pending(number_of, time, number, [first])
        if number % KEPT_LINES == 0:
            for other in [key for key, each in pending.items() if number - each.since > KEPT_LINES]:
                yield whole(pending.pop(other), other)
    for process, rest in pending.items():
        yield whole(rest, process)


def whole(pending: Pending, process: str) -> Message:
    """A message of all its parts: lines of their own, or the rest of one that was too long."""
    text, shape = pending.parts[0].removesuffix("\n"), head_shape(pending.parts[0])
    for part in pending.parts[1:]:
        own = part.startswith("\t") or head_shape(part) == shape
        text += f"{chr(10) * own}{part.removesuffix(chr(10))}"
    return Message(text, time=time_of(pending.time), process=digits(process))


def digits(process: str) -> str:
    """A process as a prefix has it; empty where syslog does not tell it."""
    return process if process.isdecimal() else ""


def time_of(text: str) -> str:
    """A time of syslog in ISO 8601; of RFC 3164, which has no year, the last that has passed."""
    if text[:1].isdigit() or text == "-":
        return text if text != "-" else ""
    today = datetime.datetime.now(datetime.UTC)
    month, day, clock = MONTHS.index(text[:3]) + 1 if text[:3] in MONTHS else 1, text[4:6], text[7:]
    past = (month, int(day)) <= (today.month, today.day + 1)
    return f"{today.year - (not past):04d}-{month:02d}-{int(day):02d} {clock}"
