"""What is said of each arm in each step: its tests, and in what word they and its outcome end.

One family of tests for an arm: the primary metrics of all steps of all workloads; what explains is
a family of its own (docs/method.md). `decision` judges the tests, here they are put together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dbdyno import decision, metric
from dbdyno.analysis import limit, outcome, price
from dbdyno.analysis.nearest import Facing
from dbdyno.decision import Sample
from dbdyno.model import Bound, StepRun
from dbdyno.verdict import BETTER, WORSE, Aims, Judgement, Verdict, Word

CPU = "server_cpu_per_op"
"""Primary beside a step's headline: on a machine that others use it is the sharper witness."""
BETTER_BY: Mapping[str, int] = {
    row.name: {"higher": 1, "lower": -1, "neutral": 0}[row.direction] for row in metric.METRICS
}
NAMES = tuple(row.name for row in metric.METRICS)


class Where(NamedTuple):
    """A step of a workload; several may have one name."""

    workload: str
    ordinal: int
    step: str

    @classmethod
    def of(cls, run: StepRun) -> Where:
        """The step of a run."""
        return cls(run.workload, run.ordinal, run.step)


@dataclass(frozen=True, kw_only=True)
class Contest:
    """One arm in one measured step, beside the base."""

    where: Where
    headline: str
    faced: Facing

    @property
    def primary(self) -> tuple[str, ...]:
        """The metrics by which the step is judged, throughput first."""
        return self.headline, CPU

    @property
    def bound(self) -> Bound:
        """What the ratio of throughputs is to that of what the servers can do."""
        return limit.ratio_bound(self.faced.base_runs, self.faced.runs)

    def within(self, blocks: Sequence[int]) -> Contest:
        """The same of these blocks alone."""
        return Contest(where=self.where, headline=self.headline, faced=self.faced.within(blocks))


def contest(where: Where, faced: Facing) -> Contest | None:
    """The arm's contest in a step; None of a step without a headline, which is not judged."""
    runs: Iterable[StepRun] = (*faced.runs, *faced.base_runs)
    headline = next((run.headline for run in runs if run.headline is not None), None)
    if headline is None:
        return None
    return Contest(where=where, headline=headline, faced=faced)


def verdicts(
    contests: Sequence[Contest], aims: Aims, minutes: float | None = None
) -> dict[Where, Verdict]:
    """An arm's verdicts over all of its steps, which are one family.

    `minutes`: what a further block takes; None: it is not known.
    """
    tests = [(one.where, sample) for one in contests for sample in _samples(one, one.primary)]
    judged = price.priced(decision.decide([sample for _, sample in tests], aims), minutes)
    by_step: dict[Where, list[Judgement]] = {one.where: [] for one in contests}
    for (where, _), judgement in zip(tests, judged, strict=True):
        by_step[where].append(judgement)
    return {one.where: _verdict(one, by_step[one.where]) for one in contests}


def costs(contests: Sequence[Contest], aims: Aims) -> dict[Where, dict[str, Judgement]]:
    """The second family: every other metric that both have, by step and metric."""
    tests = [
        (one.where, sample)
        for one in contests
        for sample in _samples(one, [name for name in NAMES if name not in one.primary])
    ]
    judged = decision.explore([sample for _, sample in tests], aims)
    found: dict[Where, dict[str, Judgement]] = {one.where: {} for one in contests}
    for (where, sample), judgement in zip(tests, judged, strict=True):
        found[where][sample.metric] = judgement
    return found


def _samples(one: Contest, names: Iterable[str]) -> Iterator[Sample]:
    """The log ratios of these metrics, of those that both arms have in a block at least."""
    for name in names:
        logs = tuple(pair.log for pair in one.faced.pairs(name).values())
        if logs:
            bound = one.bound if name == one.headline else "exact"
            yield Sample(metric=name, better=BETTER_BY[name], logs=logs, bound=bound)


def _verdict(one: Contest, judgements: Sequence[Judgement]) -> Verdict:
    """The step's word: what the arm, or the base, did comes before what its tests say."""
    said = outcome.of(one.faced, compared=max((its.blocks for its in judgements), default=0))
    if said.word is not None:
        word, by = said.word, tuple[str, ...]()
    elif not judgements:
        word, by = "not compared", ()
    else:
        word, by = together(judgements)
    return Verdict(word=word, by=by, judgements=tuple(judgements), outcome=said.text)


def together(judgements: Sequence[Judgement]) -> tuple[Word, tuple[str, ...]]:
    """One word for the primary metrics of a step, and the metrics whose word it is.

    A change seen by one of them is one, whatever the other cannot tell.
    """
    told = [one for one in judgements if one.word != "one block"]
    if not told:
        return "one block", tuple(one.metric for one in judgements)
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
