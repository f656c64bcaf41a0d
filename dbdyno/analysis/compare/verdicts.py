"""The verdict on each arm in each step, from its tests and its outcome.

One family of tests for an arm: each step of all workloads has one, by its primary metrics
together, and each workload over all of its steps; what explains is a family of its own
(docs/method.md). `decision` judges the tests, here they are put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.compare import cost_to_decide, overall
from dbdyno.analysis.compare.arm_vs_base import NAMES, Contest, Where
from dbdyno.analysis.compare.looks import Sights
from dbdyno.analysis.compare.overall import Whole
from dbdyno.model.verdict import BETTER, CHANGED, WORSE, Aims, Judgement, Overall, Verdict, Word
from dbdyno.stats import decision
from dbdyno.stats.decision import Unit
from dbdyno.stats.sample import Sample


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The results of one family of tests."""

    verdicts: dict[Where, Verdict]
    overall: tuple[Overall, ...]


def judge(
    arm: str, contests: Sequence[Contest], aims: Aims, sights: Sights, minutes: float | None = None
) -> Judged:
    """An arm's verdicts on all of its steps and on the whole of each workload.

    `sights`: the looks at it; `minutes`: what a further block takes, None: it is not known.
    """
    seen = [
        _Seen.of([contest.within(sights.at(look)) for contest in contests]) for look in sights.taken
    ]
    now = _Seen.of(contests)
    units = [
        Unit(
            samples=samples,
            looks=tuple(
                (look, at_look.samples[key])
                for look, at_look in zip(sights.taken, seen, strict=True)
                if key in at_look.samples
            ),
            whole=key not in now.places,
        )
        for key, samples in now.samples.items()
    ]
    judged = decision.decide(units, aims, done=len(sights.numbers), coming=sights.coming)
    by_unit = {
        key: cost_to_decide.priced(decided, minutes)
        for key, decided in zip(now.samples, judged, strict=True)
    }
    by_step = {where: by_unit.get(where, []) for where in now.places}
    failed = {contest.where.workload for contest in contests if contest.outcome.word == "failed"}
    return Judged(
        verdicts={contest.where: _verdict(contest, by_step[contest.where]) for contest in contests},
        overall=tuple(
            Overall(
                arm=arm,
                workload=whole.workload,
                steps=whole.steps,
                judgement=_without_word(judgement) if whole.workload in failed else judgement,
            )
            for whole in now.wholes
            for judgement in [_of_whole(whole, by_unit) if whole.steps > 1 else whole.lone(by_step)]
        ),
    )


def _without_word(judgement: Judgement) -> Judgement:
    """The figures over the steps that did not fail: no word for an arm that failed in others."""
    return replace(judgement, word="failed", look=None, blocks_needed=None, minutes_needed=None)


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """An arm's samples in some blocks, by step, and overall by workload."""

    samples: dict[Where | str, tuple[Sample, ...]]
    places: tuple[Where, ...]
    wholes: tuple[Whole, ...]

    @classmethod
    def of(cls, contests: Sequence[Contest]) -> _Seen:
        """Of these contests; without what has no sample."""
        wholes = tuple(overall.wholes(contests))
        samples: dict[Where | str, tuple[Sample, ...]] = {
            contest.where: tuple(contest.samples(contest.primary)) for contest in contests
        }
        for workload in dict.fromkeys(whole.workload for whole in wholes if whole.steps > 1):
            workload_samples = (
                whole.sample for whole in wholes if whole.workload == workload and whole.steps > 1
            )
            samples[workload] = tuple(workload_samples)
        return cls(
            samples={key: unit_samples for key, unit_samples in samples.items() if unit_samples},
            places=tuple(contest.where for contest in contests),
            wholes=wholes,
        )


def _of_whole(whole: Whole, by_unit: Mapping[Where | str, Sequence[Judgement]]) -> Judgement:
    """The judgement of a workload by one of its metrics."""
    judgements = by_unit[whole.workload]
    return next(judgement for judgement in judgements if judgement.metric == whole.sample.metric)


def costs(contests: Sequence[Contest], aims: Aims) -> dict[Where, dict[str, Judgement]]:
    """The second family: every other metric that both have, by step and metric."""
    tests = [
        (contest.where, sample)
        for contest in contests
        for sample in contest.samples(name for name in NAMES if name not in contest.primary)
    ]
    judged = decision.explore([sample for _, sample in tests], aims)
    by_step: dict[Where, dict[str, Judgement]] = {contest.where: {} for contest in contests}
    for (where, sample), judgement in zip(tests, judged, strict=True):
        by_step[where][sample.metric] = judgement
    return by_step


def _verdict(contest: Contest, judgements: Sequence[Judgement]) -> Verdict:
    """The step's word: what the arm, or the base, did comes before what its tests say."""
    said = contest.outcome
    if said.word is not None:
        word, by = said.word, tuple[str, ...]()
    elif not judgements:
        word, by = "not compared", ()
    else:
        word, by = together(judgements)
    return Verdict(
        word=word,
        by=by,
        judgements=said.shown(judgements),
        outcome=said.text,
        stood_still=said.stood_still,
        withheld=said.withheld,
    )


def together(judgements: Sequence[Judgement]) -> tuple[Word, tuple[str, ...]]:
    """One word for the primary metrics of a step, and the metrics whose word it is.

    A change seen by one of them is one, whatever the other cannot tell. But who stood still is not
    faster by the CPU of the blocks in which it ran, and beside a base that did none is slower.
    """
    known = [judgement for judgement in judgements if judgement.word != "one block"]
    if not known:
        return "one block", tuple(judgement.metric for judgement in judgements)
    stood = any(judgement.stood_still for judgement in known)
    base_stood = any(judgement.base_stood_still for judgement in known)
    if any(judgement.p_still is not None and judgement.word not in CHANGED for judgement in known):
        known = [
            judgement
            for judgement in known
            if not (stood and judgement.word in BETTER)
            and not (base_stood and judgement.word in WORSE)
        ]
    worse = [judgement for judgement in known if judgement.word in WORSE]
    better = [judgement for judgement in known if judgement.word in BETTER]
    if worse and better:
        return "mixed", tuple(
            judgement.metric for judgement in known if judgement in worse or judgement in better
        )
    ranked: tuple[Word, ...] = (
        "slower",
        "faster",
        "slower, within the margin",
        "faster, within the margin",
        "limited",
        "cannot tell",
        "same",
    )
    word = next(word for word in ranked if any(judgement.word == word for judgement in known))
    return word, tuple(judgement.metric for judgement in known if judgement.word == word)
