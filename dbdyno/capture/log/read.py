"""Reads all files of a log, in order and whatever their format, into calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

from dbdyno.capture.call import Call
from dbdyno.capture.dialect import Dialect
from dbdyno.capture.log import csv_log, json_log, stderr_log
from dbdyno.capture.log.calls import Reader
from dbdyno.capture.log.files import Format, files_in, in_order, opened
from dbdyno.capture.log.general_log import GeneralLog
from dbdyno.capture.log.plans import TRIED_MAX, only_plans
from dbdyno.capture.log.record import Record
from dbdyno.capture.log.slow_log import SlowLog
from dbdyno.capture.log.tally import Tally
from dbdyno.capture.log.wrapped import Unwrapped
from dbdyno.model.error import DynoError

READERS: Mapping[Format, Callable[[Tally], SlowLog | GeneralLog]] = {
    "slow": SlowLog,
    "general": GeneralLog,
}
"""Of the logs of MySQL and MariaDB, whose records are calls by themselves."""
EVERY_CALL = "set log_min_duration_statement = 0 for the time of the capture"
SLOW_LOG = "set slow_query_log = ON and long_query_time = 0 for the time of the capture"


def ordered(paths: Sequence[Path]) -> list[tuple[Path, Format]]:
    """The files at these places in the order of their records, all of one format.

    Raises DynoError in a line that says what to do.
    """
    files = in_order([file for path in paths for file in files_in(path)])
    if not files:
        raise DynoError(f"`{paths[0]}`: is empty: name a log of the time that is to be captured")
    return files


def calls(
    files: Sequence[tuple[Path, Format]], dialect: Dialect, prefixes: Sequence[str], tally: Tally
) -> Iterator[Call]:
    """The calls of files that are in order. Raises DynoError in a line that says what to do.

    `prefixes`: how lines of stderr may begin, the likeliest first; empty: the common ones.
    """
    path, format = files[0]
    tally.format = format
    with opened(path) as stream:
        tally.wrapped = isinstance(stream, Unwrapped)
    if format in READERS:
        reader = READERS[format](tally)
        for each, _ in files:
            with opened(each) as stream:
                yield from reader.calls(stream)
        refuse_empty(str(path), tally)
        return
    lines_of_log = records(files, prefixes, tally)
    head = list(islice(lines_of_log, TRIED_MAX))
    reading = Reader(dialect, tally, plans=only_plans(head))
    yield from reading.calls(chain(head, lines_of_log))
    refuse_useless(str(path), tally)


def records(
    files: Sequence[tuple[Path, str]], prefixes: Sequence[str], tally: Tally
) -> Iterator[Record]:
    """The records of all files. Raises DynoError."""
    name = files[0][1]
    if name == "stderr":
        prefix = stderr_log.detected(
            list(islice(lines(files), stderr_log.TRIED_MAX)),
            [stderr_log.prefix_of(written) for written in prefixes or stderr_log.COMMON],
        )
        tally.prefix = prefix.written
        yield from stderr_log.records(lines(files), prefix, tally)
        return
    for path, _ in files:
        with opened(path) as stream:
            if name == "csv":
                yield from csv_log.records(stream, tally)
            else:
                yield from json_log.records(stream, tally)


def lines(files: Sequence[tuple[Path, str]]) -> Iterator[str]:
    """The lines of all files."""
    for path, _ in files:
        with opened(path) as stream:
            yield from stream


def refuse_empty(name: str, tally: Tally) -> None:
    """Raises DynoError where a log of MySQL or MariaDB has no statement, saying why."""
    if tally.texts_with_time or tally.untimed:
        return
    if tally.torn and not tally.records:
        raise DynoError(f"`{name}`: its only record has no end: name a log that is whole")
    raise DynoError(f"`{name}`: holds no statements: {SLOW_LOG}")


def refuse_useless(name: str, tally: Tally) -> None:
    """Raises DynoError where a log has nothing that capture could count, saying why."""
    if tally.texts_with_time:
        return
    if tally.translated:
        raise DynoError(
            f"`{name}`: its messages are in another language: set lc_messages = 'C' and log anew"
        )
    if tally.texts_without_time:
        raise DynoError(f"`{name}`: has statements without their times: {EVERY_CALL}")
    if tally.bare_durations:
        raise DynoError(f"`{name}`: has times without their statements: {EVERY_CALL}")
    if tally.torn and not tally.records:
        raise DynoError(f"`{name}`: its only record has no end: name a log that is whole")
    if not tally.records:
        raise DynoError(f"`{name}`: holds no records of a log that dyno knows")
    raise DynoError(f"`{name}`: holds no statements: {EVERY_CALL}")
