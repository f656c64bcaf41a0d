r"""PostgreSQL's log as stderr has it: a prefix, `LOG:  …`, and lines that go on after a tab.

Programs that hand logs out make blanks of the tabs. Where no line of a log begins with a tab, lines
that begin with blanks go on, too; any other line that does not begin with the prefix is not
understood, and the record before it is not whole.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dbdyno.capture.log.line_prefix import BESIDE, Prefix
from dbdyno.capture.log.record import Clock, Record
from dbdyno.capture.log.tally import Tally, duration_s

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
    begun: Begun | None = None
    part, pieces = "", [""]
    clock, fields = Clock(), Fields.of(prefix.line)
    matched, severity, cut = prefix.line.match, fields.severity + 1, len(goes_on)
    blanks = goes_on != "\t"
    for line in lines:
        tally.lines += 1
        if line.startswith(goes_on) and not (blanks and matched(line)):
            pieces.append(line[cut:])
            continue
        match = matched(line)
        if match is None:
            if odd(line, prefix, tally) and begun is not None:
                begun.lost = True
            continue
        if begun is not None:
            begun.take(part, pieces)
        part, pieces = match[severity], [line[match.end() :]]
        if part in BESIDE:
            continue
        if begun is not None:
            yield begun.record(fields, tally)
        begun = Begun.of(match, fields, clock)
        if begun is None:
            tally.strange_line(line)
    if begun is not None:
        torn = not pieces[-1].endswith("\n")
        tally.torn += torn
        if not torn:
            begun.take(part, pieces)
            yield begun.record(fields, tally)


def odd(line: str, prefix: Prefix, tally: Tally) -> bool:
    """Counts a line that begins no record; whether it may be a part of the one before."""
    if prefix.pattern.match(line) is not None:
        tally.translated += 1
    elif not line.endswith("\n"):
        tally.torn += 1
    elif line.strip():
        tally.strange_line(line)
        return True
    return False


@dataclass(frozen=True)
class Fields:
    """The places of fields among the groups of a prefix's expression; -1: it has none."""

    severity: int
    time: int
    epoch: int
    pid: int
    session: int
    user: int
    database: int
    application: int
    state: int
    query: int

    @classmethod
    def of(cls, line: re.Pattern[str]) -> Fields:
        """The places in an expression of lines."""
        places = {
            field.name: line.groupindex.get(field.name, 0) - 1 for field in dataclasses.fields(cls)
        }
        return cls(**places)


@dataclass
class Begun:
    """A record of which the first line is read."""

    groups: Sequence[str]  # of the prefix, and a last empty one
    end_s: float
    message: str = ""
    detail: str = ""
    statement: str = ""
    context: str = ""
    lost: bool = False

    @classmethod
    def of(cls, match: re.Match[str], fields: Fields, clock: Clock) -> Begun | None:
        """The record that a line begins; None: it has no time."""
        groups = (*match.groups(""), "")
        epoch = groups[fields.epoch]
        end_s = float(epoch) if epoch else clock.read(groups[fields.time])
        return None if end_s is None else cls(groups, end_s)

    def take(self, part: str, pieces: Sequence[str]) -> None:
        """Takes one of its parts, which may have gone on over lines."""
        text = pieces[0][:-1] if len(pieces) == 1 else "".join(pieces).removesuffix("\n")
        if part == "DETAIL":
            self.detail = text
        elif part == "STATEMENT":
            self.statement = text
        elif part == "CONTEXT":
            self.context = text
        elif part not in BESIDE:
            self.message = text

    def record(self, fields: Fields, tally: Tally) -> Record:
        """The whole record; its time is counted where not all of its lines were understood."""
        groups, message, state = self.groups, self.message, self.groups[fields.state]
        if message[5:7] == ": " and (code := CODE.match(message)) is not None:
            message, state = message[7:], code[1]
        elif message.startswith("[") and (place := PLACE.match(message)) is not None:
            message = message[place.end() :]
        if self.lost:
            tally.lost_s += duration_s(message)
        return Record(
            end_s=self.end_s,
            session=groups[fields.session] or groups[fields.pid],
            user=groups[fields.user],
            database=groups[fields.database],
            application=groups[fields.application],
            severity=groups[fields.severity],
            sqlstate=state,
            query_id=int(groups[fields.query] or 0),
            message=message,
            detail=self.detail,
            statement=self.statement,
            context=self.context,
            lost=self.lost,
        )
