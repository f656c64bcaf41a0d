"""How sure a difference of sampled costs is: what a profile's few samples leave open.

A function that holds one percent of a thousand samples has ten of them, give or take three. So its
cost in a block is a count with noise that is known beforehand, and blocks add what differs between
them. Reasons stand in docs/profiles.md.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbdyno.stats import moderation
from dbdyno.stats.interval import Spread, t_quantile

Numbers = npt.NDArray[np.float64]

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class ArmSamples:
    """The samples of one arm by block, and what all of them together stand for."""

    counts: Numbers  # parts by blocks
    samples: Numbers  # by block: of all parts
    cost: Numbers  # by block: microseconds of CPU for each operation

    @property
    def costs(self) -> Numbers:
        """Each part's microseconds for each operation, parts by blocks."""
        costs: Numbers = self.counts / self.samples * self.cost
        return costs

    @property
    def sampling_variance(self) -> Numbers:
        """The variance that counting alone gives each part's cost, parts by blocks.

        cost² · p · (1 - p) / samples, with p the part's share in all blocks of the arm; half a
        sample is added, as a part that was never seen may still be there (Agresti & Coull 1998).
        """
        share = (self.counts.sum(axis=1) + 0.5) / (self.samples.sum() + 1.0)
        variance: Numbers = np.outer(share * (1 - share), self.cost**2 / self.samples)
        return variance


@dataclass(frozen=True, kw_only=True)
class PartChange:
    """A part's mean change over blocks, with its interval and p; None with one block."""

    value: float
    low: float | None
    high: float | None
    p: float | None  # two-sided, that nothing changed
    surely: float  # how many standard errors it is from 0


def changes(base: ArmSamples, arm: ArmSamples) -> list[PartChange]:
    """The change of each part, arm less base, both with the same blocks in one order.

    With d the differences of a part by block and v their mean sampling variance: the scatter of
    d / √v is moderated over the parts (`moderation.spreads`), counts at least 1, since no profile
    scatters less than its counts, and times √v is the standard deviation of a t interval and test.
    """
    differences = arm.costs - base.costs
    counted = np.sqrt((base.sampling_variance + arm.sampling_variance).mean(axis=1))
    blocks = differences.shape[1]
    means = differences.mean(axis=1)
    if blocks < 2:
        return [
            PartChange(value=float(mean), low=None, high=None, p=None, surely=abs(float(mean / sd)))
            for mean, sd in zip(means, counted, strict=True)
        ]
    spreads = moderation.spreads((differences / counted[:, None]).tolist())
    return [
        _change(float(mean), float(sd), spread, blocks)
        for mean, sd, spread in zip(means, counted, spreads, strict=True)
    ]


def _change(mean: float, counted: float, spread: Spread, blocks: int) -> PartChange:
    from scipy.special import stdtr

    error = max(1.0, spread.sd) * counted / math.sqrt(blocks)
    reach = t_quantile((1 + CONFIDENCE) / 2, spread.freedom) * error
    away = abs(mean) / error
    return PartChange(
        value=mean,
        low=mean - reach,
        high=mean + reach,
        p=float(2 * stdtr(spread.freedom, -away)),
        surely=away,
    )
