"""The highest rate at which response times stay under a limit: a bisection over rates. Pure.

The load sets the rate, so that a rate that the server cannot do lets operations wait, and their
response times grow with the window. As many connections in a closed loop do no less than the
highest rate there is, so the search begins at half of that.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

PROBES_MAX = 10
"""So many windows at most: enough for rates down to a thirtieth of the closed loop's."""
RESOLUTION = 1.03
"""The search ends where the lowest rate that misses is at most so many times what holds."""
PROBES_USUAL = 6
"""Windows where half of the closed loop's rate holds: one, and five that halve the rest."""


class Probe(NamedTuple):
    """A window at a rate."""

    per_s: float
    held: bool  # whether response times were under the limit


def next_rate(closed_per_s: float, probes: Sequence[Probe]) -> float | None:
    """The rate of the next window; None: the search is over.

    `closed_per_s`: what as many connections did as fast as they could.
    """
    if len(probes) >= PROBES_MAX:
        return None
    low, high = between(closed_per_s, probes)
    if low is None:
        return high / 2
    return None if high / low <= RESOLUTION else math.sqrt(low * high)


def highest(closed_per_s: float, probes: Sequence[Probe]) -> float | None:
    """What was found: the middle, on the scale of logs, of what holds and what misses.

    None where no rate held.
    """
    low, high = between(closed_per_s, probes)
    return None if low is None else math.sqrt(low * high)


def between(closed_per_s: float, probes: Sequence[Probe]) -> tuple[float | None, float]:
    """The highest rate that held, and the lowest that missed: without one the closed loop's."""
    low = max((probe.per_s for probe in probes if probe.held), default=None)
    high = min((probe.per_s for probe in probes if not probe.held), default=closed_per_s)
    return low, high
