"""The three published summary tables of a workload whose steps are few enough to be columns.

Columns, order and colours are those of the Insert Benchmark's reports, with one thing put right:
a cell whose target rate was missed is gray before it is red, and such a value sets no scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from dbdyno.model import Cell as Result
from dbdyno.model import Ratio, StepComparison
from dbdyno.report import bound, number
from dbdyno.report.colors import Thresholds
from dbdyno.report.parts import ARROWS, Cell, Column, RatioChart, RatioPoint, Row, Table, Tone

MISSED = "†"
INCOMPLETE = "‡"
STOOD_STILL = "‖"
STOOD_STILL_MARK = {
    STOOD_STILL: "stood still in a block: the mean throughput is then 0, and a ratio is of the "
    "blocks in which both ran"
}
INCOMPLETE_MARK = {
    INCOMPLETE: "without the blocks in which the step failed",
    **STOOD_STILL_MARK,
}


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


def judged(result: Result) -> int:
    """In how many runs the step was done well."""
    return sum(run.status == "ok" for run in result.runs)


def missed_target(result: Result) -> bool:
    """Whether the step has a target rate which a run of it did not hold."""
    return any(run.sla_met is False for run in result.runs)


def stood_still(result: Result) -> bool:
    """Whether a throughput of 0 was measured in a block."""
    return any(
        run.headline is not None and run.metrics.get(run.headline) == 0 for run in result.runs
    )


def _mark(result: Result) -> str:
    """† where a target was missed, ‡ where a block failed, ‖ where it stood still."""
    if missed_target(result):
        return MISSED
    return INCOMPLETE if failure(result) else STOOD_STILL if stood_still(result) else ""


def failure(result: Result) -> str:
    """What went wrong in which blocks, in words; nothing where all went well."""
    words = [
        f"block {run.block} {run.status}: {run.reason or 'no reason recorded'}"
        for run in result.runs
        if run.status != "ok"
    ]
    return "; ".join(words)


def words_for_nothing(result: Result) -> str:
    """What stands in the place of a missing number."""
    if not result.runs:
        return "not run"
    states = {run.status for run in result.runs}
    if "failed" in states:
        return "failed"
    return "skipped" if "skipped" in states else number.MISSING


# --- Tables ----------------------------------------------------------------------------------


def tables(
    steps: Sequence[StepComparison],
    *,
    blocks: int,
    prefix: str,
    thresholds: Thresholds | None = None,
) -> list[Table]:
    """Tables A, B and C of one workload; C only where a step has a target rate.

    `thresholds`: the colours of B in place of the published ones.
    """
    shown = [step for step in steps if step.headline is not None]
    if not shown:
        return []
    made = [
        _absolute(shown, blocks, prefix),
        _relative(shown, blocks, prefix, thresholds),
        _background(shown, prefix),
    ]
    return [table for table in made if table is not None]


COUNTED = {"ips": "rows inserted/s", "qps": "queries/s", "scan": "rows scanned/s"}
"""What a throughput is called in the headings of tables."""


def _columns(steps: Sequence[StepComparison]) -> tuple[Column, ...]:
    """A column for the arm and one for each step, grouped by what is counted."""
    return (
        Column(text="arm", left=True),
        *(
            Column(text=step.step, group=COUNTED.get(step.headline or "", step.headline or ""))
            for step in steps
        ),
    )


def _absolute(steps: Sequence[StepComparison], blocks: int, prefix: str) -> Table:
    by_step = [_absolute_column(step) for step in steps]
    arms = [result.arm for result in steps[0].cells]
    rows = tuple(
        Row(cells=(Cell(text=arm), *(column[place] for column in by_step)), arm=arm)
        for place, arm in enumerate(arms)
    )
    mean = "" if blocks <= 1 else f"Geometric means of {blocks} blocks."
    gray = f"; gray: {MISSED}" if any(missed_target(cell) for cell in _cells(steps)) else ""
    marks = legend(
        rows,
        {
            MISSED: "the background insert rate was missed; it compares with no other",
            **INCOMPLETE_MARK,
        },
    )
    return Table(
        name=f"{prefix}-absolute",
        title="Throughput",
        columns=_columns(steps),
        rows=rows,
        colors="Green: in the fastest quarter of the way from slowest to fastest; red: in the "
        f"slowest, where that is under 0.8 of the fastest{gray}.",
        note=sentences(mean, marks, bound.note(cell.value_bound for cell in _cells(steps))),
    )


def _cells(steps: Sequence[StepComparison]) -> Iterable[Result]:
    return (result for step in steps for result in step.cells)


def sentences(*texts: str) -> str:
    """What there is to say, in a line."""
    return " ".join(text for text in texts if text)


def legend(rows: Sequence[Row], meanings: Mapping[str, str]) -> str:
    """What the marks mean that these rows have."""
    there = {cell.mark for row in rows for cell in row.cells}
    return " ".join(f"{mark}: {text}." for mark, text in meanings.items() if mark in there)


def _absolute_column(step: StepComparison) -> list[Cell]:
    missed = [missed_target(result) for result in step.cells]
    tones = absolute_tones([result.value for result in step.cells], missed)
    return [absolute_cell(result, tone) for result, tone in zip(step.cells, tones, strict=True)]


def absolute_cell(result: Result, tone: Tone) -> Cell:
    """An arm's throughput in a step, or in words why there is none."""
    trouble = failure(result)
    if result.value is None:
        return Cell(text=words_for_nothing(result), tone="failed", title=trouble)
    titles = [_held(result), trouble, bound.reasons(result)]
    return Cell(
        text=bound.signed(number.number(result.value), result.value_bound),
        mark=_mark(result),
        tone=bound.justified(tone, result.value_bound),
        title=". ".join(text for text in titles if text),
    )


def _held(result: Result) -> str:
    """In how many runs the target rate was held, in words; nothing without a target."""
    if result.sla_met is None:
        return ""
    return f"background insert rate held in {result.sla_met} of {judged(result)}"


def _relative(
    steps: Sequence[StepComparison], blocks: int, prefix: str, thresholds: Thresholds | None
) -> Table | None:
    base, *others = [result.arm for result in steps[0].cells]
    if not others:
        return None
    tone = relative_tone if thresholds is None else thresholds.tone
    rows = tuple(
        Row(
            cells=(
                Cell(text=arm),
                *(relative_cell(step, step.cells[place], tone) for step in steps),
            ),
            arm=arm,
        )
        for place, arm in enumerate((base, *others))
    )
    missed = {MISSED: "the background insert rate was missed by one of the two"}
    marks = legend(rows, missed | STOOD_STILL_MARK)
    return Table(
        name=f"{prefix}-relative",
        title=f"Throughput relative to {base}",
        columns=_columns(steps),
        rows=rows,
        colors=(PUBLISHED_COLORS if thresholds is None else thresholds.colors) + whether(blocks),
        arrows=PUBLISHED_ARROWS if thresholds is None else thresholds.arrows,
        note=sentences(
            divided(base, blocks),
            marks,
            bound.note(cell.ratio_bound for cell in _cells(steps)),
        ),
    )


PUBLISHED_COLORS = f"Blue {ARROWS['blue']}: above 1.05; yellow {ARROWS['yellow']}: below 0.95"
PUBLISHED_ARROWS = f"{ARROWS['blue']}: above 1.05; {ARROWS['yellow']}: below 0.95."


def divided(base: str, blocks: int) -> str:
    """What a ratio is, and what stands beside it, in a sentence."""
    beside = f", with the 95 % t interval of the mean ratio of {blocks} blocks"
    return f"Throughput divided by that of {base}{beside if blocks > 1 else ''}."


def whether(blocks: int) -> str:
    """The end of a sentence on colours: what they do not say where there are intervals."""
    return "." if blocks <= 1 else ", whether or not the interval includes 1."


def relative_cell(step: StepComparison, result: Result, tone: Callable[[float], Tone]) -> Cell:
    """An arm's throughput by the base's, which comes first, or in words why there is none."""
    base = step.cells[0]
    if result.arm == base.arm and result.value is not None:
        return Cell(text="1.00", mark=MISSED if missed_target(result) else "")
    either = (
        MISSED
        if missed_target(result) or missed_target(base)
        else STOOD_STILL
        if stood_still(result) or stood_still(base)
        else ""
    )
    if result.value is None or result.ratio is None:
        text = words_for_nothing(result) if result.value is None else number.MISSING
        still = either if either == STOOD_STILL else ""
        return Cell(text=text, mark=still, tone="failed", title=failure(result))
    return Cell(
        text=bound.signed(number.ratio(result.ratio.value), result.ratio_bound),
        mark=either,
        detail=ratio_detail(result),
        tone=""
        if either == STOOD_STILL
        else bound.justified(tone(result.ratio.value), result.ratio_bound),
        title=ratio_words(result.ratio),
    )


def quotient_cell(ratio: Ratio, first: Result, second: Result) -> Cell:
    """The throughput of one step by that of another of the same arm, as far as it can be told."""
    of = bound.of_quotient(first.value_bound, second.value_bound)
    spread = number.interval(ratio.low, ratio.high)
    return Cell(
        text=bound.signed(number.ratio(ratio.value), of),
        detail=bound.BOTH if of == "unknown" else spread,
        title=ratio_words(ratio),
    )


def ratio_detail(result: Result, digits: int = 2) -> str:
    """What stands after a ratio of throughputs: its interval, or that it cannot be told."""
    if result.ratio is None:
        return ""
    if result.ratio_bound == "unknown":
        return bound.BOTH
    return number.interval(result.ratio.low, result.ratio.high, digits)


def ratio_words(ratio: Ratio) -> str:
    """A ratio in a sentence, with one digit more than the tables have."""
    text = f"ratio {number.ratio(ratio.value, 3)}"
    spread = number.interval(ratio.low, ratio.high, 3)
    return f"{text}, 95 % interval {spread}, {ratio.blocks} blocks" if spread else text


def _background(steps: Sequence[StepComparison], prefix: str) -> Table | None:
    steps = [step for step in steps if any(result.sla_met is not None for result in step.cells)]
    if not steps:
        return None
    arms = [result.arm for result in steps[0].cells]
    rows = [
        Row(
            cells=(Cell(text=arm), *(_background_cell(step.cells[place]) for step in steps)),
            arm=arm,
        )
        for place, arm in enumerate(arms)
    ]
    targets = (Cell(text=number.number(target(step)), tone="quiet") for step in steps)
    rows.append(Row(cells=(Cell(text="target", tone="quiet"), *targets)))
    marks = legend(rows, {MISSED: "under 95 % of the target in at least one block"})
    columns = (
        Column(text="arm", left=True),
        *(Column(text=step.step, group="rows inserted/s") for step in steps),
    )
    return Table(
        name=f"{prefix}-background",
        title="Background insert rate",
        columns=columns,
        rows=tuple(rows),
        colors=f"Red: {MISSED}." if marks else "",
        note="Rows inserted per second beside the queries, all clients together. " + marks,
    )


def target(step: StepComparison) -> float | None:
    """The step's target rate, from any run that knows it."""
    targets = (run.sla_target for result in step.cells for run in result.runs)
    return next((target for target in targets if target is not None), None)


def _background_cell(result: Result) -> Cell:
    rates = [run.sla_achieved for run in result.runs if run.sla_achieved is not None]
    if not rates:
        return Cell(text=words_for_nothing(result), tone="failed", title=failure(result))
    missed = missed_target(result)
    return Cell(
        text=number.number(sum(rates) / len(rates)),
        mark=MISSED if missed else "",
        detail=f"held in {result.sla_met or 0} of {judged(result)}" if missed else "",
        tone="red" if missed else "",
        title=f"by block: {', '.join(number.number(rate) for rate in rates)}",
    )


def ratio_chart(
    steps: Sequence[StepComparison], base: str, name: str, title: str = ""
) -> RatioChart | None:
    """Every arm's ratio to the base in every step; None where there is nothing to draw."""
    shown = [step for step in steps if step.headline is not None]
    points = tuple(
        RatioPoint(arm=result.arm, step=step.step, ratio=result.ratio, bound=result.ratio_bound)
        for step in shown
        for result in step.cells
        if result.arm != base and result.ratio is not None and result.ratio.value > 0
    )
    if not points:
        return None
    bounds = {point.bound for point in points}
    bounded = bounds & bound.SIGNS.keys()
    return RatioChart(
        name=f"{name}-ratios",
        title=(f"{title}: throughput" if title else "Throughput")
        + f" relative to {base}, log scale"
        + ("; lines: 95 % intervals" if any(point.ratio.low for point in points) else "")
        + ("; a triangle points to where the true ratio lies" if bounded else "")
        + ("; a cross: it cannot be told" if "unknown" in bounds else ""),
        describe="The ratios and intervals of the table above, drawn to scale.",
        steps=tuple(step.step for step in shown),
        points=points,
    )
