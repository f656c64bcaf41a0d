"""PostgreSQL's csvlog: 23 columns to 12, 24 in 13, 26 from 14 on."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from dbdyno.capture.log.record import Clock, Record
from dbdyno.capture.log.tally import Tally

COLUMNS = (23, 24, 26)
NUMBER = re.compile(r"(?:-?[0-9]{1,20})?")
FIELD_MAX = 1 << 30
"""Characters of a field: statements can be long."""


def records(lines: Iterable[str], tally: Tally) -> Iterator[Record]:
    """The records of a file; a torn last one is counted."""
    csv.field_size_limit(FIELD_MAX)
    clock = Clock()
    reader = csv.reader(lines, strict=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            tally.torn += 1
            return
        if len(row) not in COLUMNS:
            tally.torn += bool(row)
            continue
        end_s = clock.read(row[0])
        query_id = row[25] if len(row) > 25 else ""
        if end_s is None or not NUMBER.fullmatch(query_id):
            tally.strange += 1
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
