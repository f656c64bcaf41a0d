"""The three published summary tables of a workload whose steps are few enough to be columns.

Columns, order and colours are those of the Insert Benchmark's reports, with one thing put right:
a cell whose target rate was missed is gray before it is red, and such a value sets no scale.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.findings.fairness import show as fairness
from dbdyno.findings.outcomes.facts import headline_of
from dbdyno.model import Cell, StepComparison, TargetFacts
from dbdyno.parts import cells, colors, number, step_groups
from dbdyno.parts.colors import ARROWS, Colors, Scheme, Tone
from dbdyno.parts.part import AnyPart, Group, Section, Subject
from dbdyno.parts.ratio_chart import ratio_chart
from dbdyno.parts.table import Column, Row, Table, TableCell

SPEEDS = 1e9
"""So many seconds are divided by a time for the published rule, which knows whole numbers."""

# --- Rules -----------------------------------------------------------------------------------


def absolute_tones(values: Sequence[float | None], missed: Sequence[bool]) -> list[Tone]:
    """Colours of a column of table A: gray where the target was missed, else by quarters.

    Published rule, with the values that met the target alone as the scale (they alone compare):
    gap = max - min, q = floor(gap / 4); red at or below min + q (never where min >= 0.8 max),
    green at or above max - q.
    """
    fair = [
        value for value, bad in zip(values, missed, strict=True) if value is not None and not bad
    ]
    low, high = (min(fair), max(fair)) if fair else (0.0, 0.0)
    quarter = math.floor((high - low) / 4)
    bottom = -math.inf if low >= 0.8 * high else low + quarter

    def tone(value: float | None, bad: bool) -> Tone:
        if value is None:
            return ""
        if bad:
            return "gray"
        if value <= bottom:
            return "red"
        return "green" if value >= high - quarter else ""

    return [tone(value, bad) for value, bad in zip(values, missed, strict=True)]


def relative_tone(value: float) -> Tone:
    """Colour of a ratio in table B, by its whole percent: blue above 105, yellow below 95."""
    if math.isnan(value) or math.isinf(value):
        return ""
    percent = round(100 * value)
    return "blue" if percent > 105 else "yellow" if percent < 95 else ""


# --- Tables ----------------------------------------------------------------------------------


def tables(
    steps: Sequence[StepComparison],
    *,
    blocks: int,
    prefix: str,
    scheme: Scheme = "words",
    sure: bool = True,
) -> list[Table]:
    """Tables A, B and C of one workload; C only where a step has a target rate.

    `scheme`: by what they are coloured; `sure`: whether verdicts of changes have a colour.
    """
    shown = [step for step in steps if step.headline is not None]
    if not shown:
        return []
    published = Colors(
        tone=lambda _, speed: relative_tone(speed),
        meaning=PUBLISHED_COLORS + colors.whether(blocks),
        arrows=PUBLISHED_ARROWS,
    )
    chosen = colors.of_scheme(scheme, sure=sure, blocks=blocks, published=published)
    made = [
        _absolute(shown, blocks, prefix, published=scheme == "published"),
        _relative(shown, blocks, prefix, chosen),
        _background(shown, prefix),
    ]
    return [table for table in made if table is not None]


def _columns(steps: Sequence[StepComparison]) -> tuple[Column, ...]:
    """A column for the arm and one for each step, grouped by what is counted."""
    return (
        Column(text="arm", left=True),
        *(Column(text=step.step, group=headline_of(step).rate) for step in steps),
    )


def _absolute(
    steps: Sequence[StepComparison], blocks: int, prefix: str, *, published: bool
) -> Table:
    tones = {step.step: _tones(step) if published else {} for step in steps}
    rows = _rows(
        steps, lambda step, cell: cells.absolute_cell(cell, tones[step.step].get(cell.arm, ""))
    )
    mean = "" if blocks <= 1 else f"Geometric means of {blocks} blocks."
    gray = (
        f"; gray: {cells.MISSED}"
        if any(cells.missed_target(cell) for cell in _cells(steps))
        else ""
    )
    marks = cells.legend(
        rows,
        {
            cells.MISSED: "missed the background insert rate; does not compare",
            **cells.INCOMPLETE_MARK,
        },
    )
    return Table(
        name=f"{prefix}-absolute",
        title="Throughput",
        columns=_columns(steps),
        rows=rows,
        colors="Green: in the fastest quarter between slowest and fastest; red: in the slowest "
        f"quarter, if under 0.8 of the fastest{gray}."
        if published
        else "",
        note=cells.sentences(
            mean,
            marks,
            cells.times_note(steps),
            cells.bound_note(cell.value_bound for cell in _cells(steps)),
        ),
    )


def _cells(steps: Sequence[StepComparison]) -> Iterable[Cell]:
    return (result for step in steps for result in step.cells)


def _rows(
    steps: Sequence[StepComparison], cell: Callable[[StepComparison, Cell], TableCell]
) -> tuple[Row, ...]:
    """A row for each arm, a cell for each step."""
    return tuple(
        Row.of(result.arm, *(cell(step, step.cells[place]) for step in steps), arm=result.arm)
        for place, result in enumerate(steps[0].cells)
    )


def _tones(step: StepComparison) -> Mapping[str, Tone]:
    """The published colours of throughputs, by arm; of times by how much is done in one."""
    values = [result.value for result in step.cells]
    if cells.is_time(step):
        values = [SPEEDS / value if value else None for value in values]
    tones = absolute_tones(values, [cells.missed_target(result) for result in step.cells])
    return {result.arm: tone for result, tone in zip(step.cells, tones, strict=True)}


def _relative(
    steps: Sequence[StepComparison], blocks: int, prefix: str, chosen: Colors
) -> Table | None:
    base, *others = [result.arm for result in steps[0].cells]
    if not others:
        return None
    rows = _rows(steps, lambda step, cell: cells.relative_cell(step, cell, chosen.tone))
    missed = {cells.MISSED: "one of the two missed the background insert rate"}
    marks = cells.legend(rows, missed | cells.STOOD_STILL_MARK)
    return Table(
        name=f"{prefix}-relative",
        title=f"Throughput relative to {base}",
        columns=_columns(steps),
        rows=rows,
        colors=chosen.meaning,
        arrows=chosen.arrows,
        note=cells.sentences(
            cells.divided(base, blocks),
            marks,
            cells.times_note(steps),
            cells.bound_note(cell.ratio_bound for cell in _cells(steps)),
        ),
    )


PUBLISHED_COLORS = f"Blue {ARROWS['blue']}: above 1.05; yellow {ARROWS['yellow']}: below 0.95"
PUBLISHED_ARROWS = f"{ARROWS['blue']}: above 1.05; {ARROWS['yellow']}: below 0.95."


def _background(steps: Sequence[StepComparison], prefix: str) -> Table | None:
    steps = [step for step in steps if any(result.sla_met is not None for result in step.cells)]
    if not steps:
        return None
    targets = (TableCell(text=number.number(cells.target(step)), tone="quiet") for step in steps)
    last = Row.of(TableCell(text="target", tone="quiet"), *targets)
    rows = (*_rows(steps, lambda _, cell: _background_cell(cell)), last)
    marks = cells.legend(rows, {cells.MISSED: "under 95 % of the target in at least one block"})
    columns = Column.heads(
        "arm", *(Column(text=step.step, group="rows inserted/s") for step in steps)
    )
    return Table(
        name=f"{prefix}-background",
        title="Background insert rate",
        columns=columns,
        rows=rows,
        note="Rows inserted per second beside the queries, all clients together. " + marks,
    )


def _background_cell(result: Cell) -> TableCell:
    rates = [facts.achieved_per_s for facts in result.each(TargetFacts)]
    if all(rate is None for rate in rates):
        return TableCell(
            text=cells.words_for_nothing(result), tone="failed", title=cells.failure(result)
        )
    missed = cells.missed_target(result)
    return replace(
        cells.over_blocks(rates, tone="failed" if missed else ""),
        mark=cells.MISSED if missed else "",
        detail=f"held in {result.sla_met or 0} of {cells.judged(result)}" if missed else "",
    )


def _parts(subject: Subject) -> Iterable[AnyPart]:
    """The tables, turned together where one is too wide, and the chart of ratios."""
    few = [step for step in subject.steps if step_groups.alone(step)]
    made = tables(
        few,
        blocks=subject.comparison.blocks,
        prefix=subject.anchor,
        scheme=subject.colors,
        sure=colors.trusted(subject.comparison.calibration, subject.comparison.aims),
    )
    every = (*made, fairness.summary(few, subject.anchor))
    shown = tuple(replace(table, depth="brief", look="summary") for table in every if table)
    if shown:
        yield Group(name="", parts=shown, depth="brief", entry="", alike=True)
    drawn = ratio_chart(few, subject.base, subject.anchor)
    if drawn is not None:
        yield drawn


SECTION = Section("workload", _parts)
