"""Doubles of the base: arms that are the same in all, measured beside it.

The *ghost* is shown and compared like any other arm; as nothing differs, what it is said to differ
by is a false alarm. Where many arms are compared, further doubles, which are not shown, are the
base once more, so that no arm is far from a run of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from dbdyno.model import Arm
from dbdyno.plan import schedule

GHOST = "ghost"
AGAIN = ".again"
"""How names of the base's repeats end, with a number from 2."""
REPEAT = re.compile(rf".*{re.escape(AGAIN)}\d+")


def with_doubles(arms: Sequence[Arm], base: str, *, ghost: bool) -> tuple[Arm, ...]:
    """The arms as they are written, then the ghost, then as many repeats of the base as it takes.

    There is a run of the base for each `schedule.OTHERS_MAX` other arms of a block.
    """
    original = next(arm for arm in arms if arm.name == base)
    shown = [*arms, *([replace(original, name=GHOST, same_as=base)] if ghost else [])]
    base_runs = max(1, -(-(len(shown) - 1) // schedule.OTHERS_MAX))
    repeats = [
        replace(original, name=f"{base}{AGAIN}{number}", same_as=base, shown=False)
        for number in range(2, base_runs + 1)
    ]
    return (*shown, *repeats)


def taken(name: str, *, ghost: bool) -> str | None:
    """Why a written arm may not have this name, with a remedy; None: it may."""
    if ghost and name == GHOST:
        return f"`{name}` is the base's double with ghost = true; rename the arm, or remove `ghost`"
    if REPEAT.fullmatch(name):
        return (
            f"names that end like this (`{AGAIN}2`) are those of the base's repeats; rename the arm"
        )
    return None
