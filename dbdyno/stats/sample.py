"""What is judged of one metric: its log ratios by block, and who stood still."""

import math
from dataclasses import dataclass
from functools import cached_property

from dbdyno.model.ratio import Bound, Ratio
from dbdyno.model.verdict import Order, Reason
from dbdyno.stats import fills
from dbdyno.stats.fills import FillCount, FillVariance
from dbdyno.stats.interval import ratio_of


@dataclass(frozen=True, kw_only=True)
class OrderPattern:
    """What the order of the arms could do to each block's log ratio."""

    name: Order
    values: tuple[float, ...]  # by block


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A metric of one arm in one step, by the nearest base's.

    Its units are blocks, or fills with the mean of their blocks each.
    """

    metric: str
    better: int  # +1 where more is better, -1 where less is; 0 neither: then "faster" means more
    logs: tuple[float, ...]  # ln(arm / nearest base) by unit in which both ran
    at: tuple[int, ...] = ()  # the numbers of these blocks, where they are known
    patterns: tuple[OrderPattern, ...] = ()  # of these blocks, where arms ran one after the other
    copies: tuple[int, ...] = ()  # golden copies that these blocks begin from; none: one, or units
    bound: Bound = "exact"  # of the ratio
    bounded_by: Reason = ""  # why, where it is not exact
    stood_still: int = 0  # further units in which it is 0 of the arm alone
    base_stood_still: int = 0  # and of the base alone
    known: Ratio | None = None  # the interval of `logs`, where it is computed already
    fills: FillCount | None = None  # where fills are the units; None: blocks are
    between_fills: FillVariance | None = None  # where all blocks begin from one, if it is known
    base: float | None = None  # of service times: the base's own, in microseconds

    @cached_property
    def interval(self) -> Ratio | None:
        """The mean ratio of the units in which both ran, with its interval; None of none."""
        if self.known is None and self.logs:
            return fills.log_interval(self.logs, self.between_fills)
        return self.known

    @property
    def blocks(self) -> int:
        """All units that count; at least one."""
        return len(self.logs) + self.stood_still + self.base_stood_still

    @property
    def compares(self) -> bool:
        """Whether there is a ratio, or one of the two that stood still while the other ran."""
        return bool(self.logs) or (self.stood_still > 0) != (self.base_stood_still > 0)

    @property
    def stood(self) -> bool:
        """Whether one of the two stood still in a block."""
        return self.stood_still + self.base_stood_still > 0

    @property
    def more(self) -> bool:
        """Whether the arm has more of the metric; it never has where it stood still."""
        return self.base_stood_still > 0 if self.stood else math.fsum(self.logs) > 0

    @property
    def sides(self) -> tuple[int, int]:
        """In how many blocks the arm has less of it, and more; ties are in neither."""
        less, more = (sum(sign * log > 0 for log in self.logs) for sign in (-1, 1))
        return less + self.stood_still, more + self.base_stood_still

    @property
    def nearest(self) -> float | None:
        """The ratio of the block nearest to no change; None unless two or more lie to one side."""
        sides = {log > 0 for log in self.logs}
        if self.stood or len(self.logs) < 2 or len(sides) > 1:
            return None
        return ratio_of(min(self.logs, key=abs))

    @property
    def ways(self) -> int:
        """Among how many tests its level is shared: where one stood still there are two."""
        return 2 if self.stood and len(self.logs) > 1 else 1

    @property
    def ratio(self) -> float:
        """The mean ratio of the blocks in which both ran; 0 or infinite where there are none.

        ValueError of a sample without blocks.
        """
        if self.interval is not None:
            return self.interval.value
        if not self.stood:
            raise ValueError(f"no block has `{self.metric}` of both")
        return math.inf if self.more else 0.0
