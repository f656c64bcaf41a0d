"""What a step that is alone gets lent by earlier results of its host.

It has no others to borrow from. What the host's earlier results scattered by is one guess, which
fails on a day that is louder than they were; what the turns of the step's own blocks imply is
another, which fails on a quiet one, as server starts scatter all the same. The greater of both held
at 0.25 to 4 times the usual loudness (docs/method.md, "What earlier results lend"). Pure
arithmetic on log ratios.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.model.host_prior import HostPrior
from dbdyno.stats import interval, moderation
from dbdyno.stats.interval import Spread
from dbdyno.stats.moderation import FREEDOM_MAX, LENT_MAX, LENT_SHARE, LOUD, RAISED

RESULTS_MIN = 5
"""Fewer earlier comparisons lend nothing."""
RESULTS_SHARE = 0.25
"""Of the degrees of freedom of the earlier comparisons together, as many are lent at most."""
CHANCE_FREEDOM_MIN = 0.1
"""So many at least count for how loud a step is."""


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """One metric of one earlier comparison."""

    variance: float  # s² of its log ratios between blocks
    freedom: int  # of it
    by_turns: float  # w²: the variance that the turns of its blocks imply


def fit(results: Sequence[Earlier]) -> HostPrior | None:
    """What earlier comparisons have in common, by the moments of ln s² and of ln(s² / w²).

    Those without any scatter are left out; None where fewer than RESULTS_MIN remain.
    """
    its = [one for one in results if one.variance > 0 and one.by_turns > 0]
    if len(its) < RESULTS_MIN:
        return None
    freedoms = np.array([one.freedom for one in its])
    variances = np.array([one.variance for one in its])
    common, known = moderation.prior(variances, freedoms)
    scale, alike = moderation.prior(variances / [one.by_turns for one in its], freedoms)
    return HostPrior(
        results=len(its),
        freedom=int(freedoms.sum()),
        variance=float(common),
        variance_freedom=min(float(known), FREEDOM_MAX),
        scale=float(scale),
        scale_freedom=min(float(alike), FREEDOM_MAX),
    )


def spread(logs: Sequence[float], by_turns: float | None, prior: HostPrior) -> Spread | None:
    """The scatter of a step's log ratios with what its host's prior lends; None under two blocks.

    With d = n - 1 and F the chance of so large an s² under F(d, lent):

        s0² = max(s0² of the results, c · w²) · (1 + 2 / results)
        lent = min(½ · d0 of the ratios, ¼ · degrees of freedom of the results, 4) · min(1, 4 · F)
        variance = (lent · s0² + d · s²) / (lent + d), of lent + d degrees of freedom

    `by_turns`: w² of these blocks. Without it, and without any scatter, they keep their own.
    """
    from scipy.special import fdtrc

    own = interval.own_spread(logs)
    if own is None or not own.sd or not by_turns:
        return own
    variance, freedom = own.sd**2, own.freedom
    common = max(prior.variance, prior.scale * by_turns) * (1 + RAISED / prior.results)
    most = min(LENT_SHARE * prior.scale_freedom, RESULTS_SHARE * prior.freedom, LENT_MAX)
    chance = float(fdtrc(freedom, max(most, CHANCE_FREEDOM_MIN), variance / common))
    lent = most * min(1.0, LOUD * chance)
    pooled = (lent * common + freedom * variance) / (lent + freedom)
    return Spread(sd=math.sqrt(pooled), freedom=freedom + lent, lent=lent)


def by_turns(blocks: Sequence[Sequence[float]]) -> float | None:
    """w²: the squared standard error of a block's mean that the log ratios of its turns imply.

    Over blocks, each weighed by its degrees of freedom; None where no block has two turns, or none
    scatters.
    """
    its = [turns for turns in blocks if len(turns) > 1]
    freedom = sum(len(turns) - 1 for turns in its)
    squares = math.fsum(
        float(np.var(turns, ddof=1)) / len(turns) * (len(turns) - 1) for turns in its
    )
    return squares / freedom if squares > 0 else None
