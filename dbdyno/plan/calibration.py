"""The plan of `dyno calibrate`: the base beside its ghost, in comparisons of some blocks each.

Nothing differs between the two, so whatever is found is a false alarm: the share of comparisons
with any, and the noise of each step, hold for the plan's other comparisons on the same host.
"""

from __future__ import annotations

from dataclasses import replace

from dbdyno.model import Plan
from dbdyno.model.error import PlanError
from dbdyno.plan import double
from dbdyno.stats.looks import BLOCKS_MAX, BLOCKS_MIN

SUFFIX = ".calibration"
"""How the result folder's name ends; it begins with the plan's."""
BLOCKS_OF_AUTO = 6
"""Blocks of a comparison where the plan goes on until it is decided: most are by then."""


def of(plan: Plan, comparisons: int, blocks: int | None) -> Plan:
    """The plan of so many comparisons of the base with its ghost.

    `blocks`: of each comparison; None: as many as the plan has. Raises PlanError where they are too
    few or too many, or the base's name is the ghost's.
    """
    each = blocks_each(plan, blocks)
    if comparisons < 1:
        raise PlanError(f"--comparisons: must be at least 1, not {comparisons}")
    if comparisons * each > BLOCKS_MAX:
        raise PlanError(
            f"{comparisons} comparisons of {each} blocks are {comparisons * each}, and a plan has "
            f"at most {BLOCKS_MAX}: lower --comparisons or --blocks"
        )
    base = next(arm for arm in plan.arms if arm.name == plan.base)
    why = double.taken(base.name, ghost=True)
    if why is not None:
        raise PlanError(f"{plan.path or 'the plan'}: key `arms.{base.name}`: {why}")
    return replace(
        plan,
        name=plan.name + SUFFIX,
        arms=double.with_doubles([base], base.name, ghost=True),
        schedule=replace(
            plan.schedule,
            blocks=comparisons * each,
            until_decided=False,
            minutes_max=None,
            ghost=True,
            comparison=each,
        ),
    )


def blocks_each(plan: Plan, asked: int | None) -> int:
    """The blocks of one comparison. Raises PlanError where they are too few to compare."""
    if asked is not None:
        if asked < BLOCKS_MIN:
            raise PlanError(f"--blocks: must be at least {BLOCKS_MIN}, not {asked}")
        return asked
    if plan.schedule.until_decided:
        return BLOCKS_OF_AUTO
    if plan.schedule.blocks < BLOCKS_MIN:
        raise PlanError(
            f"{plan.path or 'the plan'}: key `schedule.blocks`: one block decides nothing, so "
            f"there is nothing to calibrate; give --blocks, such as --blocks {BLOCKS_OF_AUTO}"
        )
    return plan.schedule.blocks
