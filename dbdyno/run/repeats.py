"""When a disturbed block is measured again: all blocks of a plan share one budget."""

from collections import Counter

from dbdyno.run import time_limit
from dbdyno.run.lab import Lab
from dbdyno.store import Results


def why_not_again(lab: Lab, number: int, block_s: float) -> str | None:
    """Why a disturbed block of so many seconds is not repeated; None where it is."""
    most = lab.plan.schedule.repeats_max
    if not most:
        return "`repeats_max` is 0"
    if in_vain(lab.results, number) >= most:
        return f"{most} repeats of the plan were disturbed, too (`repeats_max`)"
    if not time_limit.fits(lab, block_s):
        return "a repeat does not fit into `minutes_max`"
    return None


def in_vain(results: Results, running: int) -> int:
    """How many repeats of the plan's blocks were disturbed as well; block `running` is now.

    Of a block's tries the first is no repeat; one that counts undisturbed was not in vain.
    """
    blocks = results.blocks()
    disturbed = [block.number for block in blocks if block.cause is not None]
    disturbed += [block.number for block in blocks if block.disturbed() and not block.void]
    tries = Counter([*disturbed, running])
    return sum(count - 1 for count in tries.values())


def of_block(results: Results, number: int) -> int:
    """How often a block was void for a cause for which it is done again by itself."""
    return sum(block.number == number and block.cause is not None for block in results.blocks())
