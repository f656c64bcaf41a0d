"""What earlier results of a host lend to the only step of a new one: prior.json.

Types only; docs/method.md has the reasons and `stats.host_prior` the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

IN_TURNS = "slice"
"""The interleaving with which anything is lent: turns alone tell how loud a day is, and of a duet's
halves it was not tried."""


@dataclass(frozen=True, kw_only=True)
class HostPrior:
    """One metric's scatter between blocks, and how it follows from its turns."""

    results: int  # earlier comparisons, each of which is one unit
    freedom: int  # degrees of freedom of their variances, all together
    variance: float  # s0²: of log ratios between blocks, as they had it
    variance_freedom: float  # d0 of it
    scale: float  # by which it is larger than what the turns of the same blocks imply
    scale_freedom: float  # d0 of the ratios: how alike they were


@dataclass(frozen=True, kw_only=True)
class Prior:
    """The contents of prior.json, written before the first block and never changed."""

    workload: str
    step: str
    folders: tuple[str, ...]  # names of the result folders that it is made from
    metrics: Mapping[str, HostPrior]  # by primary metric
