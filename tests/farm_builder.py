"""Farms as a watcher leaves them: a journal, and results where a test needs them."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.farm.chain import Alarm, HeadSeries, LogRatio, Reading
from dbdyno.farm.journal import (
    FILE,
    ChangedFunction,
    Culprit,
    Event,
    FindingEntry,
    Head,
    LookEntry,
    MeasurementEntry,
    ReportEntry,
    ResolutionEntry,
    SearchEntry,
    SkipEntry,
    StartEntry,
)
from dbdyno.model.json import encoder
from serve_client import EXAMPLE

DAY_S = 86_400.0
BEGIN_S = 1_780_000_000.0
BRANCH = "master"
POINT = HeadSeries(
    branch=BRANCH, step=("sysbench", "point-query"), instrument="work", metric="instructions"
)
SCAN = HeadSeries(
    branch=BRANCH, step=("sysbench", "scan"), instrument="work", metric="instructions"
)
QPS = HeadSeries(branch=BRANCH, step=("sysbench", "point-query"), instrument="time", metric="qps")


def sha(number: int) -> str:
    """A commit's name, whose first digits tell it from others."""
    return f"{number + 1:08x}" * 5


def ratio(value: float, error: float = 0.0001) -> LogRatio:
    return LogRatio(value=value, standard_error=error, degrees=40.0)


def measured(
    number: int, levels: Mapping[HeadSeries, Sequence[float]], *, folders: tuple[str, ...] = ()
) -> MeasurementEntry:
    """The event of a head; `levels` are log ratios to the pinned release, by commit."""
    previous = sha(number - 1) if number else None
    readings = tuple(
        Reading(
            series=series,
            head=sha(number),
            previous=previous,
            taken_s=at_s(number),
            against_previous=ratio(own[number] - own[number - 1]) if number else None,
            against_pinned=ratio(own[number]),
        )
        for series, own in levels.items()
        if number < len(own)
    )
    return MeasurementEntry(
        at_s=at_s(number),
        branch=BRANCH,
        head=sha(number),
        previous=previous,
        pinned="18.0",
        readings=readings,
        folders=folders,
    )


def at_s(number: int) -> float:
    return BEGIN_S + number * DAY_S


def found(
    number: int, series: HeadSeries, change: float, *, name: str = "master-found"
) -> list[Event]:
    """A finding of a commit, searched and reported."""
    alarm = Alarm(
        series=series,
        head=sha(number),
        first=sha(number),
        good=sha(number - 1),
        seen_against="previous",
        change=ratio(change),
        log_evidence=20.0,
        log_limit=9.0,
        sure=True,
    )
    culprit = Culprit(
        commit=sha(number),
        subject="Read <each> tuple twice",
        before=sha(number - 1),
        functions=(
            ChangedFunction(function="IndexNext", step="point-query", before=900.0, after=1200.0),
        ),
        command="dyno race a b --count",
    )
    at = at_s(number) + 60
    return [
        FindingEntry(at_s=at, finding=name, branch=BRANCH, alarms=(alarm,)),
        SearchEntry(at_s=at, finding=name, culprit=culprit),
        ReportEntry(at_s=at, finding=name, revision=1),
    ]


def resolved(number: int, name: str = "master-found") -> ResolutionEntry:
    return ResolutionEntry(
        at_s=at_s(number) + 90, finding=name, by="later", commit=sha(number), reverted=True
    )


def skipped(number: int) -> SkipEntry:
    return SkipEntry(
        at_s=at_s(number), branch=BRANCH, head=sha(number), why="compile failed: x.c:1"
    )


def farm(folder: Path, events: Sequence[Event], *, commits: int = 0) -> Path:
    """A farm's folder whose branch has so many commits and whose journal has these events."""
    heads = tuple(Head(commit=sha(number), subject=f"Change {number}") for number in range(commits))
    begun = [
        StartEntry(at_s=BEGIN_S, file="farm.toml"),
        LookEntry(at_s=BEGIN_S, branch=BRANCH, heads=heads, tip=sha(max(0, commits - 1))),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    lines = [encoder().encode(event) + b"\n" for event in (*begun, *events)]
    (folder / FILE).write_bytes(b"".join(lines))
    return folder


def result(folder: Path, number: int) -> str:
    """A result of a commit's counts in a farm's folder; its name there."""
    name = f"2026-06-{number + 1:02}-master-{sha(number)[:10]}/work"
    shutil.copytree(EXAMPLE, folder / name)
    return name
