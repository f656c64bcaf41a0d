"""The pages of a farm: a grid of steps and commits, and the curve of a step. Pure."""

import math
from collections.abc import Iterator
from typing import Protocol

from dbdyno.farm.chain import HeadSeries, LogRatio
from dbdyno.farm.evidence import MARGIN
from dbdyno.farm.overview import BranchOverview, HeadOverview, Overview, SeriesCell, interval, steps
from dbdyno.model.bisection import short
from dbdyno.parts import number
from dbdyno.parts.colors import Tone
from dbdyno.parts.number import MISSING
from dbdyno.parts.part import AnyPart, Callout, Finding, Text
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.serve.charted import View, day
from dbdyno.serve.frame import ViewLink, ViewLinks

SURE = 3.0
"""A cell has a colour where it is beyond the margin by so many standard errors."""
NS = 1e9
SUBJECT_MAX = 60
DAY_DIGITS = 10
FOUND = "◆"
AT = "farm"


class FarmAddresses(Protocol):
    """Where the pages of a farm lie: addresses of a server, or files beside each other."""

    def grid(self, branch: str, instrument: str, metric: str) -> str:
        """Of a branch by a metric."""

    def curve(self, series: HeadSeries) -> str:
        """Of a series."""

    def finding(self, name: str) -> str:
        """Of a finding."""

    def report(self, folder: str) -> str:
        """Of a result, below the farm's folder; empty: it has none."""


def shown(
    branch: BranchOverview, instrument: str | None, metric: str | None
) -> tuple[str, str] | None:
    """What of a branch is shown: what was asked for, or the first there is; None: nothing is."""
    grids = steps(branch.series)
    if instrument is not None and metric is not None and (instrument, metric) in grids:
        return instrument, metric
    order = sorted(grids, key=lambda of: (of[0] != "work", of[1] != "qps", of))
    return next(iter(order), None)


def grid(
    farm: Overview, branch: BranchOverview, of: tuple[str, str] | None, places: FarmAddresses
) -> View:
    """A row for each commit, the newest first, and a column for each step."""
    parts: list[AnyPart] = [*_odd(branch)]
    if branch.findings:
        parts.append(_findings(branch, places))
    parts.append(_grid(branch, of, places) if of else _nothing())
    return View(
        title=branch.name,
        label=f"Against {branch.pinned or 'the pinned release'}, measured in the same blocks",
        at=AT,
        ways=tuple(_ways(farm, branch, of, places)),
        parts=tuple(parts),
    )


def readings(branch: BranchOverview, series: HeadSeries, places: FarmAddresses) -> View:
    """The readings of a series, the newest first, which stand below its curve."""
    others = tuple(
        ViewLink(words=other.step[1], link=places.curve(other), here=other == series)
        for other in branch.series
        if (other.instrument, other.metric) == (series.instrument, series.metric)
    )
    measures = tuple(
        ViewLink(words=words(other), link=places.curve(other), here=other == series)
        for other in branch.series
        if other.step == series.step
    )
    back = places.grid(branch.name, series.instrument, series.metric)
    return View(
        title=f"{series.step[1]}: {words(series)}",
        label=f"{series.step[0]} on {branch.name}, against {branch.pinned or 'the pinned release'}",
        at=AT,
        ways=(
            ViewLinks(name="Branch", ways=(ViewLink(words=branch.name, link=back),)),
            ViewLinks(name="Step", ways=others),
            ViewLinks(name="Figure", ways=measures),
        ),
        parts=(_readings(branch, series, places),),
    )


def words(series: HeadSeries) -> str:
    """What is measured, in words."""
    return measure(series.instrument, series.metric)


def measure(instrument: str, metric: str) -> str:
    """An instrument and its metric, in words."""
    return "instructions" if instrument == "work" else f"time, {metric}"


# --- Parts --------------------------------------------------------------------------------------


def _odd(branch: BranchOverview) -> list[Callout]:
    if not branch.odd:
        return []
    return [Callout(name="odd", title="At the last look", items=(Finding(text=branch.odd),))]


def _nothing() -> Text:
    return Text(
        name="nothing",
        title="No reading yet",
        form="paragraphs",
        items=(Finding(text="The first head that is measured stands here."),),
    )


def _ways(
    farm: Overview, branch: BranchOverview, of: tuple[str, str] | None, places: FarmAddresses
) -> Iterator[ViewLinks]:
    if len(farm.branches) > 1:
        ways = []
        for other in farm.branches:
            there = shown(other, *(of or (None, None))) or ("", "")
            link = places.grid(other.name, *there)
            ways.append(ViewLink(words=other.name, link=link, here=other == branch))
        yield ViewLinks(name="Branch", ways=tuple(ways))
    grids = steps(branch.series)
    if len(grids) > 1:
        yield ViewLinks(
            name="Figure",
            ways=tuple(
                ViewLink(
                    words=measure(*other), link=places.grid(branch.name, *other), here=other == of
                )
                for other in sorted(grids, key=lambda other: (other[0] != "work", other))
            ),
        )


def _grid(branch: BranchOverview, of: tuple[str, str], places: FarmAddresses) -> Table:
    columns = steps(branch.series)[of]
    several = len({series.step[0] for series in columns}) > 1
    rows = tuple(
        Row.of(*_row(branch, commit, columns, places)) for commit in reversed(branch.commits)
    )
    return Table(
        name="grid",
        title=f"Commits and steps: {measure(*of)}",
        columns=Column.heads(
            "commit",
            *Column.words("day (UTC)", ""),
            *(
                Column(text=series.step[1], group=series.step[0] if several else "")
                for series in columns
            ),
        ),
        rows=(Row(cells=_curves(columns, places)), *rows),
        note=f"Change against the pinned release in percent; a cell leads to its report. {FOUND}: "
        "a finding begins here.",
        colors="Coloured: more or less work than the pinned release; of time what is beyond "
        f"{100 * MARGIN:.1f} % by {SURE:.0f} standard errors.",
    )


def _curves(columns: list[HeadSeries], places: FarmAddresses) -> tuple[TableCell, ...]:
    """The row that leads to the curves."""
    cells = [TableCell(text="curve", link=places.curve(series)) for series in columns]
    return (TableCell(text="all"), TableCell(text=""), TableCell(text=""), *cells)


def _row(
    branch: BranchOverview, commit: HeadOverview, columns: list[HeadSeries], places: FarmAddresses
) -> Iterator[TableCell]:
    begun = [finding for finding in branch.findings if finding.first == commit.commit]
    names = ", ".join(finding.title for finding in begun)
    link = places.finding(begun[0].name) if begun else ""
    yield TableCell(text=short(commit.commit), title=commit.subject[:SUBJECT_MAX])
    yield TableCell(text=day(commit.at_s * NS)[:DAY_DIGITS])
    yield TableCell(text=names or commit.why, link=link, tone="" if begun else "quiet")
    for series in columns:
        is_begun = any(series in finding.series for finding in begun)
        yield _cell(series, commit, places, mark=FOUND if is_begun else "")


def _cell(series: HeadSeries, commit: HeadOverview, places: FarmAddresses, mark: str) -> TableCell:
    cell = commit.cells.get(series)
    if cell is None or cell.against_pinned is None:
        return TableCell(text=MISSING, tone="quiet", title=commit.why or "no reading", mark=mark)
    ratio = cell.against_pinned
    return TableCell(
        text=number.change(
            math.exp(ratio.value), 2 if series.instrument == "work" else 1
        ).removesuffix(" %"),
        tone=tone(series, ratio),
        title="; ".join(
            filter(None, (number.counted(math.exp(ratio.value), *interval(ratio)), ratio.withheld))
        ),
        link=places.report(cell.folder) if cell.folder else "",
        mark=mark,
    )


def tone(series: HeadSeries, ratio: LogRatio) -> Tone:
    """The colour of a change that is plain."""
    small = abs(ratio.value) - SURE * ratio.standard_error <= MARGIN
    if not ratio.may_be_news or (ratio.word is None and small):
        return ""
    return "slower" if series.is_worse(ratio.value) else "faster"


def _findings(branch: BranchOverview, places: FarmAddresses) -> Table:
    rows = tuple(
        Row.of(
            TableCell(text=finding.title, link=places.finding(finding.name)),
            short(finding.first),
            finding.standing,
            ", ".join(f"{series.step[1]} ({words(series)})" for series in finding.series),
        )
        for finding in reversed(branch.findings)
    )
    return Table(
        name="findings",
        title="Findings",
        look="words",
        columns=Column.words("finding", "since", "standing", "seen in"),
        rows=rows,
    )


def _readings(branch: BranchOverview, series: HeadSeries, places: FarmAddresses) -> Table:
    rows = tuple(
        Row.of(*_reading(branch, commit, series, places)) for commit in reversed(branch.commits)
    )
    return Table(
        name="readings",
        title="Readings",
        columns=Column.heads(
            "commit",
            *Column.words("measured (UTC)"),
            "against the pinned release",
            "against the commit before",
            *Column.words(""),
        ),
        rows=rows,
        note="Changes in percent with their 95 % intervals. A head and the other two are measured "
        "in the same blocks.",
    )


def _reading(
    branch: BranchOverview, commit: HeadOverview, series: HeadSeries, places: FarmAddresses
) -> Iterator[TableCell]:
    cell = commit.cells.get(
        series, SeriesCell(against_pinned=None, against_previous=None, folder="")
    )
    link = places.report(cell.folder) if cell.folder else ""
    begun = [
        finding
        for finding in branch.findings
        if finding.first == commit.commit and finding.is_of(series)
    ]
    yield TableCell(text=short(commit.commit), link=link, title=commit.subject[:SUBJECT_MAX])
    yield TableCell(text=day(commit.at_s * NS))
    for ratio in (cell.against_pinned, cell.against_previous):
        yield TableCell(
            text=MISSING
            if ratio is None
            else number.counted(math.exp(ratio.value), *interval(ratio)),
            tone="" if ratio is None else tone(series, ratio),
        )
    yield TableCell(
        text=begun[0].title if begun else commit.why,
        link=places.finding(begun[0].name) if begun else "",
        tone="" if begun else "quiet",
    )
