"""Metrics that a provider measured, in a table with times: laid beside the windows by the clock.

They are shown with what a step tells, and never judged.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from dbdyno.model import StepRun, ToldFacts, ToldValue, events
from dbdyno.model.document import suggestion
from dbdyno.model.error import ResultError
from dbdyno.store import Results, StepFolder, imported
from dbdyno.store.imported import ImportedTable, ImportFormat

TIMES = ("time", "timestamp")
"""How the column of times is called, in small letters."""
HEADER = re.compile(r"(?P<title>.*?)\s*(?:[\[(](?P<unit>[^\])]*)[\])])?")
EPOCH = re.compile(r"\d{9,10}(\.\d+)?")
SHARE_MIN = 0.5
"""A row counts where so much of its time lies in the window."""
PREFIX = "provider."
NS_PER_S = 1e9


@dataclass(frozen=True, kw_only=True)
class ProviderColumn:
    """A metric of the table."""

    title: str
    unit: str
    values: tuple[float | None, ...]  # by row; None: empty


@dataclass(frozen=True, kw_only=True)
class ProviderTable:
    """A table of metrics; row i holds from `begins_s[i]` to `ends_s[i]`, in seconds since 1970."""

    begins_s: tuple[float, ...]
    ends_s: tuple[float, ...]
    columns: tuple[ProviderColumn, ...]


def read(text: str, reading: ImportFormat) -> ProviderTable:
    """The table in a CSV. Raises ResultError in one line that names the file and its line."""
    lines = csv.reader(io.StringIO(text))
    header = [name.strip() for name in next(lines, [])]
    at = next((place for place, name in enumerate(header) if name.lower() in TIMES), None)
    if at is None:
        raise _wrong(reading, 1, "no column `time` or `timestamp`; call the one with times so")
    begins: list[float] = []
    cells: list[list[float | None]] = []
    for row in lines:
        if not any(cell.strip() for cell in row):
            continue
        number = lines.line_num
        if len(row) != len(header):
            sentence = f"{len(row)} values under {len(header)} columns; correct the line"
            raise _wrong(reading, number, sentence)
        begins.append(_time(row[at].strip(), reading, number) + reading.shift_s)
        if len(begins) > 1 and begins[-1] <= begins[-2]:
            raise _wrong(reading, number, "its time is not after the line before; sort the lines")
        cells.append(
            [
                None if place == at else _number(cell.strip(), header[place], reading, number)
                for place, cell in enumerate(row)
            ]
        )
    if not begins:
        raise _wrong(reading, 1, "no line of values follows; export it again")
    columns = tuple(
        ProviderColumn(**_named(name), values=tuple(row[place] for row in cells))
        for place, name in enumerate(header)
        if place != at
    )
    return ProviderTable(
        begins_s=tuple(begins), ends_s=tuple(_ends(begins, reading)), columns=columns
    )


def _wrong(reading: ImportFormat, line: int, sentence: str) -> ResultError:
    return ResultError(f"{reading.name}: line {line}: {sentence}")


def _named(header: str) -> dict[str, str]:
    """Title and unit of "CPU [%]"."""
    match = HEADER.fullmatch(header)
    assert match is not None, "every text fits"
    return {"title": match["title"], "unit": match["unit"] or ""}


def _time(text: str, reading: ImportFormat, line: int) -> float:
    """Seconds since 1970."""
    if EPOCH.fullmatch(text):
        return float(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        sentence = f"`{text}` is no time; write 2026-11-24T13:05:00Z, or seconds since 1970"
        raise _wrong(reading, line, sentence) from None
    if time.tzinfo is None:
        if reading.zone is None:
            raise _wrong(reading, line, f"`{text}` names no zone; add `--zone +00:00`")
        time = datetime.fromisoformat(time.isoformat() + reading.zone)
    return time.timestamp()


def _number(text: str, header: str, reading: ImportFormat, line: int) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _wrong(reading, line, f"column `{header}`: `{text}` is no number; leave it empty")
    return value


def _ends(begins: Sequence[float], reading: ImportFormat) -> list[float]:
    """Until when each row holds: the next one, at most as long as most rows do."""
    gaps = sorted(after - before for before, after in pairwise(begins))
    if reading.every_s is None and not gaps:
        raise _wrong(reading, 2, "the only line of values; say how long it holds by `--every 60`")
    each = reading.every_s or gaps[len(gaps) // 2]
    nexts = [*begins[1:], math.inf]
    return [min(begin + each, following) for begin, following in zip(begins, nexts, strict=True)]


def window(folder: StepFolder) -> tuple[float, float] | None:
    """The window of a step by the clock, in seconds since 1970; None where it had none."""
    ahead_ns = open_ns = close_ns = None
    for event in folder.events():
        match event:
            case events.StartedEvent():
                ahead_ns = event.unix_ns - event.mono_ns
            case events.WindowOpen():
                open_ns = event.mono_ns
            case events.WindowClose():
                close_ns = event.mono_ns
    if ahead_ns is None or open_ns is None or close_ns is None:
        return None
    return (open_ns + ahead_ns) / NS_PER_S, (close_ns + ahead_ns) / NS_PER_S


def told(table: ProviderTable, begin_s: float, end_s: float) -> tuple[ToldValue, ...]:
    """Mean and greatest value of each metric in a window, over the rows that lie mostly in it.

    The mean weights rows by the time that they share with the window.
    """
    shared = [
        max(0.0, min(end_s, until) - max(begin_s, since))
        for since, until in zip(table.begins_s, table.ends_s, strict=True)
    ]
    inside = [
        place
        for place, share_s in enumerate(shared)
        if share_s > 0 and share_s >= SHARE_MIN * (table.ends_s[place] - table.begins_s[place])
    ]
    values = []
    for column in table.columns:
        known = [(shared[place], value) for place in inside
                 if (value := column.values[place]) is not None]  # fmt: skip
        if known:
            mean = math.fsum(s * v for s, v in known) / math.fsum(s for s, _ in known)
            rows = f"{len(known)} value{'s' if len(known) > 1 else ''}"
            for what, value in (("mean", mean), ("max", max(v for _, v in known))):
                values.append(
                    ToldValue(
                        metric=f"{PREFIX}{column.title}.{what}",
                        value=value,
                        unit=column.unit or None,
                        title=f"{column.title}, {what} of {rows}",
                        better=None,
                    )
                )
    return tuple(values)


def with_imported(
    results: Results, folders: Sequence[StepFolder], runs: Sequence[StepRun]
) -> list[StepRun]:
    """The runs of these folders, each with what imported tables say of its window.

    Raises ResultError for a damaged import.
    """
    tables = [
        (source, read(source.text, source.reading)) for source in imported.all_of(results.folder)
    ]
    if not tables:
        return list(runs)
    return [
        _with(run, folder, tables) if run.ending.status == "ok" else run
        for folder, run in zip(folders, runs, strict=True)
    ]


def _with(
    run: StepRun, folder: StepFolder, tables: Iterable[tuple[ImportedTable, ProviderTable]]
) -> StepRun:
    at = window(folder)
    if at is None:
        return run
    figures = {value.metric: value for value in run.of(ToldFacts).told}
    for source, table in tables:
        if source.reading.arm in (None, run.arm):
            figures |= {value.metric: value for value in told(table, *at)}
    return run.telling(ToldFacts(told=tuple(figures.values())))


def add(folder: Path, file: Path, reading: ImportFormat) -> str:
    """Imports a table into a result folder; what was done, in a line.

    Raises ResultError where it cannot be read, or says nothing of any window; nothing is kept then.
    """
    results = Results.open(folder)
    arms = [arm.name for arm in results.plan.arms]
    if reading.arm not in (None, *arms):
        raise ResultError(f"--arm: no arm `{reading.arm}`; {suggestion(reading.arm or '', arms)}")
    try:
        content = file.read_bytes()
        table = read(content.decode("utf-8-sig"), reading)
    except OSError as error:
        raise ResultError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ResultError(f"{file}: not UTF-8; save it as UTF-8") from None
    steps = [
        (step, at)
        for block in results.blocks()
        for run in block.runs()
        for step in run.steps()
        if reading.arm in (None, step.arm) and step.done() is not None
        if (at := window(step)) is not None
    ]
    reached = sum(bool(told(table, *at)) for _, at in steps)
    if not reached:
        raise ResultError(f"{reading.name}: {_apart(table, [at for _, at in steps])}")
    if imported.add(results.folder, content, reading) is None:
        return f"{reading.name} is there already"
    return (
        f"{len(table.columns)} metrics of {len(table.begins_s)} times: "
        f"{reached} of {len(steps)} measured steps have some"
    )


def _apart(table: ProviderTable, windows: Sequence[tuple[float, float]]) -> str:
    """Why no value lies in any window."""
    if not windows:
        return "the result has no measured window yet; run its plan first"
    spans = [
        " to ".join(
            datetime.fromtimestamp(moment, UTC).isoformat(" ", "seconds") for moment in span
        )
        for span in (
            (table.begins_s[0], table.ends_s[-1]),
            (min(begin for begin, _ in windows), max(end for _, end in windows)),
        )
    ]
    return (
        f"has values from {spans[0]}, and the windows lie from {spans[1]}, each shorter than its "
        "rows or elsewhere: check its zone, or give `--shift-s`"
    )
