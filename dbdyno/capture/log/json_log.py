"""PostgreSQL's jsonlog (from 15 on), an object a line; also where an operator or service has it.

CloudNativePG has the record in `record`, with the names of csvlog's columns; Google's Cloud Logging
has it in `jsonPayload`.
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct, field

from dbdyno.capture.log.record import LogClock, Record, stamp_of
from dbdyno.capture.log.tally import Tally


class JsonLogLine(Struct):
    """The keys of a record that capture reads."""

    timestamp: str = ""
    user: str = ""
    dbname: str = ""
    session_id: str = ""
    pid: int = 0
    error_severity: str = ""
    state_code: str = ""
    message: str = ""
    detail: str = ""
    context: str = ""
    statement: str = ""
    application_name: str = ""
    query_id: int = 0


class OperatorLine(JsonLogLine):
    """A record of CloudNativePG's, whose keys are the columns of csvlog."""

    timestamp: str = field(name="log_time", default="")
    user: str = field(name="user_name", default="")
    dbname: str = field(name="database_name", default="")
    pid: int = field(name="process_id", default=0)
    state_code: str = field(name="sql_state_code", default="")
    statement: str = field(name="query", default="")


class JsonEntry(Struct):
    """A line that holds a record."""

    record: OperatorLine | None = None
    payload: JsonLogLine | None = field(name="jsonPayload", default=None)
    timestamp: str = ""


def is_record(head: str) -> bool:
    """Whether a line is a record of the server, by itself or in an entry."""
    return '"error_severity"' in head


def records(lines: Iterable[str], tally: Tally) -> Iterator[Record]:
    """The records of a file; a torn last one is counted."""
    own, entries = msgspec.json.Decoder(JsonLogLine), msgspec.json.Decoder(JsonEntry, strict=False)
    clock, in_entries = LogClock(), False
    for line in lines:
        tally.lines += 1
        if not line.strip():
            continue
        try:
            read: JsonLogLine | None = own.decode(line.encode("utf-8", "surrogateescape"))
            if read is not None and not read.error_severity:
                entry = entries.decode(line.encode("utf-8", "surrogateescape"))
                read = entry.record or entry.payload
                in_entries = in_entries or read is not None
                if read is not None and not read.timestamp:
                    read.timestamp = stamp_of(entry.timestamp)
        except (msgspec.DecodeError, UnicodeError):
            tally.torn += not line.endswith("\n")
            if line.endswith("\n"):
                tally.strange_line(line)
            continue
        end_s = None if read is None else clock.read(read.timestamp)
        if read is None and in_entries:  # a message of the operator or the service itself
            continue
        if read is None or end_s is None:
            tally.strange_line(line)
            continue
        yield Record(
            end_s=end_s,
            user=read.user,
            database=read.dbname,
            session=read.session_id or str(read.pid or ""),
            severity=read.error_severity,
            sqlstate=read.state_code,
            message=read.message,
            detail=read.detail,
            context=read.context,
            statement=read.statement,
            application=read.application_name,
            query_id=read.query_id,
        )
