"""The plans of an application's queries: those that changed, first those whose time changed, too.

Most changes of plans mean nothing, so what has no effect is folded away.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbdyno.findings.application import own_query as own_query
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.model import Cell, Comparison
from dbdyno.model.grouping import grouped
from dbdyno.model.query_change import Effect, PlanChange
from dbdyno.parts import colors, number
from dbdyno.parts.part import AnyPart, Finding, Group, Section, Text
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.parts.table_layout import without_blank_columns

KINDS: Mapping[str, frozenset[Effect]] = {
    "with an effect on time or work": frozenset(
        {"failed", "slower", "faster", "more work", "less work"}
    ),
    "of open queries": frozenset({"open"}),
    "of queries that were not timed": frozenset({"not timed"}),
}
"""Other plans by what became of their queries, in the order in which they stand."""
EFFECT = next(iter(KINDS))
NO_EFFECT = "without an effect"
TREES_MAX = 20
"""So many pairs of trees are shown whole."""
NOTE = "Where the plans part, from the tables upwards; costs are the planner's own, of the whole."


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """Of each arm the changed plans; nothing where no plan was asked for."""
    by_arm = grouped((change.arm, change) for change in comparison.queries.plans)
    for place, (arm, changes) in enumerate(by_arm.items()):
        yield Group(
            name=f"query-plans-{place}",
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
    differing = [change for change in changes if change.differs]
    effective = of_effects(comparison, differing, EFFECT)
    shown = []
    for number_of, effects in enumerate(KINDS):
        alike = of_effects(comparison, differing, effects)
        shown += alike
        if alike:
            yield _table(comparison, alike, f"query-plans-{place}-{number_of}", effects)
    rest = [change for change in changes if change.word != "same" and change not in shown]
    if rest:
        table = _table(comparison, rest, f"query-plans-{place}-rest", NO_EFFECT)
        words = f"{number.queries(len(rest))} without another plan, or without an effect"
        yield Group(
            name=f"query-plans-{place}-fold",
            parts=(table,),
            depth="detail",
            entry="",
            click=words,
            fold=words,
        )
    both = [
        tree
        for change in effective[:TREES_MAX]
        for tree in trees(
            change.step,
            change.arm,
            {comparison.base: change.base_plan, change.arm: change.arm_plan},
        )
    ]
    if both:
        yield Group(
            name=f"query-plans-{place}-trees",
            parts=tuple(both),
            depth="detail",
            entry="",
            click="both plans of each",
            fold="both plans of each",
        )


def of_effects(
    comparison: Comparison, changes: Iterable[PlanChange], effects: str
) -> list[PlanChange]:
    """The plans of a row of KINDS, those first whose queries lost most."""
    alike = [change for change in changes if change.effect in KINDS[effects]]
    speeds = {change.place: _speed(comparison, change) or 1.0 for change in alike}
    return sorted(alike, key=lambda change: speeds[change.place])


def _speed(comparison: Comparison, change: PlanChange) -> float | None:
    """The query's rate by the base's."""
    cell = cell_of(comparison, change)
    return None if cell is None or cell.ratio is None else cell.ratio.value


def cell_of(comparison: Comparison, change: PlanChange) -> Cell | None:
    """The arm's figures in the step that times the query."""
    cells = (
        cell
        for step in comparison.steps
        if step.step == change.step and step.workload == change.workload
        for cell in step.cells
        if cell.arm == change.arm
    )
    return next(cells, None)


def summary(comparison: Comparison, changes: Sequence[PlanChange]) -> str:
    """`of 40 queries 3 have another plan: 1 with an effect, 2 whose queries are open`."""
    changed = [change for change in changes if change.differs]
    if not changed:
        return f"None of {number.queries(len(changes))} has another plan."
    counts = [(len(of_effects(comparison, changed, effects)), effects) for effects in KINDS]
    counts.append((len(changed) - sum(count for count, _ in counts), NO_EFFECT))
    have = "has" if len(changed) == 1 else "have"
    return (
        f"Of {number.queries(len(changes))} {len(changed)} {have} another plan: "
        f"{', '.join(f'{count} {effects}' for count, effects in counts if count)}."
    )


def _table(comparison: Comparison, changes: Sequence[PlanChange], name: str, what: str) -> Table:
    table = Table(
        name=name,
        title=f"Other plans of {changes[0].arm} {what}",
        columns=Column.heads(
            "query",
            *Column.words("word"),
            Column(text="change", title="of throughput"),
            *Column.words("where the plans part"),
            *Column.under("cost", comparison.base, changes[0].arm),
        ),
        rows=tuple(_row(comparison, change) for change in changes),
        look="words queries",
        note=NOTE,
        narrow="figures",
    )
    return without_blank_columns(table)


def _row(comparison: Comparison, change: PlanChange) -> Row:
    cell = cell_of(comparison, change)
    verdict = None if cell is None else cell.verdict
    sure = colors.trusted(comparison.calibration, comparison.aims)
    speed = _speed(comparison, change)
    query = own_query.finding(comparison, change.place, "")
    return Row.of(
        TableCell(text=query.label, detail=query.text),
        TableCell(
            text=change.effect if verdict is None else verdicts.said(verdict, sure),
            tone="" if verdict is None else colors.tone(verdict, sure),
        ),
        "" if speed is None else number.changes(speed, None, None, "rate"),
        change.words,
        *("" if cost is None else f"{cost:,.0f}" for cost in (change.base_cost, change.arm_cost)),
        arm=change.arm,
    )


def trees(query: str, arm: str, plans: Mapping[str, str]) -> Iterator[Text]:
    """The plans of a query on the base and on an arm, by their names."""
    for place, (name, lines) in enumerate(plans.items()):
        yield Text(
            name=f"tree-{query}-{arm}-{place}",
            title=f"{query} on {name}",
            items=(Finding(text=lines, label="text"),),
            form="code",
            depth="detail",
        )


SECTION = Section("page", lambda subject: parts(subject.comparison))
