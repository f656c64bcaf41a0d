"""What it would still take to tell: the blocks of the look that would settle it."""

import math
from collections.abc import Sequence
from dataclasses import replace

from dbdyno.model.looks import Look
from dbdyno.model.verdict import Aims
from dbdyno.stats import fills, power
from dbdyno.stats.fills import FillVariance
from dbdyno.stats.interval import Spread
from dbdyno.stats.sample import Sample
from dbdyno.stats.significance import SAME_SHARE


def fills_are_used(sample: Sample) -> bool:
    """Whether fills are what is counted, and further blocks add none."""
    return sample.fills is not None and sample.blocks >= sample.fills.planned


def needed(
    spread: Spread, planned: float, coming: Sequence[Look], aims: Aims, sample: Sample | None = None
) -> int | None:
    """The blocks of the first look that finds a change as large as the margin, or its absence.

    Both with `aims.power`, at the spread as it is known; the change at the level `planned` times
    the look's share. Where no look is left: the blocks of a new plan, which has half of the level.
    None where not even the last of them would do. `sample`: what is known of its fills.
    """
    between = None if sample is None else sample.between_fills

    def settles(blocks: int, level: float) -> bool:
        units = blocks
        if sample is not None and sample.fills is not None:
            units = min(blocks, sample.fills.planned)
        own = replace(spread, freedom=units - 1 + spread.lent)
        widened, share = fills.widened(own, units, between), aims.level / SAME_SHARE
        return (
            power.power(aims.margin, widened.sd, units, level, widened.freedom) >= aims.power
            and power.equivalence_power(aims.margin, widened.sd, units, share, widened.freedom)
            >= aims.power
        )

    for look in coming:
        if settles(look.blocks, planned * look.share):
            return look.blocks
    if coming:
        return None
    if between is not None:
        return power.first_that(lambda blocks: settles(blocks, planned / 2))
    changed = power.blocks_for(aims.margin, spread.sd, planned / 2, aims.power)
    unchanged = power.blocks_for_equivalence(
        aims.margin, spread.sd, aims.level / SAME_SHARE, aims.power
    )
    return None if changed is None or unchanged is None else max(changed, unchanged)


def needed_to_exclude(  # noqa: PLR0913 (each by its name)
    spread: Spread,
    room: float,
    wanted: float,
    coming: Sequence[Look],
    level: float,
    between: FillVariance | None,
) -> int | None:
    """The blocks of the first look that excludes a log ratio at a distance of `room` from 0.

    By a one-sided test with the power `wanted`, where nothing differs. Where no look is left: the
    blocks of a new plan, whose first look has half of the level.
    """

    def excludes(blocks: int, share: float) -> bool:
        own = replace(spread, freedom=blocks - 1 + spread.lent)
        wide = fills.widened(own, blocks, between)
        effect = math.expm1(room)
        return power.power(effect, wide.sd, blocks, 2 * level * share, wide.freedom) >= wanted

    for look in coming:
        if excludes(look.blocks, look.share):
            return look.blocks
    return None if coming else power.first_that(lambda blocks: excludes(blocks, 0.5))


def needed_of_signs(
    sample: Sample, planned: float, coming: Sequence[Look], aims: Aims
) -> int | None:
    """The blocks of the look whose sign test finds which of the two stands still, as before.

    Where no look is left: those of a new plan. None where each stood still, or where as many blocks
    as not fell to the other side.
    """
    less, more = sample.sides
    if not sample.stood or (sample.stood_still and sample.base_stood_still):
        return None
    share = (more if sample.more else less) / (less + more)
    for look in coming:
        level = planned * look.share / sample.ways
        if power.blocks_for_signs(share, level, aims.power, look.blocks) is not None:
            return look.blocks
    if coming:
        return None
    return power.blocks_for_signs(share, planned / 2 / sample.ways, aims.power)
