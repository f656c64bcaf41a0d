"""The three published summary tables of a workload, and the sentences of the headline.

Columns, order and colours are those of the Insert Benchmark's reports, with one thing put right:
a cell whose target rate was missed is gray before it is red, and such a value sets no scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.model import Bound, Comparison, Ratio, StepComparison
from dbdyno.model import Cell as Result
from dbdyno.report import bound, number
from dbdyno.report.view import (
    ARROWS,
    Cell,
    Column,
    Finding,
    RatioChart,
    RatioPoint,
    Row,
    Table,
    Tone,
)

MISSED = "†"
INCOMPLETE = "‡"
UNDECIDED = "Interval includes no change"
LIMITED = "Cannot be told, as the load generator was at its limit"
MEASURED = "Measured"


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


def tables(steps: Sequence[StepComparison], base: str, blocks: int, prefix: str) -> list[Table]:
    """Tables A, B and C of one workload; C only where a step has a target rate."""
    shown = [step for step in steps if step.headline is not None]
    if not shown:
        return []
    made = [
        _absolute(shown, blocks, prefix),
        _relative(shown, base, blocks, prefix),
        _background(shown, prefix),
    ]
    return [table for table in made if table is not None]


def _columns(steps: Sequence[StepComparison]) -> tuple[Column, ...]:
    """A column for the arm and one for each step, grouped by what is counted."""
    words = {"ips": "rows inserted/s", "qps": "queries/s"}
    return (
        Column(text="arm", left=True),
        *(
            Column(text=step.step, group=words.get(step.headline or "", step.headline or ""))
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
    legend = _legend(
        rows,
        {
            MISSED: "the background insert rate was missed; it compares with no other",
            INCOMPLETE: "without the blocks in which the step failed",
        },
    )
    return Table(
        name=f"{prefix}-absolute",
        title="Throughput",
        columns=_columns(steps),
        rows=rows,
        colors="Green: in the fastest quarter of the way from slowest to fastest; red: in the "
        f"slowest, where that is under 0.8 of the fastest{gray}.",
        note=_words(mean, legend, bound.note(cell.value_bound for cell in _cells(steps))),
    )


def _cells(steps: Sequence[StepComparison]) -> Iterable[Result]:
    return (result for step in steps for result in step.cells)


def _words(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _legend(rows: Sequence[Row], meanings: Mapping[str, str]) -> str:
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
        mark=MISSED if missed_target(result) else INCOMPLETE if trouble else "",
        tone=bound.justified(tone, result.value_bound),
        title=". ".join(text for text in titles if text),
    )


def _held(result: Result) -> str:
    """In how many runs the target rate was held, in words; nothing without a target."""
    if result.sla_met is None:
        return ""
    return f"background insert rate held in {result.sla_met} of {judged(result)}"


def _relative(steps: Sequence[StepComparison], base: str, blocks: int, prefix: str) -> Table | None:
    arms = [result.arm for result in steps[0].cells]
    if len(arms) < 2:
        return None
    rows = tuple(
        Row(
            cells=(
                Cell(text=arm),
                *(_relative_cell(step, step.cells[place], base) for step in steps),
            ),
            arm=arm,
        )
        for place, arm in enumerate(arms)
    )
    under = (
        "" if blocks <= 1 else f", with the 95 % t interval of the mean ratio of {blocks} blocks"
    )
    legend = _legend(rows, {MISSED: "the background insert rate was missed by one of the two"})
    whether = "" if blocks <= 1 else ", whether or not the interval includes 1"
    colors = f"Blue {ARROWS['blue']}: above 1.05; yellow {ARROWS['yellow']}: below 0.95{whether}."
    return Table(
        name=f"{prefix}-relative",
        title=f"Throughput relative to {base}",
        columns=_columns(steps),
        rows=rows,
        colors=colors,
        note=_words(
            f"Throughput divided by that of {base}{under}.",
            legend,
            bound.note(cell.ratio_bound for cell in _cells(steps)),
        ),
    )


def _relative_cell(step: StepComparison, result: Result, base: str) -> Cell:
    if result.arm == base and result.value is not None:
        return Cell(text="1.00", mark=MISSED if missed_target(result) else "")
    missed = missed_target(result) or missed_target(step.cells[0])
    if result.value is None or result.ratio is None:
        text = words_for_nothing(result) if result.value is None else number.MISSING
        return Cell(text=text, tone="failed", title=failure(result))
    return Cell(
        text=bound.signed(number.ratio(result.ratio.value), result.ratio_bound),
        mark=MISSED if missed else "",
        detail=ratio_detail(result),
        tone=bound.justified(relative_tone(result.ratio.value), result.ratio_bound),
        title=ratio_words(result.ratio),
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
    targets = (Cell(text=number.number(_target(step)), tone="quiet") for step in steps)
    rows.append(Row(cells=(Cell(text="target", tone="quiet"), *targets)))
    legend = _legend(rows, {MISSED: "under 95 % of the target in at least one block"})
    columns = (
        Column(text="arm", left=True),
        *(Column(text=step.step, group="rows inserted/s") for step in steps),
    )
    return Table(
        name=f"{prefix}-background",
        title="Background insert rate",
        columns=columns,
        rows=tuple(rows),
        colors=f"Red: {MISSED}." if legend else "",
        note="Rows inserted per second beside the queries, all clients together. " + legend,
    )


def _target(step: StepComparison) -> float | None:
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


def ratio_chart(steps: Sequence[StepComparison], base: str, prefix: str) -> RatioChart | None:
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
        name=f"{prefix}-ratios",
        title=f"Throughput relative to {base}, log scale"
        + ("; lines: 95 % intervals" if any(point.ratio.low for point in points) else "")
        + ("; a triangle points to where the true ratio lies" if bounded else "")
        + ("; a cross: it cannot be told" if "unknown" in bounds else ""),
        describe="The ratios and intervals of the table above, drawn to scale.",
        steps=tuple(step.step for step in shown),
        points=points,
    )


# --- Sentences -------------------------------------------------------------------------------


def headline(comparison: Comparison) -> list[Finding]:
    """What the report says first: how sure one can be, each arm against the base, what failed."""
    found = [*_sureness(comparison)]
    if comparison.blocks > 0:
        found += [_against_base(comparison, arm) for arm in comparison.arms[1:]]
    found += _missed_targets(comparison)
    found += _failures(comparison)
    return found


def _sureness(comparison: Comparison) -> list[Finding]:
    if comparison.blocks == 0:
        return [Finding(text="No block is complete: there is nothing to compare yet.")]
    if comparison.blocks == 1:
        return [
            Finding(
                text="One block decides nothing: what differs below may be chance, "
                "and it takes more blocks to tell by how much numbers vary by themselves."
            )
        ]
    return []


def _against_base(comparison: Comparison, arm: str) -> Finding:
    """An arm against the base: the steps in which it did more, less, or as much as can be told."""
    verdicts = ("More", "Less", UNDECIDED, LIMITED, MEASURED)
    sorted_steps: dict[str, list[str]] = {verdict: [] for verdict in verdicts}
    for step in comparison.steps:
        result = next((cell for cell in step.cells if cell.arm == arm), None)
        if step.headline is None or result is None or result.ratio is None:
            continue
        mark = MISSED if any(missed_target(cell) for cell in step.cells) else ""
        name = step_name(comparison, step)
        verdict = _verdict(result.ratio, result.ratio_bound)
        change = _change_words(result.ratio, result.ratio_bound)
        sorted_steps[verdict].append(f"{name}{mark} {change}")
    items = [f"{name}: {', '.join(steps)}" for name, steps in sorted_steps.items() if steps]
    how = (
        f"mean change of throughput over {comparison.blocks} blocks, with its 95 % t interval"
        if comparison.blocks > 1
        else "change of throughput"
    )
    return Finding(text=f"{arm} against {comparison.base}, {how}.", items=tuple(items))


def step_name(comparison: Comparison, step: StepComparison) -> str:
    """A step's name, with its workload's where there are several."""
    several = len({one.workload for one in comparison.steps}) > 1
    return f"{step.workload} {step.step}" if several else step.step


def _verdict(ratio: Ratio, of: Bound) -> str:
    """What an interval decides; one that is a bound decides only in the bound's own direction."""
    if ratio.low is None or ratio.high is None:
        return MEASURED
    if ratio.low > 1 and of in ("exact", "at least"):
        return "More"
    if ratio.high < 1 and of in ("exact", "at most"):
        return "Less"
    return UNDECIDED if of == "exact" else LIMITED


def _change_words(ratio: Ratio, of: Bound) -> str:
    text = bound.signed(number.change(ratio.value), of)
    if of == "unknown":
        return f"{text} ({bound.BOTH})"
    if ratio.low is None or ratio.high is None:
        return text
    return f"{text} ({number.change(ratio.low)[:-2]} to {number.change(ratio.high)[:-2]})"


def _missed_targets(comparison: Comparison) -> list[Finding]:
    items = [
        f"{result.arm} held {number.number(_target(step))} rows/s in {result.sla_met or 0} of "
        f"{judged(result)} blocks in {step_name(comparison, step)}{MISSED}"
        for step in comparison.steps
        for result in step.cells
        if missed_target(result)
    ]
    text = f"{MISSED} The background insert rate was missed; throughput beside it does not compare."
    return [Finding(text=text, items=tuple(items))] if items else []


def _failures(comparison: Comparison) -> list[Finding]:
    items = [
        f"{result.arm}, {step_name(comparison, step)}, {failure(result)}"
        for step in comparison.steps
        for result in step.cells
        if any(run.status == "failed" for run in result.runs)
    ]
    return [Finding(text="Steps that failed:", items=tuple(items))] if items else []
