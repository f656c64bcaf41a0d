"""Steps in groups, as the published microbenchmarks are read: relative and absolute throughput.

The tables have a row for each step, its name at the end, and a column for each arm beside the base.
Steps that only warm something up are in none of them, and those that run before the writes
(`.pre`) in a table of their own (fragmentation).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.findings.fairness import show as fairness
from dbdyno.findings.groups import cost_per_operation
from dbdyno.findings.outcomes.facts import headline_of
from dbdyno.model import Cell, StepComparison
from dbdyno.model.comparison import FOUND_MIN
from dbdyno.model.headlines import HeadlineKind
from dbdyno.parts import cells, colors, step_groups, table_layout
from dbdyno.parts.colors import Colors
from dbdyno.parts.part import AnyPart, Finding, Group, Section, Subject, Text, anchored
from dbdyno.parts.ratio_chart import ratio_chart
from dbdyno.parts.table import Column, Row, Table, TableCell

_MARKS = {
    cells.UNFOUND: f"under {100 * FOUND_MIN:.0f} % of the statements found a row",
    **cells.INCOMPLETE_MARK,
}


# --- The groups ------------------------------------------------------------------------------


def _parts(subject: Subject) -> Iterable[AnyPart]:
    """Each group with its table and chart, then what explains them; nothing without groups."""
    groups = step_groups.ordered(subject.steps)
    if not groups:
        return
    listing = [step for some in groups.values() for step in some]
    base, *others = [result.arm for result in listing[0].cells]
    comparison, blocks = subject.comparison, subject.comparison.blocks
    chosen = colors.of_scheme(
        subject.colors,
        sure=colors.trusted(comparison.calibration, comparison.aims),
        blocks=blocks,
        published=colors.PUBLISHED.colors(blocks),
    )
    columns = tuple(f"col-{place} : {arm}" for place, arm in enumerate(others, start=1))
    legend = (f"Relative to: {base}", *columns) if len(others) > 1 else ()
    yield Text(
        name=f"{subject.anchor}-legend",
        items=Finding.each(legend),
        depth="brief",
        form="legend",
    )
    yield Group(
        name=f"{subject.anchor}-groups",
        parts=tuple(
            _group(title, some, _anchor(subject, title), chosen) for title, some in groups.items()
        ),
        depth="brief",
        note=_note(listing, base, blocks) if others else _mean(listing, blocks),
        colors=chosen.meaning if others else "",
        arrows=chosen.arrows if others else "",
        entry="",
    )
    if others:
        yield _throughputs(subject, groups)
    yield _costs(subject, groups, cost_per_operation.note(listing, base))
    yield from _fairness(subject, listing)


def _anchor(subject: Subject, title: str) -> str:
    return f"{subject.anchor}-{anchored(title)}"


def _throughputs(subject: Subject, groups: Mapping[str, Sequence[StepComparison]]) -> Group:
    """The basis of the ratios: the throughput of every arm, a table for each group."""
    return Group(
        name=f"{subject.anchor}-absolute-groups",
        parts=tuple(
            _absolute(title, steps, _anchor(subject, title)) for title, steps in groups.items()
        ),
        depth="detail",
        entry="throughput of all arms",
        pair=True,
        fold="Throughput of all arms",
    )


def _costs(subject: Subject, groups: Mapping[str, Sequence[StepComparison]], note: str) -> Group:
    """The cost of an operation, a table for each group."""
    tables = (
        replace(cost_per_operation.table(steps, _anchor(subject, title), title), look="wide")
        for title, steps in groups.items()
    )
    return Group(
        name=f"{subject.anchor}-per-operation",
        title="What an operation costs",
        parts=(Group(name="", parts=tuple(tables), entry="", pair=True),),
        depth="detail",
        note=note,
        entry="what an operation costs",
        joins=subject.overview,
        fold="What an operation costs",
    )


def _fairness(subject: Subject, steps: Sequence[StepComparison]) -> Iterable[Group]:
    """Fairness between clients in all listed steps, a row for each."""
    wide = fairness.summary(steps, subject.anchor)
    if wide is None:
        return
    table = table_layout.without_blank(table_layout.transposed(wide))
    yield Group(
        name=f"{subject.anchor}-fairness-part",
        parts=(replace(table, look="inline", narrow="figures"),),
        depth="detail",
        entry="",
        joins=subject.overview,
        fold=table.title,
    )


def _note(steps: Sequence[StepComparison], base: str, blocks: int) -> str:
    """Explains the tables of all groups."""
    mean = _mean(steps, blocks)
    bounds = (result.ratio_bound for step in steps for result in step.cells)
    return cells.sentences(
        cells.divided(base, blocks),
        cells.times_note(steps),
        f"Beside it the base's own: {mean[:1].lower()}{mean[1:]}",
        cells.bound_note(bounds),
    )


def _mean(steps: Sequence[StepComparison], blocks: int) -> str:
    """Explains the throughput of the tables, in a sentence."""
    counted = cells.capitalized(_usual(steps).rate_in_words)
    control = ", as published with BEGIN and COMMIT" if any(map(_with_control, steps)) else ""
    mean = "" if blocks <= 1 else f", geometric means of {blocks} blocks"
    return f"{counted}{control}{mean}."


def _with_control(step: StepComparison) -> bool:
    """Whether the throughput counts statements that only begin or end a transaction."""
    for result in step.cells:
        queries, own, control = (
            result.metrics.get(name) or 0.0 for name in ("qps", "statements_ps", "control_ps")
        )
        if control > 0 and queries > own + control / 2:
            return True
    return False


def _group(title: str, steps: Sequence[StepComparison], name: str, chosen: Colors) -> Group:
    base, *others = [result.arm for result in steps[0].cells]
    table = _relative(title, steps, name, chosen) if others else _absolute(title, steps, name)
    drawn = ratio_chart(steps, base, name, title.capitalize())
    return Group(
        name=name,
        parts=(
            replace(table, depth="brief", look="inline", short=title),
            *((drawn,) if drawn is not None else ()),
        ),
        depth="brief",
        entry=title,
        look="group",
        pair=True,
    )


def _relative(title: str, steps: Sequence[StepComparison], name: str, chosen: Colors) -> Table:
    """col-1, col-2 …, the base's own throughput, and the step's name."""
    base, *others = [result.arm for result in steps[0].cells]
    numbers = [f"col-{place}" for place in range(1, len(others) + 1)]
    headings = numbers if len(others) > 1 else others
    rows = tuple(
        Row.of(
            *(_relative_cell(step, cell, chosen) for cell in step.cells[1:]),
            _absolute_cell(step.cells[0]),
            step.step,
        )
        for step in steps
    )
    return Table(
        name=f"{name}-relative",
        title=f"{title.capitalize()}: throughput relative to {base}",
        columns=(
            *(
                Column(text=text, title=f"{arm} by {base}", arm=arm)
                for text, arm in zip(headings, others, strict=True)
            ),
            Column(text=base, group=_counted(steps), arm=base),
            Column(text=title, left=True),
        ),
        rows=rows,
        note=_own_note(steps, rows),
        heading=len(others) + 1,
    )


def _relative_cell(step: StepComparison, result: Cell, chosen: Colors) -> TableCell:
    """A ratio; marked where one of the two counts statements that mostly find nothing."""
    cell = cells.relative_cell(step, result, chosen.tone)
    either = cell.tone != "failed" and any(map(cells.unfound, (step.cells[0], result)))
    return replace(cell, mark=cell.mark or cells.UNFOUND) if either else cell


def _absolute(title: str, steps: Sequence[StepComparison], name: str) -> Table:
    """The throughput of every arm, and the step's name."""
    rows = tuple(Row.of(*map(_absolute_cell, step.cells), step.step) for step in steps)
    arms = [result.arm for result in steps[0].cells]
    bounds = (result.value_bound for step in steps for result in step.cells)
    return Table(
        name=f"{name}-absolute",
        title=f"{title.capitalize()}: throughput",
        columns=(
            *(Column(text=arm, group=_counted(steps), arm=arm) for arm in arms),
            Column(text=title, left=True),
        ),
        rows=rows,
        note=cells.sentences(_own_note(steps, rows), cells.bound_note(bounds)),
        heading=len(arms),
    )


def _absolute_cell(result: Cell) -> TableCell:
    cell = cells.absolute_cell(result, "")
    return replace(cell, mark=cell.mark or cells.UNFOUND) if cells.unfound(result) else cell


def _usual(steps: Sequence[StepComparison]) -> HeadlineKind:
    """What most steps' throughput counts."""
    kinds = list(map(headline_of, steps))
    return max(dict.fromkeys(kinds), key=kinds.count)


def _counted(steps: Sequence[StepComparison]) -> str:
    """Its unit, as it heads a column."""
    return _usual(steps).rate


def _own_note(steps: Sequence[StepComparison], rows: Sequence[Row]) -> str:
    """The exceptions among the rows, and the marks that these rows have."""
    usual = _counted(steps)
    others = {step.step: words for step in steps if (words := headline_of(step).rate) != usual}
    differs = ", ".join(f"{name}: {words} of all clients" for name, words in others.items())
    return cells.sentences(f"{differs}." if differs else "", cells.legend(rows, _MARKS))


SECTION = Section("workload", _parts)
