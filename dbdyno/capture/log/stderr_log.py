r"""PostgreSQL's log as stderr has it: a prefix, `LOG:  …`, and lines that go on after a tab.

Programs that hand logs out make blanks of the tabs. Where no line of a log begins with a tab, lines
that begin with blanks go on, too; any other line that does not begin with the prefix is not
understood, and the record before it is not whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from dbdyno.capture.log.line_prefix import SEVERITY, Prefix, Said
from dbdyno.capture.log.record import Clock, Record
from dbdyno.capture.log.tally import Tally, duration_s

BESIDE = frozenset({"DETAIL", "HINT", "STATEMENT", "CONTEXT", "QUERY", "LOCATION", "BACKTRACE"})
"""Lines that belong to the message before."""
CODE = re.compile(r"(?=[A-Z]*\d)([\dA-Z]{5}): ")
"""Before a message where log_error_verbosity is verbose."""
PLACE = re.compile(r"\[\w+\.\w+:\d+\]\s+")
"""Before a message of AlloyDB: where in its source it arose."""


def indentation(lines: Iterable[str], prefix: Prefix) -> str:
    """What lines of this log begin with that go on: a tab, or the blanks that it has become."""
    blanks: list[int] = []
    for line in lines:
        if line.startswith("\t"):
            return "\t"
        if line[:1] == " " and line.strip() and prefix.pattern.match(line) is None:
            blanks.append(len(line) - len(line.lstrip(" ")))
    return " " * min(blanks) if blanks else "\t"


def records(lines: Iterable[str], prefix: Prefix, tally: Tally, goes_on: str) -> Iterator[Record]:
    """The records of a file, whose lines begin with the prefix; `goes_on`: with what others do."""
    clock, record, part = Clock(), None, ""
    pieces: list[str] = []
    matched, cut = prefix.pattern.match, len(goes_on)
    for line in lines:
        tally.lines += 1
        if line.startswith(goes_on) and (goes_on == "\t" or matched(line) is None):
            pieces.append(line[cut:])
            continue
        match = matched(line)
        head = SEVERITY.match(line, match.end()) if match is not None else None
        if match is None or head is None:
            if match is not None:
                tally.translated += 1
            elif not line.endswith("\n"):
                tally.torn += 1
            elif line.strip():
                tally.strange_line(line)
                if record is not None:
                    record = structs.replace(record, lost=True)
            continue
        if record is not None:
            record = with_part(record, part, pieces)
        part, pieces = head[1], [line[head.end() :]]
        if part in BESIDE:
            continue
        if record is not None:
            yield kept(record, tally)
        record = begun(match, part, clock)
    if record is not None:
        torn = bool(pieces) and not pieces[-1].endswith("\n")
        tally.torn += torn
        if not torn:
            yield kept(with_part(record, part, pieces), tally)


def kept(record: Record, tally: Tally) -> Record:
    """The record, of which the time is counted where not all of its lines were understood."""
    if record.lost:
        tally.lost_s += duration_s(record.message)
    return record


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
    if text[5:7] == ": " and (code := CODE.match(text)) is not None:
        return structs.replace(record, message=text[7:], sqlstate=code[1])
    if text.startswith("[") and (place := PLACE.match(text)) is not None:
        text = text[place.end() :]
    return structs.replace(record, message=text)
