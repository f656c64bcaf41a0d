"""The rows of every session of every sample, from the raw lines of waits.jsonl.

A line at a time is in memory.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dbdyno.analysis.step import raw_files, waits
from dbdyno.model import Json
from dbdyno.report.export.source import Place, Source
from dbdyno.report.export.step_rows import Rows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def samples(source: Source) -> Rows:
    """The rows of `wait_samples` of every step, step by step."""
    for place in source.places():
        yield from source.stream(place.folder, _samples(source, place))


def _samples(source: Source, place: Place) -> Rows:
    lines = place.folder.waits()
    columns: list[str] = next(iter(lines), {}).get("by_session", [])
    if not columns:
        return
    key = source.step_key(place, place.folder.step())
    load = raw_files.load(place.folder.events())
    number = 0
    for line in lines:
        for second, one in waits.within([line], load):
            number += 1
            common = key | {"sample": number, "second": second}
            for session in one["by_session"]:
                yield "wait_samples", common | _row(dict(zip(columns, session, strict=True)))


def _row(session: Json) -> Json:
    empty = {name: session[name] or None for name in ("event", "statement", "query")}
    begun = {name: _moment(session[f"{name}_us"]) for name in ("query_start", "xact_start")}
    return {name: session[name] for name in ("pid", "owner", "state", "kind")} | empty | begun


def _moment(unix_us: int | None) -> datetime | None:
    """Microseconds since 1970 as a time, UTC without a zone."""
    return (
        None if unix_us is None else (EPOCH + timedelta(microseconds=unix_us)).replace(tzinfo=None)
    )
