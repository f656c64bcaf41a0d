"""What a farm's pages show: its branches with their commits, readings and findings. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.farm import findings
from dbdyno.farm.chain import HeadSeries, LogRatio
from dbdyno.farm.findings import FindingReport
from dbdyno.farm.journal import MeasurementEntry
from dbdyno.farm.state import BranchProgress, FarmFinding, FarmState
from dbdyno.model.grouping import grouped


@dataclass(frozen=True, kw_only=True)
class SeriesCell:
    """A series of one commit, by all of its readings."""

    against_pinned: LogRatio | None
    against_previous: LogRatio | None
    folder: str  # of the result that has it, below the farm's; empty: none is known


@dataclass(frozen=True, kw_only=True)
class HeadOverview:
    """A head that was measured, or that could not be."""

    commit: str
    subject: str
    at_s: float  # Unix time
    cells: Mapping[HeadSeries, SeriesCell] = field(default_factory=dict)
    why: str = ""  # why nothing, or not everything, was measured


@dataclass(frozen=True, kw_only=True)
class FindingOverview:
    """A finding, as far as a grid and a curve show it."""

    name: str
    title: str
    standing: str  # open, fixed, reverted
    series: tuple[HeadSeries, ...]
    first: str  # the head by which it was there
    changed_s: float  # Unix time at which it was found, or was back
    report: FindingReport | None  # None: its commit is still looked for

    def is_of(self, series: HeadSeries) -> bool:
        """Whether it tells of a step, by whatever it was measured."""
        return any(own.step == series.step for own in self.series)


@dataclass(frozen=True, kw_only=True)
class BranchOverview:
    """A branch, its oldest commit first."""

    name: str
    pinned: str
    commits: tuple[HeadOverview, ...]
    findings: tuple[FindingOverview, ...] = ()
    odd: str = ""  # what the last look at it said

    @property
    def series(self) -> tuple[HeadSeries, ...]:
        """All that was ever measured of it."""
        return tuple(sorted({series for commit in self.commits for series in commit.cells}))


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A farm."""

    name: str
    branches: tuple[BranchOverview, ...]

    def branch(self, name: str | None) -> BranchOverview | None:
        """The branch of this name; the first where none is named; None where it is not there."""
        known = {branch.name: branch for branch in self.branches}
        return next(iter(self.branches), None) if name is None else known.get(name)


def of(state: FarmState, name: str) -> Overview:
    """What is known of a farm."""
    return Overview(
        name=name,
        branches=tuple(
            BranchOverview(
                name=branch,
                pinned=known.last.pinned if known.last else "",
                commits=tuple(_commits(known)),
                findings=tuple(
                    _found(finding)
                    for finding in state.findings.values()
                    if finding.branch == branch and finding.same_as is None
                ),
                odd="; ".join(filter(None, (known.odd, known.trouble))),
            )
            for branch, known in state.branches.items()
        ),
    )


def _commits(branch: BranchProgress) -> list[HeadOverview]:
    """The heads of a branch by when they were measured, or skipped."""
    made = [
        HeadOverview(
            commit=measured.head,
            subject=branch.subjects.get(measured.head, ""),
            at_s=measured.at_s,
            cells=_cells(measured, branch),
            why=measured.why,
        )
        for measured in branch.measured
    ]
    made += [
        HeadOverview(
            commit=skipped.head,
            subject=branch.subjects.get(skipped.head, ""),
            at_s=skipped.at_s,
            why=f"skipped: {skipped.why}",
        )
        for skipped in branch.skipped
    ]
    return sorted(made, key=lambda commit: commit.at_s)


def _cells(measured: MeasurementEntry, branch: BranchProgress) -> dict[HeadSeries, SeriesCell]:
    """The series of a head; its repetitions count, the first reading's result is named."""
    readings = list(measured.readings)
    for again in branch.repeated:
        if again.head == measured.head:
            readings += again.readings
    by_series = grouped((reading.series, reading) for reading in readings)
    return {
        series: SeriesCell(
            against_pinned=combined(reading.against_pinned for reading in own),
            against_previous=combined(reading.against_previous for reading in own),
            folder=_folder(measured.folders, series),
        )
        for series, own in by_series.items()
    }


def _folder(folders: Sequence[str], series: HeadSeries) -> str:
    """The result of an instrument: the folder that is named after it, or the only one."""
    own = [each for each in folders if each.rpartition("/")[2].startswith(series.instrument)]
    return next(iter(own), folders[0] if len(folders) == 1 else "")


def _found(finding: FarmFinding) -> FindingOverview:
    searched = finding.culprit is not None
    report = findings.report(finding, None) if searched else None
    largest = max(finding.alarms, key=lambda alarm: abs(alarm.change.value))
    return FindingOverview(
        name=finding.name,
        title=findings.change_words(findings.change_of(largest)),
        standing=finding.standing,
        series=tuple(dict.fromkeys(alarm.series for alarm in finding.alarms)),
        first=finding.alarms[0].first,
        changed_s=finding.opened_s if finding.resolved is None else finding.resolved.at_s,
        report=report,
    )


def combined(ratios: Iterable[LogRatio | None]) -> LogRatio | None:
    """The mean of several readings, weighed by their variances; None of none.

    Degrees of freedom by Satterthwaite (1946). A reading without any scatter counts alone. The word
    of counts is the last reading's.
    """
    given = [ratio for ratio in ratios if ratio is not None]
    exact = [ratio for ratio in given if ratio.standard_error == 0]
    if len(given) < 2 or exact:
        return next(iter(exact or given), None)
    weights = [ratio.standard_error**-2 for ratio in given]
    whole = math.fsum(weights)
    pairs = list(zip(weights, given, strict=True))
    return LogRatio(
        value=math.fsum(weight * ratio.value for weight, ratio in pairs) / whole,
        standard_error=whole**-0.5,
        degrees=whole**2 / math.fsum(weight**2 / ratio.degrees for weight, ratio in pairs),
        word=given[-1].word,
        withheld=given[-1].withheld,
    )


def interval(ratio: LogRatio) -> tuple[float, float]:
    """The ends of the ratio's 95 % interval."""
    low, high = ratio.ends
    return math.exp(low), math.exp(high)


def steps(series: Sequence[HeadSeries]) -> dict[tuple[str, str], list[HeadSeries]]:
    """Series by what one grid shows: an instrument and a metric."""
    return grouped(((of.instrument, of.metric), of) for of in series)
