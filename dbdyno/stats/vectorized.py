"""The tests of `stats` for thousands of metrics at once, which share their number of blocks.

What explains a comparison is some ten thousand tests; one at a time they would take a report longer
than all else. A test holds these figures against those of `stats`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbdyno.stats import significance
from dbdyno.stats.interval import ROUNDING_MAX

Numbers = npt.NDArray[np.float64]

SIGNS_AT_ONCE_MAX = 10
"""With more blocks all sign vectors of all tests at once are too many numbers."""


@dataclass(frozen=True, kw_only=True)
class SampleTests:
    """The tests of one sample, as `stats` has them one by one."""

    sd: float
    p: float  # `stats.t_p`
    p_sign: float  # `stats.sign_flip_p`
    within: float  # `stats.equivalence_p`


def tests(samples: Sequence[Sequence[float]], margin: float) -> list[SampleTests]:
    """The tests of each sample of log ratios; all have the same number, at least two."""
    values = np.asarray(samples, dtype=float)
    count = values.shape[1]
    mean = values.mean(axis=1)
    sd = values.std(axis=1, ddof=1)
    mean[np.abs(mean) <= ROUNDING_MAX] = 0.0
    sd[sd <= ROUNDING_MAX] = 0.0
    far = np.abs(mean)
    room = math.log1p(margin) - far
    columns = (
        sd,
        np.minimum(2 * _below(-far, sd, count), 1.0),
        _sign_flip(values),
        _below(-room, sd, count),
    )
    return [
        SampleTests(sd=sd, p=p, p_sign=p_sign, within=within)
        for sd, p, p_sign, within in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _below(at: Numbers, sd: Numbers, count: int) -> Numbers:
    """Student's distribution at so many standard errors; without a spread 0 below 0, else 1."""
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        chances: Numbers = stdtr(count - 1, at / sd * math.sqrt(count))
    return np.where(sd > 0, chances, np.where(at < 0, 0.0, 1.0))


def _sign_flip(values: Numbers) -> Numbers:
    """The sign-flip test of each row."""
    count = values.shape[1]
    if count > significance.SIGNS_EXACT_MAX:
        return significance.drawn_sign_flip_ps(values)
    if count > SIGNS_AT_ONCE_MAX:
        return np.array([significance.sign_flip_p(row) for row in values.tolist()], dtype=float)
    # A vector and its opposite have sums of one size: half of them are enough.
    rows: npt.NDArray[np.int64] = np.arange(2 ** (count - 1))[:, np.newaxis] >> np.arange(count)
    sums = np.abs(np.where(rows & 1, -1.0, 1.0) @ values.T)
    slack = ROUNDING_MAX * np.maximum(1.0, np.abs(values).sum(axis=1))
    ps: Numbers = (sums >= np.abs(values.sum(axis=1)) - slack).mean(axis=0)
    return ps
