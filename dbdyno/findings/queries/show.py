"""An application's queries in tables: what became of each on an arm, and all texts whole."""

from collections.abc import Iterable, Sequence

from dbdyno.findings.application import own_query as own_query
from dbdyno.findings.application import show as answer
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.findings.work import show as work
from dbdyno.model import Bound, Cell, Comparison
from dbdyno.model.answer_word import WORDS
from dbdyno.model.application import ApplicationResult
from dbdyno.model.plan_record import QueryRecord
from dbdyno.model.query_change import AnswerChange, PlanChange, QueryPlace
from dbdyno.model.verdict import Verdict
from dbdyno.model.work import WorkComparison
from dbdyno.parts import colors, known, number, undisturbed
from dbdyno.parts.part import AnyPart, Group, Section
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.parts.table_layout import without_blank_columns

DRAWN = "; values drawn from the data"
NOT_TIMED = "not timed"
OPEN = WORDS.index("not determined")
"""Words on answers before this one are first in a table."""


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """A table by query for each arm, then all texts."""
    for place, result in enumerate(comparison.applications):
        yield _table(comparison, result, place)
    if comparison.applications:
        yield Group(
            name="query-texts",
            parts=(_texts(comparison),),
            depth="detail",
            entry="Texts",
            click="All texts",
            fold="All texts",
        )


def _texts(comparison: Comparison) -> Table:
    """Every query with its whole text, also of those that were not timed."""
    rows = [
        Row.of(
            TableCell(text=query.name, detail=own_query.CUT if query.cut else ""),
            number.number(query.calls, 0),
            query.text,
        )
        for _, query in own_query.queries(comparison)
    ]
    return Table(
        name="query-texts-table",
        title="Texts of all queries",
        columns=Column.heads("query", "calls", *Column.words("text")),
        rows=tuple(rows),
        depth="detail",
        look="words texts",
    )


def _table(comparison: Comparison, result: ApplicationResult, place: int) -> Table:
    """All queries on an arm; what failed stands first, then what changed."""
    application = own_query.record(comparison, result.workload)
    own = own_query.cells(comparison, result)
    whole = "of the source's time" if application.whole_s else "of the calls"
    grave = {
        change.place.query: WORDS.index(change.word)
        for change in comparison.queries.answers
        if change.place.arm == result.arm and WORDS.index(change.word) < OPEN
    }
    queries = sorted(
        application.every,
        key=lambda query: (
            grave.get(query.name, len(WORDS)),
            verdicts.place(own[query.name][1].verdict if query.name in own else None),
            -application.share(query),
        ),
    )
    judged = (cell.verdict for _, cell in own.values() if cell.verdict)
    beside = undisturbed.head(each for verdict in judged for each in verdict.judgements)
    columns = Column.heads(
        "query",
        Column(text="share", title=whole),
        "calls/s",
        *Column.words("word"),
        Column(text="time", left=True, title="of a call, with its 95 % interval"),
        Column(text=beside, left=True, title="of a call, with its 95 % interval"),
        Column(text="work", left=True, title="instructions of a call, counted"),
        *Column.words("answer", "plan"),
    )
    rows = [
        _row(comparison, result, query, own[query.name][1] if query.name in own else None, beside)
        for query in queries
    ]
    return without_blank_columns(
        Table(
            name=f"queries-{place}",
            title=f"Queries on {result.arm} against {comparison.base}",
            columns=columns,
            rows=tuple(rows),
            look="words queries",
            entry="" if place else "Queries",
            note=f"Share: {whole}. First stand queries that fail or answer otherwise.",
            narrow="figures",
        )
    )


def _row(
    comparison: Comparison,
    result: ApplicationResult,
    query: QueryRecord,
    cell: Cell | None,
    beside: str,
) -> Row:
    application = own_query.record(comparison, result.workload)
    verdict = None if cell is None else cell.verdict
    bound: Bound = "exact" if cell is None else cell.ratio_bound
    sure = colors.trusted(comparison.calibration, comparison.aims)
    place = QueryPlace(workload=result.workload, query=query.name, arm=result.arm)
    time = None if verdict is None else verdicts.primary(verdict, second=False)
    cut = f"; {own_query.CUT}" if query.cut else ""
    counted = comparison.of(WorkComparison).changes
    own = (place.workload, place.query, place.arm)
    return Row.of(
        TableCell(
            text=own_query.short(query.text),
            detail=query.name + (DRAWN if query.drawn else "") + cut,
        ),
        own_query.share(application.share(query)),
        "" if application.seconds is None else number.number(query.calls / application.seconds),
        TableCell(
            text=NOT_TIMED if cell is None else _word(cell, verdict, sure),
            tone="" if verdict is None else colors.tone(verdict, sure),
            detail="" if verdict is None else known.bound(verdict, bound),
            title="" if cell is None else answer.failure(cell),
        ),
        own_query.time(time, bound) if time is not None and time.blocks else "",
        _beside(verdict, beside),
        next((work.brief(each) for each in counted if (*each.name, each.arm) == own), ""),
        _word_of(comparison.queries.answers, place),
        _word_of(comparison.queries.plans, place),
    )


def _word_of(changes: Sequence[AnswerChange | PlanChange], place: QueryPlace) -> str:
    """The word of a query's answers or plans; nothing where it was not asked."""
    return next((change.word for change in changes if change.place == place), "")


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


def _beside(verdict: Verdict | None, column: str) -> str:
    """What judges beside the time of a call."""
    judgement = None if verdict is None else verdicts.primary(verdict, second=True)
    if judgement is None or not judgement.blocks:
        return ""
    return undisturbed.labelled(verdicts.change(judgement), judgement, column)


SECTION = Section("page", lambda subject: parts(subject.comparison))
