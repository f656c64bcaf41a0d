"""The rows of every session of every sample, from the raw lines of waits.jsonl.

A line at a time is in memory.
"""

from datetime import UTC, datetime, timedelta

from dbdyno.evidence import raw_files
from dbdyno.model import Json
from dbdyno.model.wait_samples import SessionSample, WaitLook
from dbdyno.report.export.source import ExportPlace, ExportSource
from dbdyno.report.export.step_rows import Rows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def samples(source: ExportSource, place: ExportPlace) -> Rows:
    """The rows of `wait_samples` of a step."""
    looks = (
        line
        for line in place.folder.waits()
        if isinstance(line, WaitLook) and line.by_session is not None
    )
    key = source.step_key(place, place.folder.step())
    load = raw_files.load(place.folder.events())
    number = 0
    for look in looks:
        for second, _ in load.sampled([look]):
            number += 1
            common = key | {"sample": number, "second": second}
            for session in look.by_session or ():
                yield "wait_samples", common | _row(session)


def _row(session: SessionSample) -> Json:
    return {
        "pid": session.pid,
        "owner": session.owner,
        "state": session.state,
        "kind": session.activity,
        "event": session.event or None,
        "statement": session.statement or None,
        "query": session.query or None,
        "query_start": _moment(session.query_start_us),
        "xact_start": _moment(session.xact_start_us),
    }


def _moment(unix_us: int | None) -> datetime | None:
    """Microseconds since 1970 as a time, UTC without a zone."""
    return (
        None if unix_us is None else (EPOCH + timedelta(microseconds=unix_us)).replace(tzinfo=None)
    )
