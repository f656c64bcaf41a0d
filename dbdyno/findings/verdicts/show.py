"""Verdicts in words and in a table: a row for each step, whatever its group.

Colour is given to what is decided, and to nothing else. Where the base's comparison with itself
raised more false alarms than were aimed at, a change is said with “perhaps”, and has no colour.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.model import Bound, Cell, Comparison, PairedEstimate, StepComparison, metric
from dbdyno.model.grouping import grouped
from dbdyno.model.metric.primary import UNDISTURBED, called, is_cpu, is_second, second_of
from dbdyno.model.ratio import OPPOSITE
from dbdyno.model.service_profile import ServiceProfiles
from dbdyno.model.verdict import CHANGED, TOO_FEW, Judgement, Verdict, shaded
from dbdyno.parts import cells, known, nodes, number, step_groups, undisturbed
from dbdyno.parts.colors import ARROWS, tone, trusted
from dbdyno.parts.part import Section
from dbdyno.parts.table import Column, Row, Table, TableCell

NOT_JUDGED = "not judged"
"""Said of a step that has a ratio and no verdict, as where an estimate is all that was wanted."""
BEFORE_WRITES = "before the writes"
"""The group of steps that run before the writes to be compared with their twins after them."""

ORDER = (
    "failed",
    "slower",
    "faster",
    "slower, within the margin",
    "faster, within the margin",
    "same",
    "open",
)
"""Verdicts with their shades in the order in which they are told: who failed comes first."""

# --- Words -----------------------------------------------------------------------------------


def said(of: Judgement | Verdict, sure: bool) -> str:
    """A verdict as it is said: slower; perhaps slower, within ±3 %; slower by CPU, faster by time.

    A change with “perhaps” where false alarms are too many.
    """
    words = shaded(of)
    if isinstance(of, Verdict) and of.against:
        worse, better = (" and ".join(map(called, names)) for names in (of.by, of.against))
        words = f"slower by {worse}, faster by {better}"
    elif of.within_margin:
        margin = of.margin if isinstance(of, Judgement) else of.judgements[0].margin
        words = f"{of.word}, within ±{number.percent(margin)}"
    return words if sure or of.word not in CHANGED else f"perhaps {words}"


def place(verdict: Verdict | None) -> int:
    """The place of a verdict in the order in which they are told; the last where none was taken."""
    return len(ORDER) if verdict is None else ORDER.index(shaded(verdict))


def by_word(judged: Iterable[Verdict], sure: bool) -> dict[str, list[Verdict]]:
    """The verdicts by what is said of them, in the order in which that is told."""
    return grouped((said(verdict, sure), verdict) for verdict in sorted(judged, key=place))


def change(judgement: Judgement, of: Bound = "exact") -> str:
    """A change with its interval: −7.5 % [−7.9, −7.1]; `of`: what the ratio is to the true one.

    They are those that stand beside its word: of the look on which that rests, else of all blocks.
    """
    if not judgement.blocks:
        return "without a ratio"
    if judgement.metric == UNDISTURBED:
        return undisturbed.change(judgement)
    if is_second(judgement.metric):
        return number.changes(*judgement.told)
    timed = metric.less_is_better(judgement.metric)
    words = number.changes(*judgement.told, "time" if timed else "rate")
    if not timed and number.is_factor(ratio := judgement.told[0]) and ratio < 1:
        of = OPPOSITE.get(of, of)  # the time of an operation stands for its rate
    return f"{cells.signed(words, of)}{f' ({cells.BOTH})' if of == 'unknown' else ''}"


def figures(judgement: Judgement, of: Bound) -> str:
    """A change with the name of its metric: CPU +3.1 %; throughput −7.5 % [−7.9, −7.1]."""
    return number.named(called(judgement.metric), judgement.told[0], change(judgement, of))


def still(judgement: Judgement, base: str) -> str:
    """In how many blocks who stood still: stood still in 2 of 6 blocks; nothing where none did."""
    count = number.blocks(judgement.blocks_all)
    both = ((judgement.stood_still, ""), (judgement.base_stood_still, f"{base} "))
    return "; ".join(f"{who}stood still in {blocks} of {count}" for blocks, who in both if blocks)


def details(judgement: Judgement) -> str:
    """All figures behind a judgement, in a sentence."""
    found = {
        "p": judgement.p,
        "q": judgement.q,
        "sign-flip p": judgement.p_sign,
        "sign test p over all blocks": judgement.p_still,
    }
    tests = ", ".join(
        f"{name} {number.probability(value)}" for name, value in found.items() if value is not None
    )
    ran = " in which both ran" if judgement.blocks != judgement.blocks_all else ""
    blocks = f"{number.blocks(judgement.blocks)}{ran}"
    sd = f"sd between blocks {number.measured(judgement.sd, 2)}" if judgement.sd is not None else ""
    figures = (blocks, tests, sd, _lent(judgement))
    return "; ".join(
        (
            f"{metric.title_of(judgement.metric)}: {', '.join(_told(judgement))}",
            ", ".join(text for text in figures if text),
        )
    )


def _told(judgement: Judgement) -> Iterable[str]:
    """The word, and the ratios with their intervals."""
    yield shaded(judgement)
    rests = judgement.rests_on
    if rests is not None:
        yield f"{_ratio(rests.estimate)} at the look after {number.blocks(rests.blocks)}"
    if judgement.blocks:
        yield f"{'by all blocks so far ' if rests is not None else ''}{_ratio(judgement.so_far)}"


def _ratio(of: PairedEstimate) -> str:
    """Ratio 0.930 0.910–0.951 (95 % interval)."""
    ends = number.interval(of.low, of.high, 3)
    interval = " (95 % interval)" if ends else ""
    return f"ratio {number.ratio(of.value, 3)} {ends}".rstrip() + interval


def _lent(judgement: Judgement) -> str:
    """How many degrees of freedom were lent, and the own interval where that differs much."""
    if not judgement.lent:
        return ""
    own = (
        f" (by its own blocks alone {number.interval(judgement.own_low, judgement.own_high, 3)})"
        if known.own_interval_differs(judgement)
        else ""
    )
    return f"{number.number(judgement.lent, 1)} degrees of freedom lent by other steps{own}"


def primary(verdict: Verdict, second: bool) -> Judgement | None:
    """The judgement of the headline, or of what judges beside it."""
    judgements = verdict.judgements
    return next((each for each in judgements if is_second(each.metric) == second), None)


# --- Steps -----------------------------------------------------------------------------------


def by_group(steps: Sequence[StepComparison]) -> dict[str, list[StepComparison]]:
    """The steps that are told, by group; those of none first, those before the writes last."""
    found = {"": [step for step in steps if step_groups.alone(step)]}
    found |= step_groups.ordered(steps)
    before = [step for step in steps if step_groups.before_writes(step)]
    return {title: some for title, some in (found | {BEFORE_WRITES: before}).items() if some}


def mark(step: StepComparison, result: Cell) -> str:
    """† where a target was missed, ‡ where a block failed, ‖ where one of the two stood still.

    § where statements found nothing.
    """
    both = (step.cells[0], result)
    if any(cells.missed_target(cell) for cell in step.cells):
        return cells.MISSED
    if any(map(cells.failure, both)):
        return cells.INCOMPLETE
    if any(map(cells.stood_still, both)):
        return cells.STOOD_STILL
    return cells.UNFOUND if any(map(cells.unfound, both)) else ""


# --- The table -------------------------------------------------------------------------------


def tables(
    comparison: Comparison, steps: Sequence[StepComparison], prefix: str
) -> tuple[Table, ...]:
    """The verdicts of a workload, a table for each arm beside the base that has any."""
    sure = trusted(comparison.calibration, comparison.aims)
    made = (
        _table(comparison, steps, arm, f"{prefix}-verdicts-{place}", sure)
        for place, arm in enumerate(comparison.arms[1:], start=1)
    )
    return tuple(table for table in made if table is not None)


def headlines(steps: Iterable[StepComparison]) -> str:
    """The kind of these steps' headlines: throughput, time, or either."""
    found = {called(step.headline) for step in steps if step.headline}
    return " or ".join(sorted(found)) or called("")


def _table(
    comparison: Comparison, steps: Sequence[StepComparison], arm: str, name: str, sure: bool
) -> Table | None:
    verdicts = (cell.verdict for step in steps for cell in step.cells if cell.arm == arm)
    judgements = [each for verdict in verdicts if verdict for each in verdict.judgements]
    aims = comparison.aims
    beside = undisturbed.head(judgements)
    rows = tuple(
        Row(
            cells=(
                TableCell(text=step.step, mark=mark(step, result)),
                *_cells(result, sure, beside),
            ),
            group=title,
        )
        for title, some in by_group(steps).items()
        for step in some
        for result in step.cells
        if result.arm == arm and result.verdict is not None
    )
    if not rows:
        return None
    margin = number.percent(aims.margin)
    wanted = f"with a power of {number.percent(aims.power)}"
    second = second_of(result for step in steps for result in step.cells)
    return Table(
        name=name,
        title=f"Verdicts: {arm} against {comparison.base}",
        arm=arm,
        columns=(
            Column(text="step", left=True),
            Column(text="verdict", left=True),
            Column(text=f"{headlines(steps)}, %", title="mean change, and its t interval"),
            Column(
                text=beside if second == UNDISTURBED else f"{beside}, %",
                title=f"{metric.title_of(second)}: mean change, and its t interval",
            ),
            Column(text="loss below, %", title="of an open step: what both intervals leave"),
            Column(text=f"to check {margin}", left=True, title=f"further time {wanted}"),
        ),
        rows=rows,
        note=cells.sentences(
            _note(comparison, judgements, sure),
            _left_out(steps),
            _coarse(steps),
            cells.legend(rows, _MARKS),
        ),
        colors=_COLORS if sure else "",
        arrows=f"{ARROWS['faster']}: faster; {ARROWS['slower']}: slower." if sure else "",
    )


_MARKS = {
    cells.MISSED: "an arm missed the background insert rate",
    cells.UNFOUND: "too few statements found a row: throughput misleads",
    **cells.INCOMPLETE_MARK,
}
_COLORS = "Red ▼: slower; green ▲: faster; gray: no change that matters; no colour: not decided."


def _note(comparison: Comparison, judgements: Sequence[Judgement], sure: bool) -> str:
    """Explains the columns."""
    aims = comparison.aims
    if comparison.blocks <= 1:
        return "One block decides nothing."
    rest = any(judgement.rests_on is not None for judgement in judgements)
    at_looks = " (a decided word: median-unbiased, by the order of the looks)" if rest else ""
    despite = "; an interval may therefore exclude 0 beside “open”"
    return cells.sentences(
        f"Means over {comparison.blocks} blocks with 95 % t intervals{at_looks}.",
        *_seconds(judgements),
        f"Margin ±{number.percent(aims.margin)}; false alarms at most {number.percent(aims.level)} "
        f"per arm by Benjamini-Hochberg over all steps and looks"
        f"{despite if any(map(known.despite, judgements)) else ''}.",
        known.legend(judgements),
        "×: times the base's."
        if any(each.blocks and number.is_factor(each.told[0]) for each in judgements)
        else "",
        "" if sure else "“Perhaps”: the base differed from itself too often.",
    )


def _seconds(judgements: Sequence[Judgement]) -> Iterable[str]:
    """What stands beside throughput."""
    if any(judgement.metric == UNDISTURBED for judgement in judgements):
        yield (
            "Undisturbed time: what an operation takes that no neighbour delays (docs/method.md); "
            "throughput alone sees what only some operations have"
        )
    if any(is_cpu(judgement.metric) for judgement in judgements):
        yield "CPU: the server's per operation, more is slower"


def _left_out(steps: Sequence[StepComparison]) -> str:
    """Why steps have no undisturbed time."""
    reasons = grouped((step.left_out, step.step) for step in steps if step.left_out)
    words = (f"{number.few(names)}: {reason}" for reason, names in reasons.items())
    return f"No undisturbed time of {'; of '.join(words)}" if reasons else ""


def _coarse(steps: Sequence[StepComparison]) -> str:
    """How coarsely undisturbed time is known, where a recorder tells no more."""
    widths = (
        profile.cell_us
        for step in steps
        if step.modes
        for facts in step.each(ServiceProfiles)
        for profile in facts.profiles
    )
    coarse = any(width >= 1 for width in widths)
    return "Service times were recorded in whole microseconds" if coarse else ""


def _cells(result: Cell, sure: bool, column: str) -> Iterable[TableCell]:
    """The verdict of a step, its changes, and what it would take; `column`: the second one's."""
    verdict = result.verdict
    assert verdict is not None
    yield _verdict_cell(result, verdict, sure)
    for second in (False, True):
        yield _change_cell(result, primary(verdict, second), verdict, column)
    still = known.undecided(verdict)
    yield TableCell(text=known.loss(known.telling(still), result.ratio_bound).removesuffix(" %"))
    yield TableCell(text=known.price(still))


def reason(verdict: Verdict) -> str:
    """Why a word is open or failed; where nothing could be compared, what became of the blocks."""
    if verdict.reason == "nothing to compare" and verdict.outcome:
        return f"{verdict.reason}: {verdict.outcome}"
    return verdict.reason


def _verdict_cell(result: Cell, verdict: Verdict, sure: bool) -> TableCell:
    by = " and ".join(called(name) for name in verdict.by)
    figures = ". ".join(details(judgement) for judgement in verdict.judgements)
    texts = (verdict.outcome, f"by {by}" if by else "", figures, cells.failure(result))
    sides = map(known.every_block, known.undecided(verdict))
    beside = (reason(verdict), *sides, verdict.stood_still)
    return TableCell(
        text=said(verdict, sure),
        detail="; ".join(filter(None, (*beside, nodes.caution(result)))),
        tone=tone(verdict, sure),
        title=". ".join(text for text in texts if text),
    )


def _change_cell(
    result: Cell, judgement: Judgement | None, verdict: Verdict, column: str
) -> TableCell:
    """A change; by which the verdict is said stands out."""
    if judgement is None:
        return TableCell(text=number.MISSING)
    if not judgement.blocks:
        return TableCell(text=number.MISSING, title=details(judgement))
    of: Bound = "exact" if is_second(judgement.metric) else result.ratio_bound
    brief = number.brief(judgement.told[0])
    text, interval = cells.signed(brief.removesuffix(" %"), of), _interval(judgement)
    if judgement.metric == UNDISTURBED:
        text, interval = undisturbed.added(judgement) or brief, f"{brief} {interval}".rstrip()
    if is_second(judgement.metric):
        text = undisturbed.labelled(text, judgement, column)
    return TableCell(
        text=text,
        detail=cells.BOTH if of == "unknown" else interval,
        tone="notice" if judgement.word in CHANGED and verdict.word in CHANGED else "",
        title=details(judgement)
        if of == "exact"
        else ". ".join(text for text in (details(judgement), cells.limits(result)) if text),
    )


def _interval(judgement: Judgement) -> str:
    value, low, high = judgement.told
    ends = number.change_interval(low, high)
    if ends != TOO_FEW and low and high and number.is_factor(value):
        ends = ", ".join(map(number.factor, (low, high)))
    return f"[{ends}]{known.lent_mark(judgement.lent)}" if ends else ""


SECTION = Section(
    "workload",
    lambda subject: (
        replace(table, depth="brief", look="inline verdicts", entry="" if place else "verdicts")
        for place, table in enumerate(tables(subject.comparison, subject.steps, subject.anchor))
    ),
)
