"""What is said of each arm in each step: its tests, and in what word they and its outcome end.

One family of tests for an arm: the primary metrics of all steps of all workloads, and of each
workload over all of its steps; what explains is a family of its own (docs/method.md). `decision`
judges the tests, here they are put together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.analysis.compare import cost_to_decide, overall
from dbdyno.analysis.compare.arm_vs_base import NAMES, Contest, Where
from dbdyno.model.verdict import BETTER, CHANGED, WORSE, Aims, Judgement, Overall, Verdict, Word
from dbdyno.stats import decision


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What one family of tests came to."""

    verdicts: dict[Where, Verdict]
    overall: tuple[Overall, ...]


def judge(
    arm: str, contests: Sequence[Contest], aims: Aims, minutes: float | None = None
) -> Judged:
    """An arm's verdicts on all of its steps and on the whole of each workload.

    `minutes`: what a further block takes; None: it is not known.
    """
    tests = [(one.where, sample) for one in contests for sample in one.samples(one.primary)]
    wholes = overall.wholes(contests)
    samples = [*(sample for _, sample in tests), *(one.sample for one in wholes if one.steps > 1)]
    judged = iter(cost_to_decide.priced(decision.decide(samples, aims), minutes))
    by_step: dict[Where, list[Judgement]] = {one.where: [] for one in contests}
    for where, _ in tests:
        by_step[where].append(next(judged))
    return Judged(
        verdicts={one.where: _verdict(one, by_step[one.where]) for one in contests},
        overall=tuple(
            Overall(
                arm=arm,
                workload=one.workload,
                steps=one.steps,
                judgement=next(judged) if one.steps > 1 else one.lone(by_step),
            )
            for one in wholes
        ),
    )


def costs(contests: Sequence[Contest], aims: Aims) -> dict[Where, dict[str, Judgement]]:
    """The second family: every other metric that both have, by step and metric."""
    tests = [
        (one.where, sample)
        for one in contests
        for sample in one.samples(name for name in NAMES if name not in one.primary)
    ]
    judged = decision.explore([sample for _, sample in tests], aims)
    found: dict[Where, dict[str, Judgement]] = {one.where: {} for one in contests}
    for (where, sample), judgement in zip(tests, judged, strict=True):
        found[where][sample.metric] = judgement
    return found


def _verdict(one: Contest, judgements: Sequence[Judgement]) -> Verdict:
    """The step's word: what the arm, or the base, did comes before what its tests say."""
    said = one.outcome
    if said.word is not None:
        word, by = said.word, tuple[str, ...]()
    elif not judgements:
        word, by = "not compared", ()
    else:
        word, by = together(judgements)
    return Verdict(
        word=word,
        by=by,
        judgements=tuple(judgements),
        outcome=said.text,
        stood_still=said.stood_still,
    )


def together(judgements: Sequence[Judgement]) -> tuple[Word, tuple[str, ...]]:
    """One word for the primary metrics of a step, and the metrics whose word it is.

    A change seen by one of them is one, whatever the other cannot tell. But who stood still is not
    faster by the CPU of the blocks in which it ran, and beside a base that did none is slower.
    """
    told = [one for one in judgements if one.word != "one block"]
    if not told:
        return "one block", tuple(one.metric for one in judgements)
    stood = any(one.stood_still for one in told)
    base_stood = any(one.base_stood_still for one in told)
    if any(one.p_still is not None and one.word not in CHANGED for one in told):
        told = [
            one
            for one in told
            if not (stood and one.word in BETTER) and not (base_stood and one.word in WORSE)
        ]
    worse = [one for one in told if one.word in WORSE]
    better = [one for one in told if one.word in BETTER]
    if worse and better:
        return "mixed", tuple(one.metric for one in told if one in worse or one in better)
    ranked: tuple[Word, ...] = (
        "slower",
        "faster",
        "slower, within the margin",
        "faster, within the margin",
        "limited",
        "cannot tell",
        "same",
    )
    word = next(word for word in ranked if any(one.word == word for one in told))
    return word, tuple(one.metric for one in told if one.word == word)
