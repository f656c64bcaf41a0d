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
from itertools import chain, islice

from dbdyno.capture.log.line_prefix import BESIDE, Prefix
from dbdyno.capture.log.prefix_choice import another, begun_of
from dbdyno.capture.log.record import LogClock, Record
from dbdyno.capture.log.tally import Tally, duration_s

LEARNS_MAX, AHEAD_LINES = 5, 300
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


def records(
    lines: Iterator[str], prefix: Prefix, tally: Tally, goes_on: str, *, learns: int = LEARNS_MAX
) -> Iterator[Record]:
    """The records of a file, whose lines begin with the prefix; `goes_on`: with what others do.

    `learns`: so often another prefix is looked for where lines begin otherwise: a server was told
    another one while it wrote the file.
    """
    begun: PartialRecord | None = None
    part, pieces, further = "", [""], True
    clock, forms = LogClock(), [PrefixExpression.of(prefix)]
    matched, cut, blanks = prefix.line.match, len(goes_on), goes_on != "\t"
    while further:
        further = False
        for line in lines:
            tally.lines += 1
            if line.startswith(goes_on) and not (blanks and matched(line)):
                pieces.append(line[cut:])
                continue
            form, match = forms[0], matched(line)
            if match is None:
                form = next((each for each in forms[1:] if each.prefix.line.match(line)), form)
                match = form.prefix.line.match(line)
            if match is None and learns and begun_of(line) is not None:
                learns, further = learns - 1, True
                ahead = [line, *islice(lines, AHEAD_LINES)]
                lines, tally.lines = chain(ahead, lines), tally.lines - 1
                if (other := another(ahead, [each.prefix for each in forms])) is not None:
                    forms.append(PrefixExpression.of(other))
                    tally.read_by(other.written, tabs_lost=blanks)
                break
            if match is None:
                if odd(line, prefix, tally) and begun is not None:
                    begun.lost = True
                continue
            if begun is not None:
                begun.take(part, pieces)
            part, pieces = match[form.severity + 1], [line[match.end() :]]
            if part in BESIDE:
                continue
            if begun is not None:
                yield begun.record(tally)
            begun = PartialRecord.of(match, form, clock)
            if begun is None:
                tally.strange_line(line)
    if begun is not None:
        torn = not pieces[-1].endswith("\n")
        tally.torn += torn
        if not torn:
            begun.take(part, pieces)
            yield begun.record(tally)


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
class PrefixExpression:
    """A prefix, and the places of its fields among the groups of its expression; -1: none."""

    prefix: Prefix
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
    def of(cls, prefix: Prefix) -> PrefixExpression:
        """The places in a prefix."""
        _, *names = (field.name for field in dataclasses.fields(cls))
        return cls(prefix, *(prefix.line.groupindex.get(name, 0) - 1 for name in names))


@dataclass
class PartialRecord:
    """A record of which the first line is read."""

    form: PrefixExpression
    groups: Sequence[str]  # of the prefix, and a last empty one
    end_s: float
    message: str = ""
    detail: str = ""
    statement: str = ""
    context: str = ""
    lost: bool = False

    @classmethod
    def of(
        cls, match: re.Match[str], form: PrefixExpression, clock: LogClock
    ) -> PartialRecord | None:
        """The record that a line begins; None: it has no time."""
        groups = (*match.groups(""), "")
        epoch = groups[form.epoch]
        end_s = float(epoch) if epoch else clock.read(groups[form.time])
        return None if end_s is None else cls(form, groups, end_s)

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

    def record(self, tally: Tally) -> Record:
        """The whole record; its time is counted where not all of its lines were understood."""
        form, groups, message = self.form, self.groups, self.message
        state = groups[form.state]
        if message[5:7] == ": " and (code := CODE.match(message)) is not None:
            message, state = message[7:], code[1]
        elif message.startswith("[") and (place := PLACE.match(message)) is not None:
            message = message[place.end() :]
        if self.lost:
            tally.lost_s += duration_s(message)
        return Record(
            end_s=self.end_s,
            session=groups[form.session] or groups[form.pid],
            user=groups[form.user],
            database=groups[form.database],
            application=groups[form.application],
            severity=groups[form.severity],
            sqlstate=state,
            query_id=int(groups[form.query] or 0),
            message=message,
            detail=self.detail,
            statement=self.statement,
            context=self.context,
            lost=self.lost,
        )
