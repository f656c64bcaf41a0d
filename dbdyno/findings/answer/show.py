"""The first screen of a report: each challenger's answer in a sentence, and a picture of all steps.

Where a step changed, its reason stands beside it; where it is open, what is excluded.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.findings.application import own_query as own_query
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.model import Cell, Comparison, Ratio, StepComparison, configuration, engine, metric
from dbdyno.model.grouping import grouped
from dbdyno.model.metric.primary import UNDISTURBED, called, is_cpu
from dbdyno.model.step import StepName
from dbdyno.model.verdict import CHANGED, TOO_FEW, Judgement, Verdict, is_wide
from dbdyno.model.work import WorkComparison
from dbdyno.parts import cells, colors, known, nodes, number, reasons, step_groups, tolerate
from dbdyno.parts.drawing import ArmEffect, Effects
from dbdyno.parts.part import AnyPart, Chart, Finding, Group, Section, Text

SHOWN_MAX = 3
"""So many challengers have their picture unfolded."""
OPEN_REACH_MAX = 2.0
"""The interval of an open step widens the axis up to this ratio, and is cut off beyond."""
REACH_MIN = 1.05


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """The answer to --tolerate, then each challenger's sentence with its picture.

    Queries of an application have their own first screen, and their picture further below.
    """
    if safe := tolerate.line(comparison):
        yield _said("tolerance", f"{safe[0].upper()}{safe[1:]}")
    if nothing_compared(comparison):
        yield _said("answer-none", "Nothing was compared: no step of any arm is judged.", "Answer")
    for place, arm in enumerate(comparison.arms[1:] if comparison.blocks else ()):
        changes = effects(comparison, arm)
        if not changes.effects:
            continue
        own = all(
            step.step in own_query.names(comparison, step.workload)
            for step, _ in cells_of(comparison, arm)
        )
        saying = sentence(comparison, arm)
        picture = Chart(
            name=f"changes-{place}",
            title=f"{arm} against {comparison.base}",
            describe="; ".join(f"{one.step}: {one.word} {one.figures}" for one in changes.effects),
            data=changes,
            depth="report" if own else "answer",
        )
        if own:
            yield Group(
                name=f"{picture.name}-all",
                title=f"Each query's change on {arm}",
                parts=(picture,),
                entry="",
            )
            continue
        text = _said(f"answer-{place}", saying, "" if place else "Answer")
        if place < SHOWN_MAX:
            yield text
            yield picture
        else:
            yield Group(name="", title="", parts=(picture,), depth="answer", entry="", click=saying)


def _said(name: str, words: str, entry: str = "") -> Text:
    return Text(
        name=name,
        title="",
        items=(Finding(text=words),),
        depth="answer",
        form="sayings",
        look="answer",
        entry=entry,
    )


def nothing_compared(comparison: Comparison) -> bool:
    """Whether no time of complete blocks stands side by side, nor anything else."""
    others = comparison.applications or comparison.of(WorkComparison).repeats
    return bool(
        comparison.blocks
        and comparison.arms[1:]
        and not others
        and not any(effects(comparison, arm).effects for arm in comparison.arms[1:])
    )


def sentence(comparison: Comparison, arm: str) -> str:
    """pg18 against pg17: 1 faster, 1 slower, 2 open in 6 blocks, with the server's own defaults.

    Where sessions lie beside their clients it says so: shares are then of a cheaper operation.
    """
    words = counted(cells_of(comparison, arm))
    configs = {
        planned.name: configuration.OF_SOURCE if planned.inherits else planned.config
        for planned in comparison.plan.arms
        if planned.name in (comparison.base, arm)
        and planned.dsn is None
        and "made" in engine.recorded(planned.engine).can
    }
    ending = f", with {configuration.described(configs)}" if configs else ""
    together = comparison.plan.schedule.placement == "together"
    placed = ", clients beside their sessions" if together else ""
    blocks = number.blocks(comparison.blocks)
    on = known.on_one_fill(comparison)
    return f"{arm} against {comparison.base}: {words} in {blocks}{on}{ending}{placed}"


def effects(comparison: Comparison, arm: str) -> Effects:
    """An arm's changes in the order of the steps, which is the same for all arms."""
    ranks = ranked(comparison)
    effects = [
        replace(effect, rank=ranks[step.workload, step.step])
        for step in comparison.steps
        for cell in step.cells[1:]
        if cell.arm == arm and step_groups.measured(step)
        for effect in _effects(comparison, step, cell)
    ]
    common, own = reasons.once([effect.reason for effect in effects])
    shown = tuple(
        replace(effect, reason=reason) for effect, reason in zip(effects, own, strict=True)
    )
    judgements = (
        judgement
        for _, cell in cells_of(comparison, arm)
        if cell.verdict is not None
        for judgement in known.undecided(cell.verdict)
    )
    return Effects(
        arm=arm,
        margin=comparison.aims.margin,
        reach=_reach(shown, comparison),
        effects=shown,
        price=known.to_check(judgements),
        common=common,
    )


def ranked(comparison: Comparison) -> dict[StepName, int]:
    """By step its place where what is decided for any arm comes first, and the largest of each."""
    weights = {
        (step.workload, step.step): min(
            ((verdicts.place(cell.verdict), -size(cell)) for cell in step.cells[1:]),
            default=(verdicts.place(None), 0.0),
        )
        for step in comparison.steps
    }
    return {step: rank for rank, step in enumerate(sorted(weights, key=lambda step: weights[step]))}


def _effects(comparison: Comparison, step: StepComparison, cell: Cell) -> Iterable[ArmEffect]:
    """The change of an arm in a step; one that has a ratio and no verdict is not judged."""
    if cell.verdict is not None:
        yield _effect(comparison, step, cell)
    elif cell.ratio:
        of: number.Of = "time" if metric.less_is_better(step.headline or "") else "rate"
        change = number.changes(cell.ratio.value, cell.ratio.low, cell.ratio.high, of)
        yield ArmEffect(
            step=comparison.name_of(step) + verdicts.mark(step, cell),
            word=verdicts.NOT_JUDGED,
            tone="",
            figures=number.named(
                called(step.headline or ""),
                cell.ratio.value,
                cells.signed(change, cell.ratio_bound),
            ),
            also="",
            speed=cell.ratio,
            reason="" if cell.explanation is None else cell.explanation.text,
        )


def _effect(comparison: Comparison, step: StepComparison, cell: Cell) -> ArmEffect:
    verdict = cell.verdict
    assert verdict is not None
    sure = colors.trusted(comparison.calibration, comparison.aims)
    shown = _shown(verdict)
    return ArmEffect(
        step=comparison.name_of(step) + verdicts.mark(step, cell),
        word=verdict.word if sure or verdict.word not in CHANGED else f"perhaps {verdict.word}",
        tone=colors.tone(verdict, sure),
        figures=verdicts.figures(shown[0], cell.ratio_bound) if shown else verdict.outcome,
        also=_also(cell, verdict, shown[1:]),
        speed=_speed(shown[0]) if shown and shown[0].blocks else None,
        reason=_reason(
            cell, verdict, counted=verdict.witness if comparison.of(WorkComparison).repeats else ""
        ),
    )


def _shown(verdict: Verdict) -> Sequence[Judgement]:
    """The metrics by which the word is said; of an open step that with undisturbed time the sharper
    one.
    """
    names = (*verdict.by, *verdict.against)
    deciding = [judgement for judgement in verdict.judgements if judgement.metric in names]
    if verdict.word == "open" and UNDISTURBED in names:
        return [min(deciding, key=known.width)]
    return deciding or verdict.judgements[:1]


def _also(cell: Cell, verdict: Verdict, others: Sequence[Judgement]) -> str:
    """The other metrics by which the word is said, or what an open step excludes."""
    bound = known.bound(verdict, cell.ratio_bound)
    if bound == TOO_FEW:  # it stands in place of the interval
        return ""
    if verdict.word == "open":
        return f"; {bound}" if bound else ""
    figures = (f" and {verdicts.figures(other, cell.ratio_bound)}" for other in others)
    return "".join((*figures, beside(verdict)))


def beside(verdict: Verdict) -> str:
    """The word of throughput where undisturbed time decides, and of that where throughput does.

    Where both are decided and one sees no change, that is a finding: of what only some operations
    have.
    """
    if not any(judgement.metric == UNDISTURBED for judgement in verdict.judgements):
        return ""
    words = (
        f"; {called(judgement.metric)} {'the ' if judgement.word == 'same' else ''}{judgement.word}"
        for judgement in verdict.judgements
        if judgement.metric not in (*verdict.by, *verdict.against)
    )
    return "".join(words) if verdict.by else ""


def _speed(judgement: Judgement) -> Ratio:
    """The change with its interval; of what less is better of, the inverse."""
    value, low, high = judgement.told
    if low is None or high is None or is_wide(low, high):
        low = high = None
    if is_cpu(judgement.metric) or metric.less_is_better(judgement.metric):
        value, low, high = 1 / value, high and 1 / high, low and 1 / low
    return Ratio(value=value, low=low, high=high, blocks=judgement.blocks)


def _reason(cell: Cell, verdict: Verdict, counted: str) -> str:
    """Why it changed, failed or is open, what was counted, and what its nodes disagree about."""
    words = verdicts.reason(verdict)
    if verdict.withheld:
        words = verdict.outcome
    elif cell.explanation is not None:
        words = cell.explanation.why
    return "; ".join(filter(None, (words, counted, verdict.stood_still, nodes.caution(cell))))


def _reach(shown: Sequence[ArmEffect], comparison: Comparison) -> float:
    """The ratio at the axis's end: all points, what is decided whole, and twice the margin."""
    far = max(REACH_MIN, (1 + comparison.aims.margin) ** 2)
    for effect in shown:
        if effect.speed is None:
            continue
        ends = (end for end in (effect.speed.low, effect.speed.high) if end)
        size = max((max(end, 1 / end) for end in ends), default=1.0)
        far = max(far, size if effect.tone else min(size, OPEN_REACH_MAX))
        far = max(far, effect.speed.value, 1 / effect.speed.value)
    return math.exp(math.log(far) * 1.05)


def cells_of(comparison: Comparison, arm: str) -> list[tuple[StepComparison, Cell]]:
    """The steps in which an arm is judged."""
    return [
        (step, cell)
        for step in comparison.steps
        for cell in step.cells[1:]
        if cell.arm == arm and cell.verdict is not None and step_groups.measured(step)
    ]


def counted(its: Sequence[tuple[StepComparison, Cell]]) -> str:
    """2 faster (1 within ±3 %), 1 same, 1 open."""
    judged = sorted((cell.verdict for _, cell in its if cell.verdict), key=verdicts.place)
    by_word = grouped(
        (verdicts.said(each, True) if each.against else each.word, each) for each in judged
    )
    counts = (f"{len(alike)} {word}{_shade(alike)}" for word, alike in by_word.items())
    return ", ".join(counts) or "no step is judged"


def _shade(alike: Sequence[Verdict]) -> str:
    """How many verdicts of one word are within the margin."""
    within = [verdict for verdict in alike if verdict.within_margin]
    if not within:
        return ""
    margin = f"within ±{number.percent(within[0].judgements[0].margin)}"
    return f" {margin}" if len(within) == len(alike) else f" ({len(within)} {margin})"


def size(cell: Cell) -> float:
    """The size of the change behind a cell's word, as a ratio of 1 or more."""
    verdict = cell.verdict
    judgements = () if verdict is None else verdict.judgements
    ratios = [
        judgement.told[0]
        for judgement in judgements
        if verdict is None or judgement.metric in verdict.by
    ]
    return max((max(ratio, 1 / ratio) for ratio in ratios if ratio > 0), default=1.0)


SECTION = Section("page", lambda subject: parts(subject.comparison))
