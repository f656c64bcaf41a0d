"""How long steps are in a plan that runs until it is decided and leaves that open.

Long steps waste time where the noise is one of server starts, short ones where starting a server
takes longer than the step: so several blocks have time. A folder's first command settles it for
good, as blocks are pooled.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dbdyno.engine import Build
from dbdyno.model import Plan, WorkloadUse
from dbdyno.model.plan import LENGTH
from dbdyno.plan.calibration import BLOCKS_USUAL
from dbdyno.run.check import preflight
from dbdyno.run.check.block_time import LOOK_S, before_s, block_s
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.store import Results

SECONDS_MIN = 4
"""Shorter steps have too few turns to balance their order."""
QUARTERS_MAX = 20
"""Shorter steps have quarters of a second, too, as half a one is much of their time."""
SECONDS_MAX = 60
"""Longer ones are not chosen."""
PROBED_S = (10.0, 20.0)
"""Lengths for which a block's time is reckoned; between and beyond them it is a straight line."""


def settle(plan: Plan, folder: Path, foreseen: Mapping[str, Build] | None = None) -> Plan:
    """The plan with the length of steps that it leaves open: `folder`'s, where it goes on, or new.

    `foreseen`: by arm builds that are yet to be made. Raises DynoError as preflight does.
    """
    if not is_open(plan):
        return plan
    before = Results.begun_plan(folder)
    seconds = choose(plan, foreseen) if before is None else before.get("chosen_s")
    return plan if seconds is None else with_seconds(plan, seconds)


def is_open(plan: Plan) -> bool:
    """Whether the plan leaves open how long steps are that its arms take in turns."""
    turns = plan.schedule.until_decided and plan.schedule.interleave == "turn"
    return turns and any(leaves_open(plan, use) for use in plan.workloads)


def leaves_open(plan: Plan, use: WorkloadUse) -> bool:
    """Whether the plan gives the workload no length, by itself or by a preset."""
    file = preflight.load(plan, use).file
    given = {*use.parameters, *(file.presets[use.preset] if use.preset is not None else ())}
    return LENGTH in file.parameters and LENGTH not in given


def with_seconds(plan: Plan, seconds: float) -> Plan:
    """The plan as if it had named this length of its steps."""
    uses = [
        replace(use, parameters={**use.parameters, LENGTH: seconds})
        if leaves_open(plan, use)
        else use
        for use in plan.workloads
    ]
    return replace(plan, workloads=tuple(uses), chosen_s=seconds)


def described(plan: Plan) -> str:
    """The choice and its reason, in a line."""
    return (
        f"{plan.chosen_s:g} s of each step for each arm and block, in turns of "
        f"{plan.schedule.turn_s:g} s, so that {BLOCKS_USUAL} blocks have time"
    )


# --- The choice ------------------------------------------------------------------------------


def choose(plan: Plan, foreseen: Mapping[str, Build] | None = None) -> float | None:
    """The length by the time that the plan has.

    None where no step lasts longer for it, as those that end with an amount of work.
    """
    prepared = preflight.prepare(plan, foreseen=foreseen)
    lasts_s = {seconds: lasting_s(plan, prepared, seconds) for seconds in PROBED_S}
    assert plan.schedule.minutes_max is not None, "what runs until it is decided has a limit"
    if len(set(lasts_s.values())) == 1:
        return None
    room_s = 60 * plan.schedule.minutes_max - before_s(plan, prepared)
    return whole(min(fitting_s(lasts_s, room_s / BLOCKS_USUAL - LOOK_S), SECONDS_MAX))


def lasting_s(plan: Plan, prepared: ReadyPlan, seconds: float) -> float:
    """A guess of how long a block is with steps of so many seconds."""
    tried = with_seconds(plan, seconds)
    steps = preflight.expanded(tried, prepared.releases, prepared.sizing)
    return block_s(tried, replace(prepared, steps=steps), BLOCKS_USUAL)


def fitting_s(lasts_s: Mapping[float, float], room_s: float) -> float:
    """The length of a step with which a block takes so many seconds.

    `lasts_s`: by two lengths how long a block is with them.
    """
    (short, short_s), (long, long_s) = sorted(lasts_s.items())
    slope = (long_s - short_s) / (long - short)
    return short + (room_s - short_s) / slope


def whole(seconds: float) -> float:
    """Whole seconds that are enough for some turns; of short steps quarters, too."""
    parts = 4 if seconds < QUARTERS_MAX else 1
    return max(math.floor(seconds * parts) / parts, float(SECONDS_MIN))
