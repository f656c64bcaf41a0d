"""From counts of work to words by one rule: of repeats, fills and reasons.

Whatever says *more*, *less* or *same* work (race, gate, search, farm, report) says it by `judged`,
or, with another margin, by `word`.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbdyno.model.grouping import grouped
from dbdyno.model.host_facts import FillScatter
from dbdyno.model.ratio import Ratio
from dbdyno.model.work import WorkWord
from dbdyno.stats.interval import t_quantile

SCATTER_LEAST = 0.0001
"""A repeat's log ratio scatters by no less, so that equal counts are not certain beyond what is
known: of twelve operations, ten repeats each had a deviation of 0.006 % at most."""
FREEDOM_LEAST = 40.0
"""The degrees of freedom of SCATTER_LEAST: it was found over so many runs."""
CONFIDENCE = 0.95
APART = 4.0
"""Repeats of a step further apart than so many deviations hold no interval that rests on others."""
APART_REASON = "its repeats differ by more than counts here do"


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """The standard deviation of a repeat's log ratio, and its degrees of freedom."""

    deviation: float
    freedom: float


def pooled(steps: Sequence[Sequence[float]]) -> Scatter:
    """The scatter of log ratios over the repeats of many steps; never below SCATTER_LEAST.

    The pooled variance: sums of squares about each step's mean, over repeats less one each.
    """
    several = [ratios for ratios in steps if len(ratios) > 1]
    freedom = sum(len(ratios) - 1 for ratios in several)
    if not freedom:
        return Scatter(deviation=SCATTER_LEAST, freedom=FREEDOM_LEAST)
    squares = sum(
        (ratio - math.fsum(ratios) / len(ratios)) ** 2 for ratios in several for ratio in ratios
    )
    return calibrated(math.sqrt(squares / freedom), freedom)


def calibrated(deviation: float, freedom: float) -> Scatter:
    """The scatter that many counts of one build had; never below SCATTER_LEAST."""
    if deviation <= SCATTER_LEAST:
        return Scatter(deviation=SCATTER_LEAST, freedom=max(freedom, FREEDOM_LEAST))
    return Scatter(deviation=deviation, freedom=freedom)


def of_fills(log_ratios: Sequence[float], fills: Sequence[int]) -> list[float]:
    """The mean log ratio of each fill; `fills`: the number of each repeat's."""
    by_fill = grouped(zip(fills, log_ratios, strict=True))
    return [math.fsum(logs) / len(logs) for _, logs in sorted(by_fill.items())]


def between_fills(means: Sequence[float]) -> FillScatter | None:
    """How far fills of one build are apart, with what its repeats differ by; None of one fill.

    `means`: the mean log count of each.
    """
    if len(means) < 2:
        return None
    return FillScatter(deviation=statistics.stdev(means), freedom=len(means) - 1)


def together(first: FillScatter | None, second: FillScatter) -> FillScatter:
    """The pooled scatter of two that tell of the same step; None: nothing was known of it."""
    if first is None:
        return second
    freedom = first.freedom + second.freedom
    squares = first.freedom * first.deviation**2 + second.freedom * second.deviation**2
    return FillScatter(
        deviation=math.sqrt(squares / freedom),
        freedom=freedom,
        newest_unix_ns=max(first.newest_unix_ns, second.newest_unix_ns),
    )


def of_both(base: FillScatter, arm: FillScatter) -> Scatter:
    """The scatter of a log ratio of two arms that each have a fill of their own.

    Degrees of freedom by Satterthwaite (Biometrics Bulletin 2, 1946).
    """
    variances = [max(side.deviation, SCATTER_LEAST) ** 2 for side in (base, arm)]
    freedom = sum(variances) ** 2 / sum(
        variance**2 / max(1, side.freedom)
        for variance, side in zip(variances, (base, arm), strict=True)
    )
    return Scatter(deviation=math.sqrt(sum(variances)), freedom=freedom)


def with_fills(scatter: Scatter, between: Scatter) -> Scatter:
    """The scatter of a log ratio by its repeats, and `between` the fills of both arms."""
    deviation = math.hypot(scatter.deviation, between.deviation)
    return Scatter(deviation=deviation, freedom=min(scatter.freedom, between.freedom))


def wider(first: Scatter, second: Scatter) -> Scatter:
    """That of two which gives the wider interval."""
    return max(first, second, key=reach)


def reach(scatter: Scatter) -> float:
    """Half the interval of a single log ratio."""
    return t_quantile((1 + CONFIDENCE) / 2, scatter.freedom) * scatter.deviation


def ratio(log_ratios: Sequence[float], scatter: Scatter) -> Ratio:
    """The ratio over a step's repeats, with the interval that a scatter gives."""
    mean = math.fsum(log_ratios) / len(log_ratios)
    se = scatter.deviation / math.sqrt(len(log_ratios))
    half = t_quantile((1 + CONFIDENCE) / 2, scatter.freedom) * se
    return Ratio(
        value=math.exp(mean),
        low=math.exp(mean - half),
        high=math.exp(mean + half),
        blocks=len(log_ratios),
        se=se,
        freedom=scatter.freedom,
    )


def apart(log_ratios: Sequence[float], scatter: Scatter) -> bool:
    """Whether a step's repeats differ more than the scatter of the others explains."""
    return max(log_ratios) - min(log_ratios) > APART * math.sqrt(2) * scatter.deviation


def word(interval: Ratio, margin: float, withheld: str = "") -> WorkWord:
    """More or less: the whole interval is beyond the margin; same: it is within; else open.

    `withheld`: why nothing is said, whatever the interval is.
    """
    assert interval.low is not None
    assert interval.high is not None
    if withheld:
        return "open"
    if interval.low > 1 + margin:
        return "more"
    if interval.high < 1 / (1 + margin):
        return "less"
    within = interval.low >= 1 / (1 + margin) and interval.high <= 1 + margin
    return "same" if within else "open"


@dataclass(frozen=True, kw_only=True)
class CountSample:
    """What is known of a step of an arm beside the base: independent log ratios, their scatter."""

    ratios: tuple[float, ...]  # of each repeat; where each arm has fills of its own, of each fill
    scatter: Scatter
    fills: int | None = None  # as WorkChange has it
    withheld: str = ""  # why no word is said of them, whatever they are


@dataclass(frozen=True, kw_only=True)
class CountVerdict:
    """What is said of a sample."""

    word: WorkWord
    ratio: Ratio
    withheld: str  # why it is open, whatever the margin


def judged(sample: CountSample, margin: float) -> CountVerdict:
    """The word of a step, its interval, and why the word is withheld where it is."""
    interval, withheld = ratio(sample.ratios, sample.scatter), sample.withheld
    if apart(sample.ratios, sample.scatter):
        low, high = (math.exp(end(sample.ratios)) for end in (min, max))
        interval = replace(interval, low=low, high=high)
        withheld = withheld or APART_REASON
    return CountVerdict(word=word(interval, margin, withheld), ratio=interval, withheld=withheld)
