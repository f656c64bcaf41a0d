"""Made-up verdicts by a plain rule, for the tests of what is shown of them.

Not the lab's own procedure: no correction for many tests, and round figures where they do not
matter. What is shown has to be told apart, not to be right.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast, get_args

from dbdyno.judge.verdicts import together
from dbdyno.model import Cell, Comparison, PairedEstimate, Ratio, StepComparison, TargetFacts
from dbdyno.model.looks import Look, LookProgress, Looks
from dbdyno.model.verdict import (
    CHANGED,
    Calibration,
    Cause,
    Explanation,
    Judgement,
    LookResult,
    Noise,
    OverallRatio,
    Reason,
    Verdict,
    Word,
    shaded,
)

CPU = "cpu_per_op"
MARGIN = 0.03


def judgement(name: str, ratio: Ratio) -> Judgement:
    """A metric judged by its interval alone; less is better of CPU, more of all else."""
    better = -1 if name == CPU else 1
    if ratio.low is None or ratio.high is None:
        return _judgement(name, ratio, "open", sd=None)
    word: Word = "open"
    within = ratio.low > 1 / (1 + MARGIN) and ratio.high < 1 + MARGIN
    if ratio.low <= 1 <= ratio.high:
        word = "same" if within else "open"
    else:
        word = "faster" if (ratio.value > 1) == (better > 0) else "slower"
    reach = math.log(ratio.high / ratio.low) / 2
    judged = _judgement(name, ratio, word, sd=reach * math.sqrt(ratio.blocks) / 3)
    return replace(judged, within_margin=within and word in CHANGED)


def so_far(value: float, low: float | None, high: float | None, blocks: int = 6) -> PairedEstimate:
    """An estimate by all blocks."""
    return PairedEstimate(value=value, low=low, high=high, blocks=blocks)


def _judgement(name: str, ratio: Ratio, word: Word, *, sd: float | None) -> Judgement:
    decided = word in CHANGED
    p = None if sd is None else 0.002 if decided else 0.4
    waits = word == "open" and sd is not None
    return Judgement(
        metric=name,
        blocks=ratio.blocks,
        so_far=so_far(ratio.value, ratio.low, ratio.high, ratio.blocks),
        p=p,
        p_sign=None if p is None else 0.03,
        q=None if p is None else min(1.0, 4 * p),
        sd=sd,
        margin=MARGIN,
        word=word,
        reason="one block" if sd is None else "",
        visible=None if sd is None else 2.8 * sd / math.sqrt(ratio.blocks),
        blocks_needed=5 if waits else None,
        minutes_needed=40.0 if waits else None,
    )


def verdict(headline: str | None, cell: Cell, base: Cell) -> Verdict | None:
    """What is said of a cell; nothing of one that has no ratio."""
    if headline is None or cell.arm == base.arm or headline not in cell.estimates:
        return None
    estimates = {name: cell.estimates.get(name) for name in (headline, CPU)}
    judged = tuple(
        judgement(name, ratio)
        for name, estimate in estimates.items()
        if estimate is not None and (ratio := estimate.by(base.metrics[name] or 0.0))
    )
    if any(run.of(TargetFacts).met is False for one in (cell, base) for run in one.runs):
        outcome = f"held in {cell.sla_met or 0} of {len(cell.runs)}"
        said = Verdict(word="failed", reason="target missed", by=(), judgements=judged)
        return replace(said, outcome=outcome)
    return together(judged)


def said(of: Judgement | Verdict) -> str:
    """The reason why it is open or failed, else the word with its shade."""
    return of.reason or shaded(of)


def with_word(cell: Cell, word: Word, **how: object) -> Cell:
    """The cell with another verdict, its metrics judged alike."""
    assert cell.verdict is not None
    alike = {key: value for key, value in how.items() if key in ("within_margin", "reason")}
    judged = tuple(
        replace(one, word=word, **{"within_margin": False, "reason": "", **alike})  # type: ignore[arg-type]
        for one in cell.verdict.judgements
    )
    by = tuple(one.metric for one in judged) if word in CHANGED or word == "failed" else ()
    made = Verdict(word=word, by=by, judgements=judged)
    return replace(cell, verdict=replace(made, **how))  # type: ignore[arg-type]


def with_words(made: Comparison, words: Mapping[str, str]) -> Comparison:
    """The comparison in which the last arm has these verdicts, by step, as `said` has them."""

    def changed(step: StepComparison) -> StepComparison:
        if step.step not in words:
            return step
        word, _, shade = words[step.step].partition(", ")
        reason = word if word in get_args(Reason) else ""
        last = with_word(
            step.cells[-1],
            "open" if reason else cast(Word, word),
            within_margin=bool(shade),
            reason=reason,
        )
        return replace(step, cells=(*step.cells[:-1], last))

    return replace(made, steps=tuple(map(changed, made.steps)))


def looked_at(
    *blocks: int, first: int | None = 4, coming: int | None = 8, **how: object
) -> LookProgress:
    """Looks after these blocks, with the shares of `blocks = N`, or of "until decided" each."""
    shares = [0.5**place if first else 1 / 7 for place in range(1, len(blocks) + 2)]
    looks = [Look(blocks=at, share=of) for at, of in zip(blocks, shares, strict=False)]
    last = None if coming is None else Look(blocks=coming, share=shares[-1])
    kept = replace(Looks(first=first), **how)  # type: ignore[arg-type]
    return LookProgress(looks=kept, taken=tuple(looks), coming=last)


def at_look(one: Judgement, ratio: float, low: float, high: float) -> Judgement:
    """The judgement with its word from a look after four blocks."""
    estimate = replace(so_far(ratio, low, high, 4), basis="look")
    return replace(one, look=LookResult(blocks=4, share=0.5, estimate=estimate))


def with_judgements(
    made: Comparison, step: str, change: Callable[[Judgement], Judgement]
) -> Comparison:
    """The comparison in which all judgements of the last arm in a step are others."""

    def changed(cell: Cell) -> Cell:
        assert cell.verdict is not None
        several = tuple(change(one) for one in cell.verdict.judgements)
        return replace(cell, verdict=replace(cell.verdict, judgements=several))

    steps = (
        replace(one, cells=(*one.cells[:-1], changed(one.cells[-1]))) if one.step == step else one
        for one in made.steps
    )
    return replace(made, steps=tuple(steps))


def explained(made: Comparison, texts: dict[str, str]) -> Comparison:
    """The comparison in which the last arm has these explanations, by step."""

    def changed(step: StepComparison) -> StepComparison:
        if step.step not in texts:
            return step
        causes = (Cause(metric=CPU, words="9.6 % more CPU of the server per row"),)
        text = texts[step.step]
        why = Explanation(text=text, why=text, causes=causes, unchanged=(), explained=True)
        return replace(step, cells=(*step.cells[:-1], replace(step.cells[-1], explanation=why)))

    return replace(made, steps=tuple(map(changed, made.steps)))


def overall(
    arm: str, workload: str, *, throughput: Judgement, cpu: Judgement
) -> tuple[OverallRatio, ...]:
    """An arm's means over the steps of a workload, CPU first to show that order is not trusted."""
    return tuple(
        OverallRatio(arm=arm, workload=workload, steps=9, judgement=one)
        for one in (cpu, throughput)
    )


def calibration(made: Comparison, *, arm: str, rejected: int = 4, false: int = 1) -> Calibration:
    """Ten comparisons of the base with its A/A arm, of which so many were false."""
    noise = tuple(
        Noise(
            workload=step.workload,
            step=step.step,
            metric=name,
            blocks=40,
            sd=0.004 * place,
            sd_low=0.0033 * place,
            sd_high=0.0051 * place,
            visible=0.006 * place,
            largest=0.005 * place,
        )
        for place, step in enumerate(made.steps, start=1)
        if step.headline is not None
        for name in (step.headline, CPU)
    )
    tests = 80
    return Calibration(
        arm=arm,
        comparisons=10,
        blocks_each=4,
        tests=tests,
        rejected=rejected,
        rate=rejected / tests,
        rate_low=max(0.0, rejected / tests - 0.04),
        rate_high=rejected / tests + 0.07,
        false_verdicts=false,
        comparisons_false=false,
        false_low=0.0025 if false < 3 else 0.09,
        false_high=0.445,
        p_uniform=0.41,
        noise=noise,
    )
