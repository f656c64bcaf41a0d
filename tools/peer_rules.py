"""What usual rules of benchmark tools make of two arms that are the same, beside the lab's rule.

For contrast in docs/error-rates.md: none of them is used. The model is one of runs, on a log scale:
seconds that are tied to each other within a run, a draw for each server start, and a host that
drifts from run to run. Its figures are plausible, not measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from dbdyno.stats import interval, power, significance

Numbers = npt.NDArray[np.float64]
Rule = Callable[[Numbers, Numbers, float], bool]
"""Whether two arms are called different; of each: log rates, runs by seconds; and the level."""

SECONDS = 120
SECOND_SD, SECOND_TIE = 0.03, 0.8
START_SD = 0.01
DRIFT_SD, DRIFT_TIE = 0.02, 0.9
LOOKS = (3, 4, 6, 8, 12)
"""After so many pairs an impatient person looks."""
ADVISED_MAX = 30
MARGIN, WANTED = 0.03, 0.80
"""Who asks for further pairs wants to tell this change, with this power."""


def runs(count: int, random: np.random.Generator) -> Numbers:
    """Log rates of runs one after the other: runs by seconds."""
    drift = _tied(random, (1, count), DRIFT_SD, DRIFT_TIE)[0]
    start = random.normal(0, START_SD, count)
    found: Numbers = _tied(random, (count, SECONDS), SECOND_SD, SECOND_TIE)
    found += (drift + start)[:, None]
    return found


def _tied(random: np.random.Generator, shape: tuple[int, int], sd: float, tie: float) -> Numbers:
    """Rows of a process in which each value is `tie` times the one before, and chance."""
    found = random.normal(0, sd, shape)
    for place in range(1, shape[1]):
        found[:, place] = tie * found[:, place - 1] + math.sqrt(1 - tie**2) * found[:, place]
    return found


def alternating(count: int, random: np.random.Generator, effect: float) -> tuple[Numbers, Numbers]:
    """Pairs of runs in random order, the second arm slower by `effect`."""
    both = runs(2 * count, random).reshape(count, 2, SECONDS)
    first = random.integers(0, 2, count)
    pairs = np.arange(count)
    return both[pairs, first], both[pairs, 1 - first] + math.log1p(-effect)


def one_after_the_other(
    count: int, random: np.random.Generator, effect: float
) -> tuple[Numbers, Numbers]:
    """All runs of the first arm, then all of the second, slower by `effect`."""
    both = runs(2 * count, random)
    return both[:count], both[count:] + math.log1p(-effect)


def by_seconds(first: Numbers, second: Numbers, level: float) -> bool:
    """Welch's test on all seconds, as if they were independent."""
    return _welch(np.exp(first).ravel(), np.exp(second).ravel()) <= level


def by_runs(first: Numbers, second: Numbers, level: float) -> bool:
    """Welch's test on the means of runs, as if the host did not drift."""
    return _welch(np.exp(first).mean(axis=1), np.exp(second).mean(axis=1)) <= level


def by_threshold(first: Numbers, second: Numbers, share: float) -> bool:
    """Slower by more than a fixed share."""
    return bool(np.exp(second).mean() < (1 - share) * np.exp(first).mean())


def by_pairs(first: Numbers, second: Numbers, level: float) -> bool:
    """The lab's own: t on the log ratios of pairs."""
    p = significance.t_p(_logs(first, second))
    return p is not None and p <= level


def by_looking(first: Numbers, second: Numbers, level: float) -> bool:
    """The same after 3, 4, 6, 8 and 12 pairs, ending at the first that pleases."""
    return any(by_pairs(first[:count], second[:count], level) for count in LOOKS)


def by_advice(first: Numbers, second: Numbers, level: float) -> bool:
    """After four pairs, then after as many as would settle 3 % at their scatter, again and again.

    Up to ADVISED_MAX pairs; it ends with the first word, be it that the two are the same.
    """
    logs = _logs(first, second)
    count: int | None = 4
    while count is not None and count <= len(logs):
        its = logs[:count]
        p, same = significance.t_p(its), significance.equivalence_p(its, MARGIN)
        _, sd = interval.mean_and_sd(its)
        assert p is not None and same is not None and sd is not None
        if p <= level or same <= level:
            return p <= level
        found = power.blocks_for(MARGIN, sd, level, WANTED)
        shown = power.blocks_for_equivalence(MARGIN, sd, level, WANTED)
        count = None if found is None or shown is None else max(found, shown, count + 1)
    return False


def _logs(first: Numbers, second: Numbers) -> list[float]:
    means = [np.exp(rates).mean(axis=1) for rates in (first, second)]
    return list(interval.log_ratios(means[0].tolist(), means[1].tolist()))


def _welch(first: Numbers, second: Numbers) -> float:
    """p of a two-sided test that the means are equal, whatever the variances (Welch 1947)."""
    errors = [float(its.var(ddof=1)) / len(its) for its in (first, second)]
    both = sum(errors)
    freedom = both**2 / sum(
        error**2 / (len(its) - 1) for error, its in zip(errors, (first, second), strict=True)
    )
    return float(2 * stdtr(freedom, -abs(float(first.mean() - second.mean())) / math.sqrt(both)))


Design = Callable[[int, np.random.Generator, float], tuple[Numbers, Numbers]]
RULES: Mapping[str, tuple[Design, int, Rule, float]] = {
    "one run each, Welch's test on its seconds, p ≤ .05": (alternating, 1, by_seconds, 0.05),
    "one run each, slower by more than 2.5 %": (alternating, 1, by_threshold, 0.025),
    "one run each, slower by more than 5 %": (alternating, 1, by_threshold, 0.05),
    "six runs of one, then six of the other, Welch's test": (one_after_the_other, 6, by_runs, 0.05),
    "pairs, looked at after 3, 4, 6, 8 and 12": (alternating, 12, by_looking, 0.05),
    "four pairs, then as many further ones as they ask for": (
        alternating,
        ADVISED_MAX,
        by_advice,
        0.05,
    ),
    "**six pairs in random order, t on log ratios**": (alternating, 6, by_pairs, 0.05),
}
"""By name: how runs are ordered, how many of each arm, the rule, and its level or threshold."""


def calls(name: str, trials: int, random: np.random.Generator, *, effect: float) -> int:
    """How often a rule calls two arms different of which the second is slower by `effect`."""
    design, count, rule, level = RULES[name]
    return sum(rule(*design(count, random, effect), level) for _ in range(trials))
