"""Intervals, means and ranks: pure arithmetic on numbers.

Reasons stand in docs/method.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from dbdyno.model.ratio import Ratio
from dbdyno.model.verdict import Dependence

SECONDS_MIN = 10
"""Fewer per-second rates than this have no percentile, as published."""

ROUNDING_MAX = 1e-12
"""Log ratios and their spread up to this are 0: what is left of numbers that were equal."""

LOG_CHANGE_MAX = 700.0
"""A larger log ratio has no ratio that a number holds."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How log ratios scatter between blocks, and how well that is known."""

    sd: float
    freedom: float  # degrees of freedom of it
    lent: float = 0.0  # of these, what other units lent (`stats.moderation`)
    dependence: Dependence | None = None  # by which `sd` is widened (`stats.dependence`)


def ratio_interval(
    base: Sequence[float], other: Sequence[float], confidence: float = 0.95
) -> Ratio:
    """The mean ratio of `other` to `base` over pairs: a t interval on log ratios, taken back.

    d_i = ln(other_i / base_i); exp(mean(d) ± t(1 - alpha/2, n - 1) · s_d / √n). Logs make 0.95 and
    1/0.95 symmetric and the mean a geometric one; with fewer than 20 pairs the t interval covers
    what it says where bootstraps do not (Kalibera & Jones, ISMM 2013; the project's simulations).
    All numbers have to be positive, both sequences of one length and not empty (ValueError).
    """
    return log_interval(log_ratios(base, other), confidence)


def log_ratios(base: Sequence[float], other: Sequence[float]) -> tuple[float, ...]:
    """ln(other_i / base_i) of each pair; ValueError where they are no pairs of positive numbers."""
    if len(base) != len(other) or not base:
        raise ValueError(f"{len(base)} and {len(other)} numbers are no pairs")
    if min(*base, *other) <= 0:
        raise ValueError("a ratio needs positive numbers")
    return tuple(math.log(b / a) for a, b in zip(base, other, strict=True))


def log_interval(
    logs: Sequence[float], confidence: float = 0.95, spread: Spread | None = None
) -> Ratio:
    """The same interval from log ratios, by their own spread or another. ValueError of none."""
    mean, _ = mean_and_sd(logs)
    spread = own_spread(logs) if spread is None else spread
    if spread is None:
        return Ratio(value=math.exp(mean), low=None, high=None, blocks=1)
    se = spread.sd / math.sqrt(len(logs))
    low, high = around(logs, t_quantile((1 + confidence) / 2, spread.freedom) * se)
    return Ratio(
        value=ratio_of(mean), low=low, high=high, blocks=len(logs), se=se, freedom=spread.freedom
    )


def difference_interval(differences: Sequence[float]) -> Ratio:
    """The mean of paired differences with its 95 % t interval. ValueError of none."""
    mean, sd = mean_and_sd(differences)
    if sd is None:
        return Ratio(value=mean, low=None, high=None, blocks=1)
    se, freedom = sd / math.sqrt(len(differences)), len(differences) - 1
    reach = t_quantile(0.975, freedom) * se
    return Ratio(
        value=mean,
        low=mean - reach,
        high=mean + reach,
        blocks=len(differences),
        se=se,
        freedom=freedom,
    )


def around(logs: Sequence[float], reach: float) -> tuple[float, float]:
    """The ratios so far, on the scale of logs, from the mean one."""
    mean, _ = mean_and_sd(logs)
    return ratio_of(mean - reach), ratio_of(mean + reach)


def own_spread(logs: Sequence[float]) -> Spread | None:
    """What their own blocks say of their scatter; None under two."""
    sd = mean_and_sd(logs)[1] if logs else None
    return None if sd is None else Spread(sd=sd, freedom=len(logs) - 1)


def mean_and_sd(logs: Sequence[float]) -> tuple[float, float | None]:
    """Their mean and standard deviation (n - 1); no deviation of one. ValueError where none are.

    What is left of rounding counts as 0, so that equal numbers have a spread of exactly 0.
    """
    if len(logs) == 0:
        raise ValueError("no log ratios")
    mean = math.fsum(logs) / len(logs)
    if len(logs) == 1:
        return mean, None
    sd = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1))
    return (0.0 if abs(mean) <= ROUNDING_MAX else mean), (0.0 if sd <= ROUNDING_MAX else sd)


def ratio_of(log: float) -> float:
    """e to it; infinite where no number holds that, as of an interval of two wild blocks."""
    return math.exp(log) if log <= LOG_CHANGE_MAX else math.inf


def share_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Clopper-Pearson interval of a share seen `count` times in `total`; (0, 1) of none."""
    from scipy.special import betaincinv

    if not 0 <= count <= total:
        raise ValueError(f"{count} of {total} is no share")
    side = (1 - confidence) / 2
    low = float(betaincinv(count, total - count + 1, side)) if count > 0 else 0.0
    high = float(betaincinv(count + 1, total - count, 1 - side)) if count < total else 1.0
    return low, high


def sd_interval(sd: float, freedom: int) -> tuple[float, float]:
    """The 95 % interval of a standard deviation seen with so many degrees of freedom, by chi²."""
    from scipy.special import chdtri

    if freedom < 1:
        raise ValueError(f"a standard deviation has at least 1 degree of freedom, not {freedom}")
    low, high = (math.sqrt(freedom / float(chdtri(freedom, p))) for p in (0.025, 0.975))
    return sd * low, sd * high


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: float) -> float:
    """The quantile of Student's t distribution; asked for often, for few numbers of blocks."""
    from scipy.special import stdtrit  # scipy.stats has the same and takes a second to load

    return float(stdtrit(freedom, probability))


def published_percentile(rates: Sequence[float], quantile: float) -> float | None:
    """The element at round(quantile · n), counted from 1, of the rates sorted downwards.

    None under SECONDS_MIN rates. So p99 is a low rate: 99 % of the seconds were at least as fast.
    Formula of the Insert Benchmark's scripts.
    """
    if len(rates) < SECONDS_MIN:
        return None
    return sorted(rates, reverse=True)[max(round(quantile * len(rates)), 1) - 1]
