"""How long steps and their turns are in a plan that runs until it is decided and leaves that open.

Long steps waste time where the noise is one of server starts, short ones where starting a server
takes longer than the step. A calibration of this host decides both; without one, that several
blocks have time. A folder's first command settles it for good, as blocks are pooled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from statistics import median_low

from dbdyno.host.observe import facts
from dbdyno.model import Lengths, Plan, Schedule, WorkloadUse
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.noise_budget import WORTH_MAX, Calibrated, NoiseBudget, Way, left_of
from dbdyno.model.plan import LENGTH
from dbdyno.model.step import StepName
from dbdyno.plan import schedule
from dbdyno.plan.calibration import BLOCKS_USUAL
from dbdyno.plan.schema import TURN_S_MAX, TURN_S_MIN
from dbdyno.run.check import preflight
from dbdyno.run.check.block_time import LOOK_S, before_s, block_s
from dbdyno.run.prepared import Prepared
from dbdyno.store import Results

SECONDS_MIN = 4
"""Shorter steps have too few turns to balance their order."""
QUARTERS_MAX = 20
"""Shorter steps have quarters of a second, too, as half a one is much of their time."""
SECONDS_MAX = 60
"""Longer ones are not chosen without a calibration."""
PROBED_S = (10.0, 20.0)
"""Lengths for which a block's time is reckoned; between and beyond them it is a straight line."""
TURNS: tuple[Way, ...] = ("shorter turns", "longer turns")

Find = Callable[[Path, HostFacts, Plan, Set[StepName]], Calibrated | None]
"""The newest result in a folder that tells of the noise of these steps of the plan, on the host of
these facts: judging is not done here."""


def settle(plan: Plan, folder: Path, find: Find) -> Plan:
    """The plan with the lengths that it leaves open: those of `folder`, where it goes on, or new.

    Raises DynoError subclasses as preflight does.
    """
    if not is_open(plan):
        return plan
    before = Results.begun_plan(folder)
    if before is not None:
        written = before.get("lengths")
        return plan if written is None else with_lengths(plan, Lengths(**written))
    chosen = choose(plan, folder.parent, find)
    return plan if chosen is None else with_lengths(plan, chosen)


def is_open(plan: Plan) -> bool:
    """Whether the plan leaves open how long steps are that its arms take in turns."""
    turns = plan.schedule.until_decided and plan.schedule.interleave == "turn"
    return turns and any(leaves_open(plan, use) for use in plan.workloads)


def leaves_open(plan: Plan, use: WorkloadUse) -> bool:
    """Whether the plan gives the workload no length, by itself or by a preset."""
    file = preflight.load(plan, use).file
    given = {*use.parameters, *(file.presets[use.preset] if use.preset is not None else ())}
    return LENGTH in file.parameters and LENGTH not in given


def with_lengths(plan: Plan, lengths: Lengths) -> Plan:
    """The plan as if it had named these lengths."""
    uses = [
        replace(use, parameters={**use.parameters, LENGTH: lengths.seconds})
        if leaves_open(plan, use)
        else use
        for use in plan.workloads
    ]
    turns = replace(plan.schedule, turn_s_chosen=lengths.turn_s)
    return replace(plan, workloads=tuple(uses), schedule=turns, lengths=lengths)


def described(lengths: Lengths) -> str:
    """The choice and its reason, in a line."""
    text = f"{lengths.seconds:g} s of each step for each arm and block, in turns of "
    text += f"{lengths.turn_s:g} s, "
    if lengths.calibration is None:
        return (
            text + f"so that {BLOCKS_USUAL} blocks have time (no calibration of these steps here)"
        )
    return text + f"by the noise in {lengths.calibration}"


# --- The choice ------------------------------------------------------------------------------


def choose(plan: Plan, parent: Path, find: Find) -> Lengths | None:
    """The lengths by the newest calibration in `parent`, and by the time that the plan has.

    None where no step lasts longer for them, as those that end with an amount of work.
    """
    prepared = preflight.prepare(plan)
    lasts_s = {seconds: lasting_s(plan, prepared, seconds) for seconds in PROBED_S}
    assert plan.schedule.minutes_max is not None, "what runs until it is decided has a limit"
    if len(set(lasts_s.values())) == 1:
        return None
    room_s = 60 * plan.schedule.minutes_max - before_s(plan, prepared)
    fits_s = fitting_s(lasts_s, room_s / BLOCKS_USUAL - LOOK_S)
    host = facts.collect(prepared.data_path, measure=False)
    calibrated = find(parent, host, plan, measured(plan, prepared))
    if calibrated is None:
        return Lengths(seconds=whole(min(fits_s, SECONDS_MAX)), turn_s=plan.schedule.turn_s)
    return Lengths(
        seconds=whole(min(fits_s, best_seconds(calibrated.budgets))),
        turn_s=best_turn_s(plan.schedule, calibrated.budgets),
        calibration=calibrated.folder,
    )


def lasting_s(plan: Plan, prepared: Prepared, seconds: float) -> float:
    """A guess of how long a block is with steps of so many seconds."""
    tried = with_lengths(plan, Lengths(seconds=seconds, turn_s=plan.schedule.turn_s))
    steps = preflight.expanded(tried, prepared.releases, prepared.sizing)
    return block_s(tried, replace(prepared, steps=steps), BLOCKS_USUAL)


def fitting_s(lasts_s: Mapping[float, float], room_s: float) -> float:
    """The length of a step with which a block takes so many seconds.

    `lasts_s`: by two lengths how long a block is with them.
    """
    (short, short_s), (long, long_s) = sorted(lasts_s.items())
    slope = (long_s - short_s) / (long - short)
    return short + (room_s - short_s) / slope


def measured(plan: Plan, prepared: Prepared) -> frozenset[StepName]:
    """The steps that arms take in turns, by workload and name."""
    steps = [
        step
        for use in plan.workloads
        for step in schedule.in_turn(plan, use, prepared.steps[use.title][plan.base])[1]
    ]
    return frozenset((step.workload, step.name) for step in steps if step.measured)


def best_seconds(budgets: Sequence[NoiseBudget]) -> float:
    """At which length of a step an error takes least time: the median of metrics and steps.

    Without noise of server starts that is the longest which fits.
    """
    known = [math.inf if budget.best_seconds is None else budget.best_seconds for budget in budgets]
    return median_low(known)


def best_turn_s(of: Schedule, budgets: Sequence[NoiseBudget]) -> float:
    """The length of turns that leaves least of the error, where it is worth a change.

    The plan's own where it names one, or where the calibration's turns were too short to tell.
    """
    left = {way: share for way in TURNS if (share := left_of(budgets, way)) is not None}
    best = min(left, key=lambda way: left[way], default=None)
    lengths = [
        prospect.turn_s
        for budget in budgets
        for prospect in budget.prospects
        if prospect.way == best and prospect.turn_s
    ]
    if of.turn_s_chosen is not None or best is None or left[best] > WORTH_MAX or not lengths:
        return of.turn_s
    return min(max(median_low(lengths), TURN_S_MIN), TURN_S_MAX)


def whole(seconds: float) -> float:
    """Whole seconds that are enough for some turns; of short steps quarters, too."""
    parts = 4 if seconds < QUARTERS_MAX else 1
    return max(math.floor(seconds * parts) / parts, float(SECONDS_MIN))
