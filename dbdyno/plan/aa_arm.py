"""A/A arms: arms that are the base in all, measured beside it.

One is shown and compared like any other arm; as nothing differs, every reported difference is a
false alarm. Where many arms are compared, further A/A arms, which are not shown, are the base once
more, so that no arm is far from a run of it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from dbdyno.model import Arm
from dbdyno.plan import schedule

SHOWN = "ghost"
"""The name of the A/A arm that is shown, as results have had it from the first."""
AGAIN = ".again"
"""How names of hidden A/A arms end, with a number from 2."""
HIDDEN = re.compile(rf".*{re.escape(AGAIN)}\d+")


def with_aa_arms(arms: Sequence[Arm], base: str, *, aa_arm: bool) -> tuple[Arm, ...]:
    """The arms as they are written, then the A/A arm, then as many hidden ones as it takes.

    There is a run of the base for each `schedule.OTHERS_MAX` other arms of a block.
    """
    original = next(arm for arm in arms if arm.name == base)
    shown = [*arms, *([replace(original, name=SHOWN, same_as=base)] if aa_arm else [])]
    base_runs = max(1, -(-(len(shown) - 1) // schedule.OTHERS_MAX))
    hidden = [
        replace(original, name=f"{base}{AGAIN}{number}", same_as=base, shown=False)
        for number in range(2, base_runs + 1)
    ]
    return (*shown, *hidden)


def taken(name: str, *, aa_arm: bool) -> str | None:
    """Why a written arm may not have this name, with a remedy; None: it may."""
    if aa_arm and name == SHOWN:
        return f"`{name}` is the A/A arm's name; rename the arm, or remove `schedule.aa_arm`"
    if HIDDEN.fullmatch(name):
        return f"names that end like this (`{AGAIN}2`) are those of hidden A/A arms; rename the arm"
    return None
