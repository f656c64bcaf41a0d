"""PostgreSQL's csvlog: 23 columns to 12, 24 in 13, 26 from 14 on.

Where a row is damaged, reading goes on with the next line that begins as a row does.
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from dbdyno.capture.log.line_prefix import SEVERITY
from dbdyno.capture.log.record import STAMP, LogClock, Record
from dbdyno.capture.log.tally import Tally

COLUMNS_MIN, SEVERITY_COLUMN = 23, 11
BEGINS = re.compile(rf'"?{STAMP.pattern}"?,')
"""How a row begins; tools that write CSV anew quote its time."""
NUMBER = re.compile(r"(?:-?[0-9]{1,20})?")
FIELD_MAX = 1 << 30
"""Characters of a field: statements can be long."""


@dataclass
class CsvLines:
    """The lines of a file, of which those of the row that is read can be taken back."""

    source: Iterator[str]
    tally: Tally
    row: list[str] = field(default_factory=list)
    again: deque[str] = field(default_factory=deque)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self.again.popleft() if self.again else next(self.source)
        self.tally.lines += 1
        self.row.append(line)
        return line

    def leave(self) -> None:
        """Leaves out the row that is read up to the next line that begins as one."""
        row, self.row = self.row, []
        end = next((at for at in range(1, len(row)) if BEGINS.match(row[at])), len(row))
        self.again.extendleft(reversed(row[end:]))
        self.tally.lines -= len(row) - end
        for place, line in enumerate(row[:end]):
            if line.strip():
                self.tally.strange_line(line, before=end - place - 1)


def is_row(line: str) -> bool:
    """Whether a line begins a row: a time, and a severity in its column."""
    if BEGINS.match(line) is None:
        return False
    row = next(csv.reader([line]), [])
    return (
        len(row) > SEVERITY_COLUMN and SEVERITY.fullmatch(f"{row[SEVERITY_COLUMN]}:  ") is not None
    )


def records(source: Iterable[str], tally: Tally) -> Iterator[Record]:
    """The records of a file; a torn last one is counted."""
    csv.field_size_limit(FIELD_MAX)
    clock, lines = LogClock(), CsvLines(iter(source), tally)
    reader = csv.reader(lines, strict=True)
    while True:
        lines.row.clear()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            if not lines.again and is_torn(lines):
                tally.torn += 1
                return
            lines.leave()
            reader = csv.reader(lines, strict=True)
            continue
        if not row or row[0] == "log_time":  # a blank line, or the names that an export begins with
            continue
        end_s = clock.read(row[0]) if len(row) >= COLUMNS_MIN else None
        query_id = row[25] if len(row) > 25 else ""
        if end_s is None or not NUMBER.fullmatch(query_id):
            lines.leave()
            reader = csv.reader(lines, strict=True)
            continue
        yield Record(
            end_s=end_s,
            user=row[1],
            database=row[2],
            session=row[5],
            severity=row[11],
            sqlstate=row[12],
            message=row[13],
            detail=row[14],
            context=row[18],
            statement=row[19],
            application=row[22],
            query_id=int(query_id or 0),
        )


def is_torn(lines: CsvLines) -> bool:
    """Whether the file ends in the row that is read, which holds no other's beginning."""
    return not any(BEGINS.match(line) for line in lines.row[1:])
