"""How a plan keeps to its `minutes_max`: whether a further block, or a repeat, is over in time."""

from collections.abc import Iterator
from statistics import median

from dbdyno.model.looks import Looks
from dbdyno.run.lab import Lab
from dbdyno.stats import looks as stats

OVER_MAX = 1.05
"""A block that takes as long as the median may end so much later than the plan's minutes: else
more of them are unused."""
LATE_MAX = 1.1
"""And one that takes as long as the longest of the last ones: the limit holds within 10 %."""
LAST = 3
"""So many blocks are the last ones: what was longer before may have been another load."""


def fits(lab: Lab, block_s: float | None = None) -> bool:
    """Whether a further block is over before the plan's time is, and that of the looks.

    `block_s`: the seconds that it takes; None: by the blocks so far. The first block always fits.
    """
    return not any(is_over(lab, limit, block_s) for limit in _limits(lab))


def _limits(lab: Lab) -> Iterator[float]:
    """The plan's minutes, and those that its looks were promised, of which the last is to come."""
    if lab.plan.schedule.minutes_max is not None:
        yield lab.plan.schedule.minutes_max
    looks = lab.results.looks()
    if looks is not None and limits_looks(looks) and can_be_looked_at(lab):
        assert looks.minutes_max is not None
        yield looks.minutes_max


def limits_looks(looks: Looks) -> bool:
    """Whether there is to be a last look when the time is over, which was not taken yet."""
    return looks.first is None and looks.minutes_max is not None and looks.last is None


def can_be_looked_at(lab: Lab) -> bool:
    """Whether there are as many blocks as decide anything."""
    return lab.results.complete() >= stats.BLOCKS_MIN


def is_over(lab: Lab, limit: float | None, block_s: float | None = None) -> bool:
    """Whether a further block would end too late: by `block_s`, else by the blocks so far."""
    if limit is None:
        return False
    if block_s is not None:
        return lab.minutes() + block_s / 60 > LATE_MAX * limit
    minutes = lab.results.minutes()
    if not minutes:
        return False
    if len(minutes) == 1:  # the first one loads data that later ones copy
        return lab.minutes() + _second(lab, minutes[0]) > LATE_MAX * limit
    passed, longest = lab.minutes(), max(minutes[1:][-LAST:])
    return passed + median(minutes) > OVER_MAX * limit or passed + longest > LATE_MAX * limit


def _second(lab: Lab, first: float) -> float:
    """The minutes of the second block: at most those of the first, less where steps were seen."""
    forecast = lab.watch.forecast
    if not any(leg.step for leg, _ in forecast.took):
        return first
    return min(first, forecast.after_s(0, forecast.sure) / 60)
