"""PostgreSQL's jsonlog (from 15 on): an object a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from dbdyno.capture.log.record import Clock, Record
from dbdyno.capture.log.tally import Tally


class Line(Struct):
    """The keys of a record that capture reads."""

    timestamp: str
    user: str = ""
    dbname: str = ""
    session_id: str = ""
    error_severity: str = ""
    state_code: str = ""
    message: str = ""
    detail: str = ""
    context: str = ""
    statement: str = ""
    application_name: str = ""
    query_id: int = 0


def records(lines: Iterable[str], tally: Tally) -> Iterator[Record]:
    """The records of a file; a torn last one is counted."""
    decoder, clock = msgspec.json.Decoder(Line), Clock()
    for line in lines:
        if not line.strip():
            continue
        try:
            read = decoder.decode(line.encode("utf-8", "surrogateescape"))
        except (msgspec.DecodeError, UnicodeError):
            tally.torn += not line.endswith("\n")
            tally.strange += line.endswith("\n")
            continue
        end_s = clock.read(read.timestamp)
        if end_s is None:
            tally.strange += 1
            continue
        yield Record(
            end_s=end_s,
            user=read.user,
            database=read.dbname,
            session=read.session_id,
            severity=read.error_severity,
            sqlstate=read.state_code,
            message=read.message,
            detail=read.detail,
            context=read.context,
            statement=read.statement,
            application=read.application_name,
            query_id=read.query_id,
        )
