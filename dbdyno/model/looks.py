"""When a plan is looked at, and what share of the level each look has: looks.json.

Types only; docs/method.md, "Looks", has the reasons and `stats.looks` the arithmetic.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Looks:
    """Which looks a result has; fixed before its first block, so that nothing seen moves them."""

    first: int | None  # N of `blocks = N`: looks at N, 2N, 4N …; None: "until decided"
    minutes_max: float | None = None  # of "until decided"; the look when it is over is the last
    last: int | None = None  # the block with which `minutes_max` was over; None: it is not yet


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look: after so many blocks, with this share of the level."""

    blocks: int
    share: float


@dataclass(frozen=True, kw_only=True)
class LookProgress:
    """How far the looks of a result have come."""

    looks: Looks
    taken: tuple[Look, ...]  # those that its complete blocks have reached, in their order
    coming: Look | None  # the next one; None: there is none
