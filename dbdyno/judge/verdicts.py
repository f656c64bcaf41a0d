"""The verdict on each arm in each step, from its tests and its outcome.

One family of tests for an arm: each step of all workloads has one, by its primary metrics
together, and each workload over all of its steps; what explains is a family of its own
(docs/method.md). `decision` judges the tests, here they are put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbdyno.judge import cost_to_decide, overall, tolerance
from dbdyno.judge.arm_vs_base import NAMES, ArmInStep, StepKey
from dbdyno.judge.looks import ArmLooks
from dbdyno.judge.overall import WorkloadSample
from dbdyno.model.metric.primary import UNDISTURBED
from dbdyno.model.open_steps import needs_blocks
from dbdyno.model.tolerance import StepTolerance
from dbdyno.model.verdict import CHANGED, Aims, Judgement, OverallRatio, Verdict
from dbdyno.stats import decision
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.sample import Sample


@dataclass(frozen=True, kw_only=True)
class FamilyVerdicts:
    """The results of one family of tests."""

    verdicts: dict[StepKey, Verdict]
    overall: tuple[OverallRatio, ...]
    tolerated: Mapping[StepKey, StepTolerance] = field(default_factory=dict)  # where one is asked


def judge(
    arm: str,
    contests: Sequence[ArmInStep],
    aims: Aims,
    sights: ArmLooks,
    minutes: float | None = None,
) -> FamilyVerdicts:
    """An arm's verdicts on all of its steps and on the whole of each workload.

    `sights`: the looks at it; `minutes`: what a further block takes, None: it is not known.
    """
    seen = [
        _BlockSamples.of([contest.within(sights.at(look)) for contest in contests])
        for look in sights.taken
    ]
    now = _BlockSamples.of(contests)
    units = {
        key: Unit(
            samples=samples,
            looks=tuple(
                (look, at_look.samples[key])
                for look, at_look in zip(sights.taken, seen, strict=True)
                if key in at_look.samples
            ),
            whole=key not in now.places,
        )
        for key, samples in now.samples.items()
    }
    judged = decision.decide(
        list(units.values()), aims, done=len(sights.numbers), coming=sights.coming
    )
    by_unit = {
        key: cost_to_decide.priced(decided, minutes)
        for key, decided in zip(now.samples, judged, strict=True)
    }
    by_step = {where: by_unit.get(where, []) for where in now.places}
    steps = {where: units[where] for where in now.places if where in units}
    failed = {contest.where.workload for contest in contests if contest.outcome.word == "failed"}
    return FamilyVerdicts(
        verdicts={contest.where: _verdict(contest, by_step[contest.where]) for contest in contests},
        tolerated={}
        if aims.tolerate is None
        else tolerance.of_arm(contests, steps, aims, sights, minutes),
        overall=tuple(
            OverallRatio(
                arm=arm,
                workload=whole.workload,
                steps=whole.steps,
                judgement=_without_word(judgement) if whole.workload in failed else judgement,
            )
            for whole in now.wholes
            for judgement in [_of_whole(whole, by_unit) if whole.steps > 1 else whole.lone(by_step)]
        ),
    )


def _of_whole(
    whole: WorkloadSample, by_unit: Mapping[StepKey | str, Sequence[Judgement]]
) -> Judgement:
    """The judgement of a workload by one of its metrics."""
    judgements = by_unit[whole.workload]
    return next(judgement for judgement in judgements if judgement.metric == whole.sample.metric)


def _without_word(judgement: Judgement) -> Judgement:
    """The figures over the steps that did not fail: no word for an arm that failed in others."""
    return replace(
        judgement,
        word="failed",
        within_margin=False,
        reason="",
        look=None,
        blocks_needed=None,
        minutes_needed=None,
    )


@dataclass(frozen=True, kw_only=True)
class _BlockSamples:
    """An arm's samples in some blocks, by step, and overall by workload."""

    samples: dict[StepKey | str, tuple[Sample, ...]]
    places: tuple[StepKey, ...]
    wholes: tuple[WorkloadSample, ...]

    @classmethod
    def of(cls, contests: Sequence[ArmInStep]) -> _BlockSamples:
        """Of these contests; without what has no sample."""
        wholes = tuple(overall.wholes(contests))
        samples: dict[StepKey | str, tuple[Sample, ...]] = {
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


def costs(contests: Sequence[ArmInStep], aims: Aims) -> dict[StepKey, dict[str, Judgement]]:
    """The second family: every other metric that both have, by step and metric."""
    tests = [
        (contest.where, sample)
        for contest in contests
        for sample in contest.samples(name for name in NAMES if name not in contest.primary)
    ]
    judged = decision.explore([sample for _, sample in tests], aims)
    by_step: dict[StepKey, dict[str, Judgement]] = {contest.where: {} for contest in contests}
    for (where, sample), judgement in zip(tests, judged, strict=True):
        by_step[where][sample.metric] = judgement
    return by_step


def _verdict(contest: ArmInStep, judgements: Sequence[Judgement]) -> Verdict:
    """The step's word: what the arm, or the base, did comes before what its tests say."""
    outcome = contest.outcome
    if outcome.yields and judgements and together(judgements).word in CHANGED:
        outcome = replace(outcome, word=None, reason="", withheld=False)
    if contest.faced.unstable:
        differs = outcome.word is None and judgements and together(judgements).word != "same"
        outcome = replace(
            outcome,
            word="open" if differs else outcome.word,
            text="; ".join(filter(None, (outcome.text, contest.faced.unstable))),
            withheld=outcome.withheld or bool(differs),
        )
    if outcome.word is not None:
        said = Verdict(word=outcome.word, reason=outcome.reason, by=(), judgements=())
    elif not judgements:
        said = Verdict(word="open", reason="nothing to compare", by=(), judgements=())
    else:
        said = together(judgements)
    return replace(
        said,
        judgements=outcome.shown(judgements),
        outcome=outcome.text,
        stood_still=outcome.stood_still,
        withheld=outcome.withheld,
    )


def together(judgements: Sequence[Judgement]) -> Verdict:
    """The verdict of a step's primary metrics: the word, and the metrics whose word it is.

    A change seen by one of them is one, whatever the other leaves open; of two that disagree the
    worse is the word. Throughput that is open for its scatter alone yields to undisturbed time
    that is the same. But who stood still is not faster by the CPU of the blocks in which it ran,
    and beside a base that did none is slower.
    """
    known = [judgement for judgement in judgements if judgement.reason != "one block"] or judgements
    stood = any(judgement.stood_still for judgement in known)
    base_stood = any(judgement.base_stood_still for judgement in known)
    if any(judgement.p_still is not None and judgement.word not in CHANGED for judgement in known):
        known = [
            judgement
            for judgement in known
            if not (stood and judgement.word == "faster")
            and not (base_stood and judgement.word == "slower")
        ]
    decided = any(each.metric == UNDISTURBED and each.word == "same" for each in known)
    settled = [judgement for judgement in known if not (decided and needs_blocks(judgement))]
    first = min(settled, key=_rank)
    carriers = [judgement for judgement in known if _rank(judgement) == _rank(first)]
    against = "faster" if first.word == "slower" else None
    return Verdict(
        word=first.word,
        within_margin=first.within_margin,
        reason=first.reason,
        by=tuple(judgement.metric for judgement in carriers),
        against=tuple(judgement.metric for judgement in known if judgement.word == against),
        judgements=tuple(judgements),
    )


def _rank(judgement: Judgement) -> tuple[int, bool, bool]:
    """The place of a metric's word among those of a step, the one that counts first."""
    order = ("slower", "faster", "failed", "open", "same")
    return order.index(judgement.word), judgement.within_margin, not judgement.reason
