"""The plans of an application's queries: those that changed, first those whose time changed, too.

Most changes of plans mean nothing, so what has no effect is folded away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dbdyno.model import Cell, Comparison
from dbdyno.model.query_change import PlanChange, PlanWord
from dbdyno.report import colors, number
from dbdyno.report.parts import (
    AnyPart,
    Column,
    Finding,
    Group,
    Row,
    Section,
    Table,
    TableCell,
    Text,
)
from dbdyno.report.section import verdicts

CHANGED: frozenset[PlanWord] = frozenset({"changed", "generic changed"})
EFFECTS = frozenset({"slower", "faster", "failed"})
"""Verdicts with which a change of plan is a finding."""
TREES_MAX = 20
"""So many pairs of trees are shown whole."""
NOTE = "Where the plans part, from the tables upwards; costs are the planner's own, of the whole."
WORDS: dict[PlanWord, str] = {
    "generic changed": "the generic plan changed",
    "unstable": "unstable: changes with another sample of the rows",
    "other estimate": "the same plan by other estimates",
    "not known": "no plan",
}


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """Of each arm the changed plans; nothing where no plan was asked for."""
    by_arm: dict[str, list[PlanChange]] = {}
    for change in comparison.queries.plans:
        by_arm.setdefault(change.place.arm, []).append(change)
    for place, (arm, changes) in enumerate(by_arm.items()):
        yield Group(
            name=f"query-plans-{place}",
            title="",
            parts=(
                Text(
                    name=f"query-plans-{place}-summary",
                    title=f"Plans of {arm} beside those of {comparison.base}",
                    items=(Finding(text=summary(comparison, changes)),),
                    depth="brief",
                ),
                *_of_arm(comparison, changes, place),
            ),
            depth="brief",
            entry="" if place else "Plans",
        )


def _of_arm(comparison: Comparison, changes: Sequence[PlanChange], place: int) -> Iterator[AnyPart]:
    effective = with_effect(comparison, changes)
    others = [change for change in changes if change.word != "same" and change not in effective]
    if effective:
        yield _table(comparison, effective, f"query-plans-{place}-effect", "with an effect")
    if others:
        table = _table(comparison, others, f"query-plans-{place}-rest", "without an effect")
        yield Group(
            name=f"query-plans-{place}-fold",
            title="",
            parts=(table,),
            depth="detail",
            entry="",
            click=(words := f"{number.queries(len(others))} without an effect"),
            fold=words,
        )
    trees = [tree for change in effective[:TREES_MAX] for tree in _trees(comparison, change)]
    if trees:
        yield Group(
            name=f"query-plans-{place}-trees",
            title="",
            parts=tuple(trees),
            depth="detail",
            entry="",
            click="both plans of each",
            fold="both plans of each",
        )


def with_effect(comparison: Comparison, changes: Sequence[PlanChange]) -> list[PlanChange]:
    """The changed plans of queries whose time or work changed, the largest change first."""
    pairs = [
        (0.0 if cell.ratio is None else cell.ratio.value, change)
        for change in changes
        if change.word in CHANGED
        and (cell := cell_of(comparison, change)) is not None
        and cell.verdict is not None
        and cell.verdict.word in EFFECTS
    ]
    return [change for _, change in sorted(pairs, key=lambda pair: pair[0])]


def cell_of(comparison: Comparison, change: PlanChange) -> Cell | None:
    """The arm's figures in the step that times the query."""
    cells = (
        cell
        for step in comparison.steps
        if step.step == change.place.query and step.workload == change.place.workload
        for cell in step.cells
        if cell.arm == change.place.arm
    )
    return next(cells, None)


def summary(comparison: Comparison, changes: Sequence[PlanChange]) -> str:
    """`of 40 queries 3 have another plan, 1 of them with an effect`."""
    changed = sum(change.word in CHANGED for change in changes)
    if not changed:
        return f"None of {number.queries(len(changes))} has another plan."
    effects = len(with_effect(comparison, changes))
    have = "has" if changed == 1 else "have"
    return (
        f"Of {number.queries(len(changes))} {changed} {have} another plan, {effects or 'none'} of "
        "them with an effect on time or work."
    )


def _table(comparison: Comparison, changes: Sequence[PlanChange], name: str, what: str) -> Table:
    return Table(
        name=name,
        title=f"Other plans of {changes[0].place.arm} {what}",
        columns=(
            Column(text="query", left=True),
            Column(text="word", left=True),
            Column(text="change", title="of throughput"),
            Column(text="where the plans part", left=True),
            Column(text=comparison.base, group="cost"),
            Column(text=changes[0].place.arm, group="cost"),
        ),
        rows=tuple(_row(comparison, change) for change in changes),
        look="words",
        note=NOTE,
        narrow="figures",
    )


def _row(comparison: Comparison, change: PlanChange) -> Row:
    cell = cell_of(comparison, change)
    verdict = None if cell is None else cell.verdict
    sure = colors.trusted(comparison.calibration, comparison.aims)
    speed = "" if cell is None or cell.ratio is None else number.change(cell.ratio.value)
    costs = (change.base_cost, change.cost)
    return Row(
        cells=(
            TableCell(text=change.place.query),
            TableCell(
                text=verdicts.NOT_JUDGED if verdict is None else verdicts.said(verdict, sure),
                tone="" if verdict is None else colors.tone(verdict, sure),
            ),
            TableCell(text=speed),
            TableCell(text=where(change)),
            *(TableCell(text="" if cost is None else f"{cost:,.0f}") for cost in costs),
        ),
        arm=change.place.arm,
    )


def where(change: PlanChange) -> str:
    """Where the plans part, with how often, or why nothing is said."""
    said = [WORDS.get(change.word, ""), change.where]
    some = change.word == "changed" and change.tuples < change.of
    often = f" (for {change.tuples} of {change.of} values)" if some else ""
    return f"{': '.join(filter(None, said))}{often}"


def _trees(comparison: Comparison, change: PlanChange) -> Iterator[Text]:
    arms = ((comparison.base, change.base), (change.place.arm, change.plan))
    for place, (arm, lines) in enumerate(arms):
        yield Text(
            name=f"tree-{change.place.query}-{change.place.arm}-{place}",
            title=f"{change.place.query} on {arm}",
            items=(Finding(text="\n".join(lines), label="text"),),
            form="code",
            depth="detail",
        )


SECTION = Section("page", lambda subject: parts(subject.comparison))
