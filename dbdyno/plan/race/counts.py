"""The counts of a race: alone, or before its blocks where they take little of its minutes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dbdyno import engine
from dbdyno.model import Step
from dbdyno.plan import counted_step
from dbdyno.plan.count import pass_s
from dbdyno.plan.race.arm import RaceArm

SHARES_MAX = {2: 0.1, 1: 0.2}
"""By how often each arm is counted: of a race's minutes, for counts beside time. Counts repeat, so
that a second one only tests them, and what it takes is less for the windows.
"""


def only() -> Iterator[str]:
    """The lines of a plan that counts and measures no time."""
    yield ""
    yield "[count]"
    yield "only = true  # time is not measured; remove the line to measure it, too"


def beside_time(arms: Sequence[RaceArm], steps: Sequence[Step], minutes: float) -> Iterator[str]:
    """The lines of a plan that also counts; none where that cannot be, or takes too long.

    `steps`: those after the tables are in place.
    """
    measured = [step for step in steps if step.measured]
    names = [step.name for step in measured if counted_step.uncountable(step) is None]
    if not names or not countable(arms):
        return
    start_s = engine.of(arms[0].engine).counting.start_s
    for repeats, share in SHARES_MAX.items():
        if pass_s(len(names), len(arms), repeats, start_s) <= share * 60 * minutes:
            yield ""
            yield "[count]  # of instructions, a reason beside verdicts of time (docs/counts.md)"
            yield f"repeats = {repeats}"
            if len(names) < len(measured):
                yield f"steps = {json.dumps(names, ensure_ascii=False)}"
            return


def countable(arms: Sequence[RaceArm]) -> bool:
    """Whether the arms' servers are made here, can be counted, and are of one family."""
    families = {engine.of(arm.engine).traits.family for arm in arms}
    can = all("counted" in engine.of(arm.engine).traits.can and not arm.elsewhere for arm in arms)
    if not can or len(families) > 1:
        return False
    return not any(engine.of(arm.engine).counting.refused_of(arm.settings) for arm in arms)
