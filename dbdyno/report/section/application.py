"""The answer of an application's own queries: a sentence for each arm, and a table by query."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from dbdyno.model import Bound, Cell, Comparison, Ratio, StepComparison
from dbdyno.model.answer_word import AnswerWord
from dbdyno.model.comparison import ApplicationResult
from dbdyno.model.plan_record import ApplicationRecord, QueryRecord
from dbdyno.model.query_change import AnswerChange, PlanChange, QueryPlace
from dbdyno.model.verdict import Verdict
from dbdyno.report import cells, colors, known, number
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
from dbdyno.report.section import verdicts, work

TEXT_MAX = 60
"""So many characters of a query's text stand in a table; all of it is shown on hover."""
DRAWN = "; values drawn from the data"
DIFFER: frozenset[AnswerWord] = frozenset({"different", "other order", "other type"})
"""Words on answers that differ, whatever the query says of their order or type."""


def sayings(comparison: Comparison) -> Iterable[AnyPart]:
    """A sentence for each arm; nothing where no workload is an application."""
    for place, result in enumerate(comparison.applications):
        yield Text(
            name=f"application-{place}",
            title="",
            items=(Finding(text=sentence(comparison, result)),),
            depth="answer",
            form="sayings",
            look="answer",
            entry="" if place else "Your application",
        )


def tables(comparison: Comparison) -> Iterable[AnyPart]:
    """A table by query for each arm on which queries were timed."""
    for place, result in enumerate(comparison.applications):
        if _own(comparison, result):
            yield _table(comparison, result, place)


def sentence(comparison: Comparison, result: ApplicationResult) -> str:
    """Your application on 18: CPU +3.1 % [2.0, 4.2] over 97.3 % of its time; 1 query fails, …"""
    lacks = f" without {number.queries(result.cpu_lacks)}" if result.cpu_lacks else ""
    figures = []
    if result.cpu is not None:
        figures.append(f"CPU {_changes(result.cpu)}{lacks}")
    if result.time is not None and result.time_bound != "unknown":
        figures.append(
            f"time of its calls {cells.signed(_changes(result.time), result.time_bound)}"
        )
    if result.work is not None:
        ratio = result.work.instructions
        low, high = (work.percent(end or 1.0, unit="") for end in (ratio.low, ratio.high))
        of = "" if result.time is None else f" of {number.queries(result.work.queries)}"
        figures.append(f"instructions{of} {work.percent(ratio.value)} [{low}, {high}]")
    covered = "" if result.covered is None else f" over {number.number(100 * result.covered, 1)} %"
    over = f"{covered} of its time" if covered else f" over {number.queries(result.queries)}"
    begin = f"Your application on {result.arm}: {', '.join(figures) or 'no figure'}{over}"
    return "; ".join([begin, *counted(comparison, result)])


def _changes(ratio: Ratio) -> str:
    return number.changes(ratio.value, ratio.low, ratio.high)


def counted(comparison: Comparison, result: ApplicationResult) -> Iterable[str]:
    """1 query fails; 3 are slower (one 4.2 times); no loss beyond 5 % for 40; 5 are open."""
    judged = [cell for _, cell in _own(comparison, result) if cell.verdict is not None]
    answers = _answers(comparison, result, {"fails"})
    failed = {*result.failed, *(change.place.query for change in answers)}
    failing = (
        (failed, result.arm),
        (result.base_failed, comparison.base),
        (result.both_failed, "both"),
    )
    for names, where in failing:
        if names:
            yield f"{number.queries(len(names))} {_plural(len(names), 'fails', 'fail')} on {where}"
    late = _answers(comparison, result, {"times out"})
    if late:
        ended = _plural(len(late), "is ended by its limit", "are ended by their limits")
        yield f"{number.queries(len(late))} {ended} on {result.arm} alone"
    differing = len(_answers(comparison, result, DIFFER))
    if differing:
        yield f"{number.queries(differing)} {_plural(differing, 'answers', 'answer')} differently"
    for word in ("slower", "faster", "same", "open"):
        alike = [cell for cell in judged if cell.verdict and cell.verdict.word == word]
        if alike:
            yield f"{len(alike)} {_plural(len(alike), 'is', 'are')} {word}{_worst(word, alike)}"
    if result.work is not None:
        for names, what in ((result.work.more, "more"), (result.work.less, "less")):
            if names:
                yield f"{len(names)} {_plural(len(names), 'does', 'do')} {what} work"


def _answers(
    comparison: Comparison, result: ApplicationResult, words: Container[AnswerWord]
) -> list[AnswerChange]:
    """The queries of an arm whose answers have one of these words."""
    return [
        change
        for change in comparison.queries.answers
        if change.place.arm == result.arm
        and change.place.workload == result.workload
        and change.word in words
    ]


def _worst(word: str, alike: Sequence[Cell]) -> str:
    """The largest slowdown, in brackets; nothing of other words."""
    ratios = [cell.ratio.value for cell in alike if cell.ratio is not None and cell.ratio.value > 0]
    if word != "slower" or min(ratios, default=1.0) >= 1:
        return ""
    at_most = any(cell.ratio_bound == "at most" for cell in alike)
    bound = "one at least" if at_most else "at most"
    return f" ({bound} {number.ratio(1 / min(ratios))} times)"


def _plural(count: int, singular: str, plural: str) -> str:
    return singular if count == 1 else plural


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
    uses = (use for use in comparison.plan.workloads if use.folder == workload)
    return next(use.application for use in uses if use.application is not None)


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
            Column(text="share", title=whole),
            Column(text="calls/s"),
            Column(text="word", left=True),
            Column(text="change", title="of throughput, with its 95 % interval"),
            Column(text="CPU", title="of a call, with its 95 % interval"),
            Column(text="work", left=True, title="instructions of a call, counted"),
            Column(text="answer", left=True),
            Column(text="plan", left=True),
        ),
        rows=tuple(_row(comparison, result, step, cell) for step, cell in rows),
        depth="report",
        look="words",
        entry="" if place else "Queries",
        note=f"Share: {whole}. Failed queries stand first, then those that changed.",
        narrow="figures",
    )


def _share(application: ApplicationRecord, step: StepComparison) -> float:
    """A query's share of the source's time; of its calls where no time is known."""
    query = application.by_name[step.step]
    if application.whole_s:
        return query.time_s / application.whole_s
    calls = application.calls or sum(other.calls for other in application.queries)
    return query.calls / calls if calls else 0.0


def _row(
    comparison: Comparison, result: ApplicationResult, step: StepComparison, cell: Cell
) -> Row:
    application = record(comparison, result.workload)
    query, verdict = application.by_name[step.step], cell.verdict
    sure = colors.trusted(comparison.calibration, comparison.aims)
    place = QueryPlace(workload=result.workload, query=step.step, arm=result.arm)
    return Row(
        cells=(
            TableCell(
                text=step.step,
                detail=short(query.text) + (DRAWN if query.drawn else ""),
                title=query.text,
            ),
            TableCell(text=f"{number.number(100 * _share(application, step), 1)} %"),
            TableCell(text=_rate(application, query)),
            TableCell(
                text=_word(cell, verdict, sure),
                tone="" if verdict is None else colors.tone(verdict, sure),
                detail="" if verdict is None else known.bound(verdict, cell.ratio_bound),
                title=next((run.ending.reason for run in cell.runs if run.ending.reason), ""),
            ),
            TableCell(text=_change(verdict, cell.ratio_bound, cpu=False)),
            TableCell(text=_change(verdict, cell.ratio_bound, cpu=True)),
            TableCell(text=_counted(comparison, place)),
            TableCell(text=_word_of(comparison.queries.answers, place)),
            TableCell(text=_word_of(comparison.queries.plans, place)),
        )
    )


def _counted(comparison: Comparison, place: QueryPlace) -> str:
    """The word and the size of a query's counted work; nothing where it was not counted."""
    step, counts = (place.workload, place.query), comparison.work
    changes = () if counts is None else counts.changes
    return next(
        (work.brief(each) for each in changes if (each.step, each.arm) == (step, place.arm)), ""
    )


def _word_of(changes: Sequence[AnswerChange | PlanChange], place: QueryPlace) -> str:
    """The word of a query's answers or plans; nothing where it was not asked."""
    return next((change.word for change in changes if change.place == place), "")


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
    failed = [run.ending for run in cell.runs if run.ending.status != "ok"]
    if not failed:
        return verdicts.NOT_JUDGED
    limits = {ending.timed_out_s for ending in failed}
    if None in limits:
        return "failed"
    often = f"in {len(failed)} of {number.blocks(len(cell.runs))}"
    return f"ended by its limit of {max(filter(None, limits)):g} s {often}"


def _change(verdict: Verdict | None, bound: Bound, *, cpu: bool) -> str:
    judgement = None if verdict is None else verdicts.primary(verdict, cpu)
    return "" if judgement is None or not judgement.blocks else verdicts.change(judgement, bound)


SAYINGS = Section("page", lambda subject: sayings(subject.comparison))
TABLES = Section("page", lambda subject: tables(subject.comparison))
