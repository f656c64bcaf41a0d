"""The answers to `--tolerate`: whether an arm's losses beyond it are excluded, step by step.

Asked are the metrics by which steps are judged. Where undisturbed time is one of them one that
excludes the loss is enough; what only some operations lose it does not see, which the answer says.
Elsewhere throughput, or time, and CPU per operation both have to; of a server whose CPU nobody
counts throughput alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbdyno.judge.arm_vs_base import COMPARED_MIN, ArmInStep, StepKey
from dbdyno.judge.looks import ArmLooks
from dbdyno.model import TargetFacts
from dbdyno.model.metric.primary import TAIL, UNDISTURBED
from dbdyno.model.tolerance import StepTolerance, TailTolerance
from dbdyno.model.verdict import Aims
from dbdyno.stats import tolerance
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.sample import Sample
from dbdyno.stats.tolerance import MetricLoss


def of_arm(
    contests: Sequence[ArmInStep],
    units: Mapping[StepKey, Unit],
    aims: Aims,
    sights: ArmLooks,
    minutes: float | None,
) -> dict[StepKey, StepTolerance]:
    """The answer of each step that is judged; `units`: those that have a sample.

    `minutes`: what a further block takes, None: it is not known.
    """
    assert aims.tolerate is not None
    judged = {
        contest.where: units[contest.where]
        for contest in contests
        if contest.where in units and contest.outcome.word is None and not contest.outcome.withheld
    }
    losses = tolerance.losses(
        list(judged.values()), aims.tolerate, aims, done=len(sights.numbers), coming=sights.coming
    )
    by_step = dict(zip(judged, losses, strict=True))
    tails = _tails([each for each in contests if each.where in judged], aims, sights, minutes)
    return {
        contest.where: replace(
            _of_step(contest, by_step.get(contest.where, ()), minutes),
            tail=tails.get(contest.where),
        )
        for contest in contests
    }


def _tails(
    contests: Sequence[ArmInStep], aims: Aims, sights: ArmLooks, minutes: float | None
) -> dict[StepKey, TailTolerance]:
    """The answers of the tail, where undisturbed time is asked and the load tells service times."""
    assert aims.tolerate is not None
    units = {
        contest.where: Unit(
            samples=samples,
            looks=tuple(
                (look, tuple(contest.within(sights.at(look)).samples((TAIL,))))
                for look in sights.taken
            ),
        )
        for contest in contests
        if contest.second == UNDISTURBED and (samples := tuple(contest.samples((TAIL,))))
    }
    losses = tolerance.losses(
        list(units.values()), aims.tolerate, aims, done=len(sights.numbers), coming=sights.coming
    )
    return {
        where: _tail(unit.samples[0], loss, minutes)
        for (where, unit), (loss,) in zip(units.items(), losses, strict=True)
    }


def _tail(sample: Sample, loss: MetricLoss, minutes: float | None) -> TailTolerance:
    high = None if sample.interval is None else sample.interval.high
    needed = loss.blocks_needed
    return TailTolerance(
        answer="no" if loss.lost else "yes" if loss.excluded else "not yet",
        us=None if high is None or sample.base is None else high * sample.base,
        base_us=sample.base,
        blocks_needed=needed,
        minutes_needed=None if needed is None or minutes is None else needed * minutes,
    )


def _of_step(
    contest: ArmInStep, losses: Sequence[MetricLoss], minutes: float | None
) -> StepTolerance:
    """The answer of a step: a failure of the arm comes before what the tests say."""
    where, outcome = contest.where, contest.outcome
    said = StepTolerance(workload=where.workload, step=where.step, answer="not yet")
    if not losses:
        reason = outcome.text or "nothing to compare"
        return replace(said, answer="no" if _failed(contest) else "not yet", reason=reason)
    if lost := tuple(loss.metric for loss in losses if loss.lost):
        return replace(said, answer="no", by=lost)
    excluded = tuple(loss.metric for loss in losses if loss.excluded)
    if UNDISTURBED in excluded or len(excluded) == len(losses):
        return replace(said, answer="yes", by=excluded)
    waiting = [loss for loss in losses if not loss.excluded]
    if any(loss.metric == UNDISTURBED for loss in waiting):
        # One of the two is enough.
        waiting = [min(waiting, key=lambda loss: loss.blocks_needed or math.inf)]
    blocks = [loss.blocks_needed for loss in waiting]
    needed = None if None in blocks else max(filter(None, blocks), default=None)
    return replace(
        said,
        by=tuple(loss.metric for loss in waiting),
        reason=_helpless(contest),
        blocks_needed=needed,
        minutes_needed=None if needed is None or minutes is None else needed * minutes,
    )


def _helpless(contest: ArmInStep) -> str:
    """Why it is not known what the answer takes; nothing where the scatter says it."""
    if contest.bound in ("at most", "unknown"):
        limited = contest.bounded_by == "generator at its limit"
        return "the load generator is at its limit" if limited else contest.bounded_by
    if contest.outcome.stood_still:
        return contest.outcome.stood_still
    if any(sample.blocks < COMPARED_MIN for sample in contest.samples(contest.primary)):
        return "one block excludes nothing"
    return ""


def _failed(contest: ArmInStep) -> bool:
    """Whether the arm failed in a block, or missed a target that the base held."""
    own, bases = contest.faced.runs, contest.faced.base_runs
    missed, base_missed = (
        any(run.of(TargetFacts).met is False for run in runs) for runs in (own, bases)
    )
    lost = any(run.ending.status != "ok" and not run.ending.damaged for run in own)
    return lost or (missed and not base_missed)
