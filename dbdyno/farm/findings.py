"""The report of a finding: commit, step, change, functions, and how to see it again. Pure."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from dbdyno.farm.chain import Alarm
from dbdyno.farm.file import Branch
from dbdyno.farm.journal import MICROSECONDS, ChangedFunction, Head
from dbdyno.farm.state import FarmFinding, Standing
from dbdyno.model.bisection import short
from dbdyno.model.json import encoder
from dbdyno.parts import number

FORMAT = 1
FUNCTIONS_MAX = 10


class ReportedChange(Struct, frozen=True, kw_only=True):
    """What a commit did to a metric of a step."""

    workload: str
    step: str
    instrument: str  # "work" or "time"
    metric: str
    change: float  # a share: 0.03 is 3 % more of the metric
    low: float  # of its 95 % interval
    high: float
    worse: bool
    against: str  # "previous": seen at one head; "pinned": a drift of several


class FindingReport(Struct, frozen=True, kw_only=True):
    """A report as programs read it (docs/howto/farm.md)."""

    format: int = FORMAT
    id: str  # of the finding: the same in all its revisions
    revision: int
    standing: Standing
    branch: str
    source: str
    commit: str  # empty: the search could not tell one
    subject: str
    before: str  # the commit beside which it was measured
    probability: float
    suspects: tuple[Head, ...]  # where no single commit is sure
    changes: tuple[ReportedChange, ...]
    functions: tuple[ChangedFunction, ...]
    command: str  # that measures it again
    results: str  # below the farm's folder
    back_since: str  # the commit that has fixed or reverted it
    day: str  # on which it was found, in UTC
    why: str  # what could not be told


def report(finding: FarmFinding, branch: Branch | None) -> FindingReport:
    """The report of a finding whose commit was searched.

    `branch`: of the file; None: it names that no longer.
    """
    culprit = finding.culprit
    assert culprit is not None, "only searched findings are reported"
    return FindingReport(
        id=finding.name,
        revision=finding.revision,
        standing=finding.standing,
        branch=finding.branch,
        source="" if branch is None else branch.source or branch.command or "",
        commit=culprit.commit,
        subject=culprit.subject,
        before=culprit.before,
        probability=culprit.probability,
        suspects=culprit.suspects,
        changes=tuple(map(change_of, finding.alarms)),
        functions=culprit.functions[:FUNCTIONS_MAX],
        command=culprit.command,
        results=culprit.folder,
        back_since="" if finding.resolved is None else finding.resolved.commit,
        day=datetime.fromtimestamp(finding.opened_s, UTC).date().isoformat(),
        why=culprit.why,
    )


def change_of(alarm: Alarm) -> ReportedChange:
    """An alarm as a report has it: a ratio with the t interval of its logarithm."""
    change, series = alarm.change, alarm.series
    low, high = change.ends
    return ReportedChange(
        workload=series.step[0],
        step=series.step[1],
        instrument=series.instrument,
        metric=series.metric,
        change=math.expm1(change.value),
        low=math.expm1(low),
        high=math.expm1(high),
        worse=series.is_worse(change.value),
        against=alarm.seen_against,
    )


def as_json(of: FindingReport) -> bytes:
    """The report for programs: an object on one line."""
    return encoder().encode(of) + b"\n"


def title(of: FindingReport) -> str:
    """The report in a line, as the subject of a mail."""
    largest = max(of.changes, key=lambda change: abs(change.change))
    more = f" and {len(of.changes) - 1} more" if len(of.changes) > 1 else ""
    commit = short(of.commit) or "no single commit"
    standing = {
        "open": "",
        "fixed": f"fixed by {short(of.back_since)}: ",
        "reverted": f"reverted by {short(of.back_since)}: ",
    }[of.standing]
    return f"{standing}{of.branch} {commit}: {change_words(largest)}{more}"


def change_words(change: ReportedChange) -> str:
    """`point-query +3.1 % instructions`."""
    return f"{change.step} {number.change(1 + change.change, 2)} {change.metric}"


def function_row(cost: ChangedFunction) -> str:
    """A function's line of the table."""
    decimals = 2 if cost.unit == MICROSECONDS else 1
    return (
        f"| `{cost.function}` | {cost.step} | {cost.before:,.{decimals}f} | "
        f"{cost.after:,.{decimals}f} | {number.signed(cost.change, decimals)} {cost.unit} |"
    )


def markdown(of: FindingReport) -> str:
    """The report for people."""
    return "\n".join(lines(of)) + "\n"


def lines(of: FindingReport) -> Iterator[str]:
    """The lines of the report."""
    yield f"# {title(of)}"
    yield ""
    yield f"- found {of.day} on branch {of.branch} of `{of.source}`, revision {of.revision}"
    if of.commit:
        yield f"- commit `{of.commit}`" + (f": {one_line(of.subject)}" if of.subject else "")
        yield f"- measured beside `{of.before}`"
    if of.suspects:
        yield f"- {100 * of.probability:.0f} % sure; it may be any of:"
        yield from (f"    - `{each.commit}` {one_line(each.subject)}" for each in of.suspects)
    if of.back_since:
        what = "reverted" if of.standing == "reverted" else "fixed"
        yield f"- {what}: back since `{of.back_since}`"
    if of.why:
        yield f"- {of.why}"
    yield ""
    yield "| step | metric | change | 95 % interval | |"
    yield "|---|---|---|---|---|"
    for change in of.changes:
        word = "worse" if change.worse else "better"
        drift = ", against the pinned release" if change.against == "pinned" else ""
        ends = " to ".join(number.change(1 + end, 2) for end in (change.low, change.high))
        yield (
            f"| {change.step} | {change.metric} | {number.change(1 + change.change, 2)} | {ends} | "
            f"{word}{drift} |"
        )
    if of.functions:
        yield ""
        yield "| function | step | before | after | change, per operation |"
        yield "|---|---|---|---|---|"
        yield from map(function_row, of.functions)
    if of.command:
        yield ""
        yield "To see it again:"
        yield ""
        yield f"    {of.command}"


def one_line(text: str) -> str:
    """A commit's subject, without what would end a line or begin a table's cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("`", "'")
