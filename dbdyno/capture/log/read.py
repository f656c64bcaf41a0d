"""Reads all files of a log, in order and whatever their format, into calls."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

from dbdyno.capture import coverage
from dbdyno.capture.call import Call
from dbdyno.capture.dialect import Dialect
from dbdyno.capture.log import csv_log, json_log, prefix_choice, stderr_log
from dbdyno.capture.log.calls import CallReader
from dbdyno.capture.log.files import Format, files_in, in_order, opened
from dbdyno.capture.log.general_log import GeneralLog
from dbdyno.capture.log.line_prefix import LogFormat, Prefix
from dbdyno.capture.log.plans import TRIED_MAX, only_plans
from dbdyno.capture.log.record import Record
from dbdyno.capture.log.slow_log import SlowLog
from dbdyno.capture.log.tally import Tally
from dbdyno.model.error import DynoError

READERS: Mapping[Format, Callable[[Tally], SlowLog | GeneralLog]] = {
    "slow": SlowLog,
    "general": GeneralLog,
}
"""Of the logs of MySQL and MariaDB, whose records are calls by themselves."""
EVERY_CALL = "set log_min_duration_statement = 0 for the time of the capture"
SLOW_LOG = "set slow_query_log = ON and long_query_time = 0 for the time of the capture"


def ordered(paths: Sequence[Path], tally: Tally) -> list[tuple[Path, Format]]:
    """The files at these places in the order of their records, all of one format.

    Raises DynoError in a line that says what to do.
    """
    files, tally.beside = in_order([file for path in paths for file in files_in(path)])
    if not files:
        raise DynoError(f"`{paths[0]}`: is empty: name a log of the time that is to be captured")
    return files


def calls(
    files: Sequence[tuple[Path, Format]], dialect: Dialect, reading: LogFormat, tally: Tally
) -> Iterator[Call]:
    """The calls of files that are in order. Raises DynoError in a line that says what to do."""
    path, format = files[0]
    tally.format = format
    if format in READERS:
        reader = READERS[format](tally)
        for each, _ in files:
            with opened(each, tally) as lines:
                yield from timed(reader.calls(counted(lines, tally)), tally)
        refuse_empty(str(path), tally)
    else:
        begun = records(files, reading, tally)
        head = list(islice(begun, TRIED_MAX))
        made = CallReader(dialect, tally, plans=only_plans(head))
        yield from timed(made.calls(chain(head, begun)), tally)
        refuse_useless(str(path), tally)
    if tally.is_lossy and not reading.accepts_loss:
        raise DynoError(lossy(tally))


def lossy(tally: Tally) -> str:
    """The line on a log of which too much is not understood."""
    lines, time = coverage.percent(tally.line_share, 1.0), coverage.percent(tally.time_share, 1.0)
    return (
        f"{tally.first_strange}: is not understood, nor are {tally.strange - 1} other lines, "
        f"{lines} of all with {time} of the time: name a log as the server wrote it, or leave them "
        "out by --accept-loss"
    )


def counted(lines: Iterable[str], tally: Tally) -> Iterator[str]:
    """The lines, which are counted."""
    for line in lines:
        tally.lines += 1
        yield line


def timed(calls_of_log: Iterable[Call], tally: Tally) -> Iterator[Call]:
    """The calls, whose times are counted."""
    for call in calls_of_log:
        tally.time_s += call.duration_s or 0.0
        yield call


def records(
    files: Sequence[tuple[Path, str]], reading: LogFormat, tally: Tally
) -> Iterator[Record]:
    """The records of all files. Raises DynoError."""
    prefix: Prefix | None = None
    for path, name in files:
        if name == "stderr":
            with opened(path) as lines:
                head = list(islice(lines, prefix_choice.TRIED_MAX))
            prefix = prefix_choice.of_file(head, str(path), prefix, reading)
            goes_on = stderr_log.indentation(head, prefix)
            tally.read_by(prefix.written, tabs_lost=goes_on != "\t")
        with opened(path, tally) as lines:
            if prefix is not None:
                learns = 0 if reading.prefix else stderr_log.LEARNS_MAX
                yield from stderr_log.records(lines, prefix, tally, goes_on, learns=learns)
            elif name == "csv":
                yield from csv_log.records(lines, tally)
            else:
                yield from json_log.records(lines, tally)


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
    if tally.strange_calls:
        raise DynoError(
            f"{tally.first_strange}: is not understood, nor are {tally.strange - 1} others, of "
            f"which {tally.strange_calls} have a `duration`: name a log as the server wrote it, or "
            "how its lines begin (--prefix)"
        )
    if tally.translated:
        raise DynoError(
            f"`{name}`: its messages are in another language: set lc_messages = 'C' and log anew"
        )
    if tally.plans:
        raise DynoError(
            f"`{name}`: has {tally.plans} plans that are neither JSON nor text: "
            "set auto_explain.log_format = 'json'"
        )
    if tally.texts_without_time:
        raise DynoError(f"`{name}`: has statements without their times: {EVERY_CALL}")
    if tally.bare_durations:
        raise DynoError(f"`{name}`: has times without their statements: {EVERY_CALL}")
    if tally.torn and not tally.records:
        raise DynoError(f"`{name}`: its only record has no end: name a log that is whole")
    if tally.first_strange and tally.strange > tally.records:
        raise DynoError(
            f"{tally.first_strange}: is not understood, the first of {tally.strange} lines: name a "
            "log of PostgreSQL, MySQL or MariaDB"
        )
    raise DynoError(f"`{name}`: holds no statements among {tally.records} records: {EVERY_CALL}")
