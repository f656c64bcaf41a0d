"""The plan of `dyno calibrate`: the base beside its A/A arm, in comparisons of some blocks each.

Nothing differs between the two, so whatever is found is a false alarm: the share of comparisons
with any, and the noise of each step, hold for the plan's other comparisons on the same host.
"""

from dataclasses import replace

from dbdyno.model import Plan
from dbdyno.model.error import PlanError
from dbdyno.model.plan import REPEATS_MAX
from dbdyno.plan import aa_arm, count
from dbdyno.stats.looks import BLOCKS_MAX, BLOCKS_MIN

SUFFIX = ".calibration"
"""How the result folder's name ends; it begins with the plan's."""
SUFFIX_FILLS = ".fills"
"""What follows where the scatter between fills is measured."""
SUFFIX_COUNT = ".count"
"""The same where the base's work is counted."""
FILLS_MIN, FILLS_MAX = 4, 64
"""Of fills whose scatter is measured; a plan has no more."""
COUNTED_FILLS = 8
"""Fills that a base is counted on, five times each."""
BLOCKS_USUAL = 6
"""Blocks of a comparison where the plan goes on until it is decided: most are by then."""


def of(plan: Plan, comparisons: int, blocks: int | None, fills: int | None = None) -> Plan:
    """The plan of so many comparisons of the base with its A/A arm.

    `blocks`: of each comparison; None: as many as the plan has, or as `fills`, by which the scatter
    between these is measured. Raises PlanError where they are too few or too many, or the base's
    name is the A/A arm's.
    """
    each = blocks_each(plan, fills if blocks is None else blocks)
    if fills is not None:
        refuse_fills(plan, fills, comparisons * each)
    if comparisons < 1:
        raise PlanError(f"--comparisons: must be at least 1, not {comparisons}")
    if comparisons * each > BLOCKS_MAX:
        raise PlanError(
            f"{comparisons} comparisons of {each} blocks are {comparisons * each}, and a plan has "
            f"at most {BLOCKS_MAX}: lower --comparisons or --blocks"
        )
    base = next(arm for arm in plan.arms if arm.name == plan.base)
    why = aa_arm.taken(base.name, aa_arm=True)
    if why is not None:
        raise PlanError(f"{plan.path or 'the plan'}: key `arms.{base.name}`: {why}")
    return replace(
        plan,
        name=name_of(plan, fills),
        arms=aa_arm.with_aa_arms([base], base.name, aa_arm=True),
        aims=replace(plan.aims, tolerate=None),  # nothing is asked of an A/A arm
        schedule=replace(
            plan.schedule,
            blocks=comparisons * each,
            until_decided=False,
            minutes_max=None,
            aa_arm=True,
            comparison=each,
            fills=plan.schedule.fills if fills is None else fills,
        ),
    )


def counts(plan: Plan) -> Plan:
    """The plan that counts the base so often that its scatter is known.

    Raises PlanError where the plan counts nothing.
    """
    if plan.count is None:
        raise PlanError(
            f"{plan.path or 'the plan'}: key `{count.KEY}`: missing, and --count counts its "
            "steps: add the table"
        )
    return replace(
        plan,
        name=f"{plan.name}{SUFFIX}{SUFFIX_COUNT}",
        arms=tuple(arm for arm in plan.arms if arm.name == plan.base),
        aims=replace(plan.aims, tolerate=None),
        schedule=replace(plan.schedule, aa_arm=False, comparison=None),
        count=replace(plan.count, repeats=REPEATS_MAX, fills=COUNTED_FILLS, only=True),
    )


def name_of(plan: Plan, fills: int | None) -> str:
    """The name of the calibration's result folder."""
    return plan.name + SUFFIX + (SUFFIX_FILLS if fills is not None else "")


def refuse_fills(plan: Plan, fills: int, blocks: int) -> None:
    """Raises PlanError where the scatter between so many fills cannot be measured."""
    if all(use.save is None for use in plan.workloads):
        raise PlanError(
            f"{plan.path or 'the plan'}: key `workloads.save`: missing, so every block fills anew "
            "and the scatter between blocks has that between fills; add it, or leave out --fills"
        )
    if not FILLS_MIN <= fills <= FILLS_MAX:
        raise PlanError(f"--fills: must be from {FILLS_MIN} to {FILLS_MAX}, not {fills}")
    if blocks < 2 * fills:
        raise PlanError(
            f"--fills: {blocks} blocks are under two for each of {fills} fills: raise "
            "--comparisons or --blocks"
        )


def blocks_each(plan: Plan, asked: int | None) -> int:
    """The blocks of one comparison. Raises PlanError where they are too few to compare."""
    if asked is not None:
        if asked < BLOCKS_MIN:
            raise PlanError(f"--blocks: must be at least {BLOCKS_MIN}, not {asked}")
        return asked
    if plan.schedule.until_decided:
        return BLOCKS_USUAL
    if plan.schedule.blocks < BLOCKS_MIN:
        raise PlanError(
            f"{plan.path or 'the plan'}: key `schedule.blocks`: one block decides nothing, so "
            f"there is nothing to calibrate; give --blocks, such as --blocks {BLOCKS_USUAL}"
        )
    return plan.schedule.blocks
