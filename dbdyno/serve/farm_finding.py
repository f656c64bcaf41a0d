"""The page of a farm's finding: commit, changes, functions, and how to see it again. Pure."""

from collections.abc import Iterator

from dbdyno.farm import findings
from dbdyno.farm.findings import FindingReport
from dbdyno.farm.overview import BranchOverview, FindingOverview
from dbdyno.parts import number
from dbdyno.parts.part import AnyPart, Finding, Text
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.serve.charted import View
from dbdyno.serve.farm_views import AT, FarmAddresses, words
from dbdyno.serve.frame import ViewLink, ViewLinks


def view(branch: BranchOverview, finding: FindingOverview, places: FarmAddresses) -> View:
    """The page of a finding."""
    first = finding.series[0]
    curves = tuple(
        ViewLink(words=f"{series.step[1]}, {words(series)}", link=places.curve(series))
        for series in finding.series
    )
    grid = places.grid(branch.name, first.instrument, first.metric)
    return View(
        title=finding.title if finding.report is None else findings.title(finding.report),
        label=f"{finding.standing}, on {branch.name}",
        at=AT,
        ways=(
            ViewLinks(name="Branch", ways=(ViewLink(words=branch.name, link=grid),)),
            ViewLinks(name="Curves", ways=curves),
        ),
        parts=tuple(_parts(finding, places)),
    )


def _parts(finding: FindingOverview, places: FarmAddresses) -> Iterator[AnyPart]:
    report = finding.report
    if report is None:
        sentence = f"Changed by {finding.first}; dyno has not named the commit yet."
        yield Text(name="open", title="Commit", form="paragraphs", items=(Finding(text=sentence),))
        return
    yield Text(name="facts", form="pairs", items=tuple(_facts(report)))
    yield _changes(report)
    if report.suspects:
        yield _suspects(report)
    if report.functions:
        yield _functions(report)
    if report.command:
        yield Text(
            name="command",
            form="code",
            lead=("To see it again:",),
            items=(Finding(text=report.command),),
        )


def _facts(report: FindingReport) -> Iterator[Finding]:
    named = f"{report.commit} {report.subject}".strip()
    yield Finding(label="commit", text=named or "none was told for sure")
    if report.before:
        yield Finding(label="beside", text=report.before)
    yield Finding(label="found", text=report.day)
    if report.back_since:
        yield Finding(label="back since", text=report.back_since)
    if report.why:
        yield Finding(label="left open", text=report.why)


def _changes(report: FindingReport) -> Table:
    rows = tuple(
        Row.of(
            change.step,
            change.metric,
            TableCell(
                text=number.change(1 + change.change, 2),
                detail=" to ".join(number.change(1 + end, 2) for end in (change.low, change.high)),
                tone="slower" if change.worse else "faster",
            ),
            "the pinned release" if change.against == "pinned" else "the commit before",
        )
        for change in report.changes
    )
    seen = Column.words("seen against")
    columns = (*Column.words("step", "metric"), Column(text="change, 95 % interval"), *seen)
    return Table(name="changes", title="Changes", columns=columns, rows=rows)


def _suspects(report: FindingReport) -> Table:
    return Table(
        name="suspects",
        title="Suspects",
        columns=Column.words("commit", "subject"),
        rows=tuple(Row.of(each.commit, each.subject) for each in report.suspects),
        note=f"One of them is the commit; this finding is {number.percent(report.probability)} "
        "sure of its first.",
    )


def _functions(report: FindingReport) -> Table:
    rows = tuple(
        Row.of(
            cost.function,
            cost.step,
            number.number(cost.before, 1),
            number.number(cost.after, 1),
            number.difference(cost.after, cost.before, 1),
        )
        for cost in report.functions
    )
    unit = report.functions[0].unit
    return Table(
        name="functions",
        title="Functions",
        columns=Column.heads("function", *Column.words("step"), "before", "after", "change"),
        rows=rows,
        note=f"{unit[:1].upper()}{unit[1:]} of an operation, of each function by itself.",
    )
