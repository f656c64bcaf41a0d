"""How often all pairs of independent runs of one build are called unlike, which they are not.

Pairs share runs, so they are not independent: the interval is that of the jackknife, which leaves
out one run, with all its pairs, at a time (Efron & Stein 1981).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dbdyno.model.looks import Look
from dbdyno.model.verdict import CHANGED, Aims
from dbdyno.stats import decision
from dbdyno.stats.interval import log_ratios
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.sample import Sample
from trials.trial import Kept

ARMS_MIN, BLOCKS_MIN = 3, 2
NORMAL = 1.96
"""Standard errors to either side of a 95 % interval."""


@dataclass(frozen=True, kw_only=True)
class FalseWords:
    """Of all pairs of runs, those that a word calls changed."""

    pairs: int
    called: int
    error: float  # the jackknife's standard error of the share

    @property
    def share(self) -> float:
        """The share of pairs that are called."""
        return self.called / self.pairs


def of(values: Mapping[str, Sequence[float]], aims: Aims) -> FalseWords:
    """All pairs of arms, each judged by its blocks at one look that has the whole level.

    `values`: of each arm, block by block; as many of each.
    """
    called = Counter[str]()
    pairs = 0
    for one, other in combinations(values, 2):
        pairs += 1
        if is_called(values[one], values[other], aims):
            called.update((one, other))
    total = called.total() // 2
    arms = len(values)
    left_out = [(total - called[arm]) / (pairs - arms + 1) for arm in values]
    mean = math.fsum(left_out) / arms
    variance = (arms - 1) / arms * math.fsum((share - mean) ** 2 for share in left_out)
    return FalseWords(pairs=pairs, called=total, error=math.sqrt(variance))


def is_called(base: Sequence[float], other: Sequence[float], aims: Aims) -> bool:
    """Whether the lab's own rule calls the second arm changed."""
    sample = Sample(metric="qps", better=1, logs=log_ratios(base, other))
    look = Look(blocks=len(base), share=1.0)
    unit = Unit(samples=(sample,), looks=((look, (sample,)),))
    ((judgement,),) = decision.decide([unit], aims, done=len(base))
    return judgement.word in CHANGED


def by_arm(runs: Iterable[Kept], figure: str) -> dict[str, list[float]]:
    """A figure of each row, round by round; only rounds that all rows have."""
    rounds: dict[int, dict[str, float]] = {}
    for run in runs:
        value = run.figures[figure]
        assert not isinstance(value, str), f"`{figure}` is a number"
        rounds.setdefault(run.round, {})[run.row] = value
    arms = sorted({arm for found in rounds.values() for arm in found})
    whole = [found for _, found in sorted(rounds.items()) if len(found) == len(arms)]
    return {arm: [found[arm] for found in whole] for arm in arms}


def words(values: Mapping[str, Sequence[float]], aims: Aims) -> str:
    """The share in words; what is missing where there are too few runs."""
    blocks = min((len(each) for each in values.values()), default=0)
    if len(values) < ARMS_MIN or blocks < BLOCKS_MIN:
        return f"too few runs: {len(values)} arms, {blocks} whole blocks"
    found = of(values, aims)
    reach = 100 * NORMAL * found.error
    return (
        f"{found.called} of {found.pairs} pairs called changed, "
        f"{100 * found.share:.1f} % ± {reach:.1f} (at most {100 * aims.level:g} % is claimed)"
    )
