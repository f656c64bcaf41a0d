"""The answer of an application's own queries: a sentence for each arm, and a table by query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.model import Cell, Comparison, StepComparison
from dbdyno.model.comparison import ApplicationResult
from dbdyno.model.plan_record import ApplicationRecord, QueryRecord
from dbdyno.model.verdict import Verdict
from dbdyno.report import colors, known, number
from dbdyno.report.parts import (
    AnyPart,
    Column,
    Finding,
    Row,
    Section,
    Table,
    TableCell,
    Text,
)
from dbdyno.report.section import verdicts

TEXT_MAX = 60
"""So many characters of a query's text stand in a table; all of it is shown on hover."""
SHARE_DIGITS = 1


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """A sentence and a table for each arm; nothing where no workload is an application."""
    for number_of, result in enumerate(comparison.applications):
        yield Text(
            name=f"application-{number_of}",
            title="",
            items=(Finding(text=sentence(comparison, result)),),
            depth="answer",
            form="sayings",
            look="answer",
            entry="" if number_of else "Your application",
        )
    for number_of, result in enumerate(comparison.applications):
        yield _table(comparison, result, number_of)


def sentence(comparison: Comparison, result: ApplicationResult) -> str:
    """Your application on 18: CPU +3.1 % [2.0, 4.2] over 97.3 % of its time; 1 query fails, …"""
    figures = [
        f"{name} {number.changes(ratio.value, ratio.low, ratio.high)}"
        for name, ratio in (("CPU", result.cpu), ("time of its calls", result.time))
        if ratio is not None
    ]
    covered = "" if result.covered is None else f" over {number.number(100 * result.covered, 1)} %"
    over = f"{covered} of its time" if covered else f" over {_queries(result.queries)}"
    begin = f"Your application on {result.arm}: {', '.join(figures) or 'no figure'}{over}"
    return "; ".join([begin, *counted(comparison, result)])


def counted(comparison: Comparison, result: ApplicationResult) -> Iterable[str]:
    """1 query fails; 3 are slower (one 4.2 times); no loss beyond 5 % for 40; 5 are open."""
    judged = [cell for _, cell in _own(comparison, result) if cell.verdict is not None]
    if result.failed:
        yield f"{_queries(len(result.failed))} {_plural(len(result.failed), 'fails', 'fail')}"
    if result.base_failed:
        yield f"{_queries(len(result.base_failed))} already fail on {comparison.base}"
    for word in ("slower", "faster", "same", "open"):
        alike = [cell for cell in judged if cell.verdict and cell.verdict.word == word]
        if alike:
            yield f"{len(alike)} {_plural(len(alike), 'is', 'are')} {word}{_worst(word, alike)}"


def _worst(word: str, cells: Sequence[Cell]) -> str:
    """The largest slowdown, in brackets; nothing of other words."""
    ratios = [cell.ratio.value for cell in cells if cell.ratio is not None and cell.ratio.value > 0]
    if word != "slower" or not ratios:
        return ""
    return f" (at most {number.ratio(1 / min(ratios))} times)" if min(ratios) < 1 else ""


def _queries(count: int) -> str:
    return f"{count} {_plural(count, 'query', 'queries')}"


def _plural(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def _own(comparison: Comparison, result: ApplicationResult) -> list[tuple[StepComparison, Cell]]:
    """The steps that are the application's queries, with the arm's cells."""
    queries = record(comparison, result.workload).by_name
    return [
        (step, cell)
        for step in comparison.steps
        if step.workload == result.workload and step.step in queries
        for cell in step.cells
        if cell.arm == result.arm
    ]


def record(comparison: Comparison, workload: str) -> ApplicationRecord:
    """The application that a workload is."""
    found = (use.application for use in comparison.plan.workloads if use.folder == workload)
    return next(application for application in found if application is not None)


def _table(comparison: Comparison, result: ApplicationResult, place: int) -> Table:
    application = record(comparison, result.workload)
    rows = sorted(
        _own(comparison, result),
        key=lambda pair: (verdicts.place(pair[1].verdict), -_share(application, pair[0])),
    )
    whole = "of the source's time" if application.whole_s else "of the calls"
    return Table(
        name=f"queries-{place}",
        title=f"Queries on {result.arm} against {comparison.base}",
        columns=(
            Column(text="query", left=True),
            Column(text="text", left=True),
            Column(text="share", title=whole),
            Column(text="calls/s"),
            Column(text="word", left=True),
            Column(text="change", title="of throughput, with its 95 % interval"),
            Column(text="CPU", title="per call, with its 95 % interval"),
        ),
        rows=tuple(_row(comparison, application, step, cell) for step, cell in rows),
        depth="report",
        look="words",
        entry="" if place else "Queries",
        note=f"share: {whole}. Failed queries stand first, then those that changed.",
    )


def _share(application: ApplicationRecord, step: StepComparison) -> float:
    """A query's share of the source's time; of its calls where no time is known."""
    query = application.by_name[step.step]
    if application.whole_s:
        return query.time_s / application.whole_s
    calls = application.calls or sum(other.calls for other in application.queries)
    return query.calls / calls if calls else 0.0


def _row(
    comparison: Comparison, application: ApplicationRecord, step: StepComparison, cell: Cell
) -> Row:
    query, verdict = application.by_name[step.step], cell.verdict
    sure = colors.trusted(comparison.calibration, comparison.aims)
    return Row(
        cells=(
            TableCell(text=step.step),
            TableCell(text=short(query.text), title=query.text),
            TableCell(text=f"{number.number(100 * _share(application, step), SHARE_DIGITS)} %"),
            TableCell(text=_rate(application, query)),
            TableCell(
                text=_word(cell, verdict, sure),
                tone="" if verdict is None else colors.tone(verdict, sure),
                detail="" if verdict is None else known.bound(verdict, cell.ratio_bound),
                title=next((run.ending.reason for run in cell.runs if run.ending.reason), ""),
            ),
            TableCell(text=_change(verdict, cpu=False)),
            TableCell(text=_change(verdict, cpu=True)),
        )
    )


def short(text: str) -> str:
    """The first words of a query."""
    if len(text) <= TEXT_MAX:
        return text
    return text[:TEXT_MAX].rsplit(" ", 1)[0] + " …"


def _rate(application: ApplicationRecord, query: QueryRecord) -> str:
    if application.seconds is None:
        return ""
    return number.number(query.calls / application.seconds)


def _word(cell: Cell, verdict: Verdict | None, sure: bool) -> str:
    if verdict is not None:
        return verdicts.said(verdict, sure)
    failed = any(run.ending.status != "ok" for run in cell.runs)
    return "failed" if failed else verdicts.NOT_JUDGED


def _change(verdict: Verdict | None, *, cpu: bool) -> str:
    judgement = None if verdict is None else verdicts.primary(verdict, cpu)
    return "" if judgement is None or not judgement.blocks else verdicts.change(judgement)


SECTION = Section("page", lambda subject: parts(subject.comparison))
