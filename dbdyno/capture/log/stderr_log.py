r"""PostgreSQL's log as stderr has it: a prefix, `LOG:  …`, and lines that go on after a tab.

The prefix is that of `log_line_prefix`, made into an expression: `%m [%p] ` and so on. Needed are a
time and a session (`%c`, or `%p`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec import Struct, structs

from dbdyno.capture.log.record import Clock, Record
from dbdyno.capture.log.tally import Tally
from dbdyno.model.error import DynoError

COMMON = (
    "%m [%p] ",
    "%t:%r:%u@%d:[%p]:",
    "%m [%p] %q%u@%d ",
    "%m [%p] %q[user=%u,db=%d,app=%a] ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] user=%u,db=%d ",
    "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",
    "%m [%p]: [%l-1] db=%d,user=%u,app=%a,client=%h ",
    "%m [%c] ",
    "%m [%c] %q%u@%d/%a ",
    "%t [%p] ",
    "%t-%c-",
)
"""Prefixes of the server itself, of distributions, of services and of pgBadger's manual."""
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
ZONE = r" (?:[A-Z][A-Za-z]*|[+-]\d\d(?::?\d\d)?)"
ESCAPES = {
    "m": rf"(?P<time>{TIME}\.\d{{3}}{ZONE})",
    "t": rf"(?P<time>{TIME}{ZONE})",
    "n": r"(?P<epoch>\d+\.\d{3})",
    "p": r"(?P<pid>\d+)",
    "c": r"(?P<session>[\da-f]+\.[\da-f]+)",
    "u": r"(?P<user>.*?)",
    "d": r"(?P<database>.*?)",
    "a": r"(?P<application>.*?)",
    "e": r"(?P<state>[\dA-Z]{5})",
    "Q": r"(?P<query>-?\d+)",
    "r": r".*?",
    "h": r".*?",
    "L": r".*?",
    "b": r".*?",
    "P": r"\d*",
    "l": r"\d+",
    "s": rf"(?:{TIME}{ZONE})?",
    "v": r"[-\d/]*",
    "x": r"\d+",
    "i": r".*?",
    "%": "%",
}
SEVERITY = re.compile(
    r"(LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG\d?|DETAIL|HINT|STATEMENT|CONTEXT|QUERY"
    r"|LOCATION|BACKTRACE):  "
)
ANY_SEVERITY = re.compile(r"[^\W\d_]{2,20}:  ")
BESIDE = frozenset({"DETAIL", "HINT", "STATEMENT", "CONTEXT", "QUERY", "LOCATION", "BACKTRACE"})
"""Lines that belong to the message before."""
TRIED_MAX = 2000
"""Lines of the file by which the prefix is chosen."""
SHOWN_MAX = 60


@dataclass(frozen=True)
class Prefix:
    """A prefix of lines, as the setting writes it and as it is read."""

    written: str
    pattern: re.Pattern[str]


def prefix_of(written: str) -> Prefix:
    """The prefix that `log_line_prefix` writes so. Raises DynoError: no time, or no session."""
    names: set[str] = set()
    pieces, optional, place = [], False, 0
    for match in re.finditer(r"%-?\d*([a-zA-Z%])", written):
        pieces.append(re.escape(written[place : match.start()]))
        place = match.end()
        letter = match[1]
        if letter == "q":
            pieces.append("(?:")
            optional = True
            continue
        if letter not in ESCAPES:
            raise DynoError(f"--prefix: `%{letter}` is unknown; write it as `log_line_prefix` does")
        pattern = ESCAPES[letter]
        name = re.match(r"\(\?P<(\w+)>", pattern)
        if name is not None and name[1] in names:
            pattern = pattern.replace(f"?P<{name[1]}>", "?:")
        if name is not None:
            names.add(name[1])
        padded = match[0][1:-1] != ""
        pieces.append(rf"\s*{pattern}\s*" if padded else pattern)
    pieces.append(re.escape(written[place:]))
    pieces.append(")?" if optional else "")
    pieces.append(f"(?={ANY_SEVERITY.pattern})")  # names have spaces: they end where it begins
    if not names & {"time", "epoch"} or not names & {"session", "pid"}:
        raise DynoError(
            f"--prefix: `{written}` has no time (%m) or no session (%c or %p): without them a log "
            'tells no calls apart; set log_line_prefix = "%m [%c] %q%u@%d/%a "'
        )
    return Prefix(written, re.compile("".join(pieces)))


def detected(lines: Sequence[str], prefixes: Iterable[Prefix]) -> Prefix:
    """The prefix that fits most of these lines. Raises DynoError with a line that none fits."""
    begun = [line for line in lines[:TRIED_MAX] if line.strip() and not line.startswith("\t")]
    choices = list(prefixes)
    fits = [sum(1 for line in begun if fitting(choice, line)) for choice in choices]
    best = max(fits, default=0)
    if best == 0 or best * 2 < len(begun):
        odd = next((line for line in begun if not any(fitting(p, line) for p in choices)), "")
        raise DynoError(
            f"no known prefix fits {beginning(odd, lines)}: name it as log_line_prefix has it, "
            "--prefix '%m [%p] '"
        )
    return choices[fits.index(best)]


def fitting(prefix: Prefix, line: str) -> bool:
    """Whether the line begins with the prefix and then a severity, in whatever language."""
    return prefix.pattern.match(line) is not None


def beginning(line: str, lines: Sequence[str]) -> str:
    """A line as a message names it: by what stands before its severity, or by its number.

    What follows the severity can hold values, and so can all of a line that has none.
    """
    severity = ANY_SEVERITY.search(line)
    if severity is None:
        return f"line {lines.index(line) + 1}"
    return f"the line that begins `{line[: severity.start()][:SHOWN_MAX]}`"


def records(lines: Iterable[str], prefix: Prefix, tally: Tally) -> Iterator[Record]:
    """The records of a file, whose lines begin with the prefix."""
    clock, record, part = Clock(), None, ""
    pieces: list[str] = []
    for line in lines:
        if line.startswith("\t"):
            pieces.append(line[1:])
            continue
        match = prefix.pattern.match(line)
        head = SEVERITY.match(line, match.end()) if match is not None else None
        if match is None or head is None:
            if match is not None:
                tally.translated += 1
            elif line.strip():
                tally.strange += 1
                record = record and structs.replace(record, lost=True)
            continue
        if record is not None:
            record = with_part(record, part, pieces)
        part, pieces = head[1], [line[head.end() :]]
        if part in BESIDE:
            continue
        if record is not None:
            yield record
        record = begun(match, part, clock)
    if record is not None:
        torn = bool(pieces) and not pieces[-1].endswith("\n")
        tally.torn += torn
        if not torn:
            yield with_part(record, part, pieces)


class Said(Struct):
    """What a prefix says; None: nothing, as it has no such part or this line none."""

    time: str | None = None
    epoch: str | None = None
    pid: str | None = None
    session: str | None = None
    user: str | None = None
    database: str | None = None
    application: str | None = None
    state: str | None = None
    query: str | None = None


def begun(match: re.Match[str], severity: str, clock: Clock) -> Record | None:
    """A record of which the prefix and the severity are read; None: it has no time."""
    said = Said(**match.groupdict())
    end_s = float(said.epoch) if said.epoch else clock.read(said.time or "")
    if end_s is None:
        return None
    return Record(
        end_s=end_s,
        session=said.session or said.pid or "",
        user=said.user or "",
        database=said.database or "",
        application=said.application or "",
        severity=severity,
        sqlstate=said.state or "",
        query_id=int(said.query or 0),
        message="",
    )


def with_part(record: Record, part: str, pieces: Sequence[str]) -> Record:
    """The record with one of its parts, which may have gone on over lines."""
    text = "".join(pieces).removesuffix("\n")
    if part == "DETAIL":
        return structs.replace(record, detail=text)
    if part == "STATEMENT":
        return structs.replace(record, statement=text)
    if part == "CONTEXT":
        return structs.replace(record, context=text)
    if part in BESIDE:
        return record
    return structs.replace(record, message=text)
