"""Cells and figures that several sections use: throughputs, ratios, bounds, marks, means."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from dbdyno.model import Bound, Cell, PairedEstimate, Ratio, StepComparison, TargetFacts, metric
from dbdyno.model.comparison import FOUND_MIN
from dbdyno.model.metric.over import Over, taken
from dbdyno.model.ratio import OPPOSITE
from dbdyno.parts import number
from dbdyno.parts.colors import Tone
from dbdyno.parts.table import Row, TableCell

MISSED = "†"
INCOMPLETE = "‡"
STOOD_STILL = "‖"
UNFOUND = "§"

STOOD_STILL_MARK = {
    STOOD_STILL: "stood still in a block: the mean throughput is then 0, and a ratio uses the "
    "blocks in which both ran"
}

INCOMPLETE_MARK = {
    INCOMPLETE: "without the blocks in which the step failed; a ratio: not of the blocks of its "
    "columns, or of a look, as its hover says",
    **STOOD_STILL_MARK,
}


def rows(
    step: StepComparison,
    groups: Mapping[str, str],
    cells: Callable[[Cell, str], Iterable[TableCell]],
) -> tuple[Row, ...]:
    """A group for each key of `groups`, named as its value; in it what `cells` has of each arm."""
    return tuple(
        Row.of(result.arm, *cells(result, key), group=name, arm=result.arm)
        for key, name in groups.items()
        for result in step.cells
    )


def sentences(*texts: str) -> str:
    """The sentences in one line, without empty ones."""
    return " ".join(text for text in texts if text)


def legend(rows: Sequence[Row], meanings: Mapping[str, str]) -> str:
    """The meanings of the marks in these rows."""
    there = {cell.mark for row in rows for cell in row.cells}
    return " ".join(f"{mark}: {text}." for mark, text in meanings.items() if mark in there)


# --- A figure over the blocks ---------------------------------------------------------------------

MEANS = "Means of the blocks"
RANGES = ", and from the smallest to the largest"


def over_blocks(
    values: Iterable[float | None],
    words: Callable[[float | None], str] = number.number,
    tone: Tone = "",
    over: Over = "sum",
) -> TableCell:
    """The figure of the values that are known; with several that differ, their range beside it."""
    known = [value for value in values if value is not None]
    if not known:
        return TableCell(text=number.MISSING)
    low, high = words(min(known)), words(max(known))
    return TableCell(
        text=words(taken(known, over)),
        detail="" if low == high else reach(low, high),
        tone=tone,
        title=f"by block: {', '.join(words(value) for value in known)}" if low != high else "",
    )


def reach(low: str, high: str) -> str:
    """From one figure to another; a unit that both have stands once."""
    number_low, _, unit_low = low.partition(" ")
    _, _, unit_high = high.partition(" ")
    return f"{number_low if unit_low == unit_high else low}{number.EN_DASH}{high}"


def blocks_note(count: int) -> str:
    """The meaning of a table's figures, in a sentence; nothing for one block."""
    return "" if count <= 1 else f"{MEANS}{RANGES}."


# --- Numbers that the load generator limited: `≥ 12,345`, and what a ratio of such still tells ----

SIGNS: Mapping[Bound, str] = {"at least": "≥", "at most": "≤"}

BOTH = "limited on both"
"""The mark beside a ratio of two limited numbers, which may be off in either direction."""

_NOTES: Mapping[Bound, str] = {
    "at least": "≥: the load generator was at its limit, or its histogram ends there, or calls of "
    "the base were too slow to count; the true number is at least this.",
    "at most": "≤: the load generator was at its limit with the base (for a time: with the arm), "
    "or calls were too slow to count; the true number is at most this.",
    "unknown": f"“{BOTH}”: the load generator was at its limit with both arms; the ratio is "
    f"unknown.",
}


def signed(text: str, bound: Bound) -> str:
    """A number with the sign that says what it is to the true one."""
    return f"{SIGNS[bound]} {text}" if bound in SIGNS else text


def bound_note(bounds: Iterable[Bound]) -> str:
    """The meanings of these signs and words."""
    there = set(bounds)
    return " ".join(text for bound, text in _NOTES.items() if bound in there)


def value_bound(step: StepComparison, result: Cell, name: str) -> Bound:
    """The bound of a metric of an arm."""
    if name == step.headline:
        return result.value_bound
    return result.time_bound if name in metric.RESPONSES else "exact"


def limits(result: Cell) -> str:
    """The generator's limits by block, in words; empty if nothing limited it."""
    words = [
        f"block {run.block}: {', '.join(run.window.limited)}"
        for run in result.runs
        if run.window.limited
    ]
    return f"load generator at its limit: {'; '.join(words)}" if words else ""


def justified(tone: Tone, bound: Bound, *, less: bool = False) -> Tone:
    """A colour where it also holds for the true number; none where that may lie elsewhere.

    `less`: less of it is better.
    """
    if less:
        bound = OPPOSITE.get(bound, bound)
    wrong: Mapping[Bound, tuple[Tone, ...]] = {
        "at least": ("red", "yellow", "slower", "alike"),
        "at most": ("green", "blue", "faster", "alike"),
        "unknown": ("red", "yellow", "green", "blue", "slower", "faster", "alike"),
    }
    return "" if tone in wrong.get(bound, ()) else tone


def divided(base: str, blocks: int) -> str:
    """Explains a ratio and its interval, in a sentence."""
    beside = f", with the 95 % t interval of the mean ratio of {blocks} blocks"
    return f"Throughput divided by that of {base}{beside if blocks > 1 else ''}."


def is_time(step: StepComparison) -> bool:
    """Whether the step's result is a time, of which less is better."""
    return metric.less_is_better(step.headline)


def times_note(steps: Iterable[StepComparison]) -> str:
    """A sentence on colours where some of the steps have times; nothing where none has."""
    return "Of seconds less is faster, and colours follow that." if any(map(is_time, steps)) else ""


# --- What went wrong ------------------------------------------------------------------------------


def judged(result: Cell) -> int:
    """In how many runs the step was done well."""
    return sum(run.ending.status == "ok" for run in result.runs)


def missed_target(result: Cell) -> bool:
    """Whether the step has a target rate which a run of it did not hold."""
    return any(run.of(TargetFacts).met is False for run in result.runs)


def target(step: StepComparison) -> float | None:
    """The step's target rate, from any run that knows it."""
    targets = (run.facts.sla_target for run in step.runs)
    return next((target for target in targets if target is not None), None)


def unfound(result: Cell) -> bool:
    """Whether its statements find a row so seldom that a throughput of them misleads."""
    share = result.metrics.get("found_share")
    return share is not None and share < 100 * FOUND_MIN


def stood_still(result: Cell) -> bool:
    """Whether a throughput of 0 was measured in a block."""
    return any(
        run.facts.headline is not None and run.metrics.get(run.facts.headline) == 0
        for run in result.runs
    )


def _mark(result: Cell) -> str:
    """† where a target was missed, ‡ where a block failed, ‖ where it stood still."""
    if missed_target(result):
        return MISSED
    return INCOMPLETE if failure(result) else STOOD_STILL if stood_still(result) else ""


def failure(result: Cell) -> str:
    """The failures by block, in words; empty if there are none."""
    words = [
        f"block {run.block} {run.ending.status}: {run.ending.reason or 'no reason recorded'}"
        for run in result.runs
        if run.ending.status != "ok"
    ]
    return "; ".join(words)


def words_for_nothing(result: Cell) -> str:
    """The words in place of a missing number."""
    if not result.runs:
        return "not run"
    states = {run.ending.status for run in result.runs}
    if "failed" in states:
        return "failed"
    return "skipped" if "skipped" in states else number.MISSING


# --- Throughputs ----------------------------------------------------------------------------------


def absolute_cell(result: Cell, tone: Tone) -> TableCell:
    """An arm's throughput in a step, or in words why there is none."""
    trouble = failure(result)
    if result.value is None:
        return TableCell(text=words_for_nothing(result), tone="failed", title=trouble)
    held = result.sla_met
    titles = [
        "" if held is None else f"background insert rate held in {held} of {judged(result)}",
        trouble,
        limits(result),
    ]
    return TableCell(
        text=signed(number.number(result.value), result.value_bound),
        mark=_mark(result),
        tone=justified(
            tone,
            result.value_bound,
            less=any(metric.less_is_better(run.facts.headline) for run in result.runs),
        ),
        title=". ".join(text for text in titles if text),
    )


# --- Ratios ---------------------------------------------------------------------------------------


def relative_cell(
    step: StepComparison, result: Cell, tone: Callable[[Cell, float], Tone]
) -> TableCell:
    """An arm's throughput by the base's, which comes first, or in words why there is none."""
    base = step.cells[0]
    if result.arm == base.arm and result.value is not None:
        return TableCell(text="1.00", mark=MISSED if missed_target(result) else "")
    either = (
        MISSED
        if missed_target(result) or missed_target(base)
        else STOOD_STILL
        if stood_still(result) or stood_still(base)
        else ""
    )
    ratio = result.ratio
    if result.value is None or ratio is None:
        text = words_for_nothing(result) if result.value is None else number.MISSING
        still = either if either == STOOD_STILL else ""
        return TableCell(text=text, mark=still, tone="failed", title=failure(result))
    less = is_time(step)
    speed = 1 / ratio.value if less and ratio.value else ratio.value
    chosen = justified(tone(result, speed), result.ratio_bound, less=less)
    return TableCell(
        text=signed(number.ratio(ratio.value), result.ratio_bound),
        mark=either or (INCOMPLETE if ratio.apart else ""),
        detail=ratio_detail(result),
        tone="" if either == STOOD_STILL else chosen,
        title=ratio_words(ratio),
    )


def quotient_cell(ratio: Ratio, first: Cell, second: Cell) -> TableCell:
    """The throughput of one step by that of another of the same arm, as far as it can be told."""
    of: Bound = "at most" if second.value_bound == "exact" else "unknown"
    if first.value_bound == "exact":
        of = second.value_bound
    spread = number.interval(ratio.low, ratio.high)
    return TableCell(
        text=signed(number.ratio(ratio.value), of),
        detail=BOTH if of == "unknown" else spread,
        title=ratio_words(ratio),
    )


def paired_cell(ratio: Ratio | None) -> TableCell:
    """A ratio that is paired by block, with its interval; empty where there is none."""
    if ratio is None:
        return TableCell(text="")
    spread = number.interval(ratio.low, ratio.high)
    return TableCell(text=number.ratio(ratio.value), detail=spread, title=ratio_words(ratio))


def change_cell(value: float, low: float | None, high: float | None, title: str = "") -> TableCell:
    """A ratio as a change with its interval: +5.0 % [+4.1, +5.9]."""
    ends = number.change_interval(low, high)
    detail = f"[{ends}]" if ends else ""
    return TableCell(text=number.change(value), detail=detail, title=title)


def ratio_detail(result: Cell, digits: int = 2) -> str:
    """The text after a ratio of throughputs: its interval, or that it is unknown."""
    ratio = result.ratio
    if ratio is None:
        return ""
    return (
        BOTH if result.ratio_bound == "unknown" else number.interval(ratio.low, ratio.high, digits)
    )


def ratio_words(ratio: Ratio) -> str:
    """A ratio in a sentence, with one digit more than the tables have, and what it rests on."""
    paired = ratio if isinstance(ratio, PairedEstimate) else None
    if paired is not None and paired.kind == "difference":
        return f"difference, {number.blocks(ratio.blocks)}"
    text = f"ratio {number.ratio(ratio.value, 3)}"
    spread = number.interval(ratio.low, ratio.high, 3)
    if not spread:
        return text
    look = ", of a look" if paired is not None and paired.basis == "look" else ""
    return f"{text}, 95 % interval {spread}, {number.blocks(ratio.blocks)}{look}"


def figure(step: StepComparison, cell: Cell, name: str, digits: int | None = None) -> str:
    """A metric of an arm, with the digits that it has for every arm: at most the metric's own."""
    return number.number(cell.metrics.get(name), _digits(step, name, digits))


def _digits(step: StepComparison, name: str, digits: int | None = None) -> int:
    most = metric.by_name(name).digits if digits is None else digits
    return number.digits_alike([cell.metrics.get(name) for cell in step.cells], most)


def estimate_cell(step: StepComparison, result: Cell, name: str) -> TableCell:
    """A metric beside the base's, with the digits of a difference that the arms' figures have."""
    return beside(result.estimates.get(name), _digits(step, name))


def beside(estimate: PairedEstimate | None, digits: int) -> TableCell:
    """An arm beside the base: a ratio, or with its sign a difference of what adds up."""
    if estimate is None:
        return TableCell(text="")
    if estimate.kind == "ratio":
        text, ends = number.ratio(estimate.value), number.interval(estimate.low, estimate.high)
    else:
        text, ends = difference(estimate, digits)
    return TableCell(
        text=signed(text, estimate.bound),
        mark=INCOMPLETE if estimate.apart else "",
        detail=ends,
        title=ratio_words(estimate),
    )


def difference(estimate: PairedEstimate, digits: int) -> tuple[str, str]:
    """How much more an arm has, with its sign, and the ends of its interval."""
    ends = [number.number(end, digits) for end in (estimate.low, estimate.high) if end is not None]
    return number.difference(estimate.value, 0.0, digits), " to ".join(ends)


def capitalized(text: str) -> str:
    """The text with a capital at its beginning; str.capitalize would make MiB Mib."""
    return text[:1].upper() + text[1:]
