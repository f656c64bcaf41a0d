"""An application's queries as lines: the SQL's beginning, its share, what is said, its name."""

from collections.abc import Container, Iterator, Sequence

from dbdyno.findings.verdicts import show as verdicts
from dbdyno.model import Bound, Cell, Comparison, StepComparison
from dbdyno.model.application import ApplicationResult
from dbdyno.model.metric.primary import is_second
from dbdyno.model.plan_record import ApplicationRecord, QueryRecord
from dbdyno.model.query_change import QueryPlace
from dbdyno.model.ratio import OPPOSITE
from dbdyno.model.verdict import Judgement, Verdict
from dbdyno.parts import cells as report_cells
from dbdyno.parts import number
from dbdyno.parts.part import Finding

TEXT_MAX = 60
"""So many characters of a query's text stand in a line or a row; a table has all of it."""
NAMED_MAX = 10
"""So many queries of a kind are named on the first screen; the others are counted."""
CUT = "its text may be cut"


def record(comparison: Comparison, workload: str) -> ApplicationRecord:
    """The application that a workload is."""
    uses = (use for use in comparison.plan.workloads if use.folder == workload)
    return next(use.application for use in uses if use.application is not None)


def names(comparison: Comparison, workload: str) -> Container[str]:
    """The queries that are steps of a workload; none where it is no application."""
    uses = (use for use in comparison.plan.workloads if use.folder == workload)
    return next((use.application.by_name for use in uses if use.application is not None), ())


def queries(comparison: Comparison) -> Iterator[tuple[str, QueryRecord]]:
    """The queries of all applications, with their workloads."""
    for use in comparison.plan.workloads:
        if use.application is not None:
            yield from ((use.folder, query) for query in use.application.every)


def cells(
    comparison: Comparison, result: ApplicationResult
) -> dict[str, tuple[StepComparison, Cell]]:
    """By query the step that times it, with the arm's cell."""
    names = record(comparison, result.workload).by_name
    return {
        step.step: (step, cell)
        for step in comparison.steps
        if step.workload == result.workload and step.step in names
        for cell in step.cells
        if cell.arm == result.arm
    }


def finding(comparison: Comparison, place: QueryPlace, said: str) -> Finding:
    """`SELECT note FROM f WHERE … (6.1 %)`: 2.6 times as long [2.5, 2.7]; select-f-4145ad64."""
    application = record(comparison, place.workload)
    query = next((each for each in application.every if each.name == place.query), None)
    if query is None:
        return Finding(text=f"{said}; {place.query}" if said else place.query)
    cut = CUT if query.cut else ""
    return Finding(
        label=f"{short(query.text)} ({share(application.share(query))})",
        text="; ".join(filter(None, (said, cut, query.name))),
    )


def line(finding: Finding) -> str:
    """A finding in a line of words, its label first."""
    return ": ".join(filter(None, (finding.label, finding.text)))


def few(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The first of them, and how many more there are."""
    more = len(findings) - NAMED_MAX
    rest = (Finding(text=f"and {number.queries(more)} more"),) if more > 0 else ()
    return (*findings[:NAMED_MAX], *rest)


def short(text: str) -> str:
    """The first words of a query, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT_MAX else line[:TEXT_MAX].rsplit(" ", 1)[0] + " …"


def share(value: float) -> str:
    """A share of the source's time: 6.1 %, < 0.1 %."""
    return "< 0.1 %" if 0 < value < 0.0005 else f"{number.number(100 * value, 1)} %"


def change(cell: Cell) -> str:
    """By what the word is said: 2.61 times as long [2.53, 2.69]; else CPU +12.3 % [11.0, 13.6]."""
    judgement = None if cell.verdict is None else deciding(cell.verdict)
    if judgement is None or is_second(judgement.metric):
        return "" if judgement is None else verdicts.figures(judgement, cell.ratio_bound)
    words = time(judgement, cell.ratio_bound)
    return words if "times" in words else f"time {words}"


def time(judgement: Judgement, bound: Bound) -> str:
    """The change of a call's time, of a rate by its inverse: +93.4 % [34.1, 179]."""
    value, low, high = judgement.told
    words = number.changes(1 / value, high and 1 / high, low and 1 / low, "time")
    both = f" ({report_cells.BOTH})" if bound == "unknown" else ""
    return f"{report_cells.signed(words, OPPOSITE.get(bound, bound))}{both}"


def deciding(verdict: Verdict) -> Judgement | None:
    """The metric by which the word is said, throughput before what judges beside it."""
    judgements = [judgement for judgement in verdict.judgements if judgement.metric in verdict.by]
    return min(judgements, key=lambda judgement: is_second(judgement.metric), default=None)
