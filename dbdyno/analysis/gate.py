"""The answer of a gate: by counts of work, and by a race that a second layout has to confirm."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import structs

from dbdyno.model import Cell, Comparison
from dbdyno.model.gate import Change, ChangedEvents, ChangedWork, GateStep, TimeCheck, WorkCheck
from dbdyno.model.step import StepName
from dbdyno.model.tolerance import StepTolerance, worst
from dbdyno.model.work import WorkChange

FUNCTIONS_MAX = 20
BY_LAYOUT = "slower with one layout of its code, and not with another"
OTHERWISE = "slower with two layouts of its code, and not by the same metric"
ONE_LAYOUT = "slower with one layout of its code, and"
NOT_COUNTED = "it was not counted"
NOT_RACED = "it was not raced"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured for a gate so far."""

    head: str  # its arm
    counted: Comparison
    raced: Comparison | None = None
    relaid: Comparison | None = None  # both sides built again with another layout
    unraced: str = ""  # why there is no race
    unrelaid: str = ""  # why sides that lost time were not built again


def steps(measured: Measured, work: float, time: float | None) -> tuple[GateStep, ...]:
    """The answer of each step. `work`, `time`: tolerances; None: time is not asked for."""
    changes = {} if measured.counted.work is None else {
        change.step: change for change in measured.counted.work.changes
    }  # fmt: skip
    raced, relaid = cells(measured.raced, measured.head), cells(measured.relaid, measured.head)
    names = [*changes, *(name for name in raced if name not in changes)]
    checks = {
        name: (
            of_work(changes.get(name), work),
            None if time is None else of_time(raced.get(name), relaid.get(name), measured),
        )
        for name in names
    }
    return tuple(
        GateStep(
            workload=name[0],
            step=name[1],
            answer=worst(check.answer for check in pair if check is not None),
            work=pair[0],
            time=pair[1],
        )
        for name, pair in checks.items()
    )


def lost(measured: Measured) -> tuple[str, ...]:
    """The steps that lost more time than tolerated, so that another layout has to confirm it."""
    raced = cells(measured.raced, measured.head)
    return tuple(
        step
        for (_, step), cell in raced.items()
        if cell.tolerated is not None and cell.tolerated.answer == "no" and cell.tolerated.by
    )


def cells(comparison: Comparison | None, arm: str) -> dict[StepName, Cell]:
    """The arm's cells by step."""
    every = () if comparison is None else comparison.steps
    return {
        (step.workload, step.step): cell for step in every for cell in step.cells if cell.arm == arm
    }


# --- Work -------------------------------------------------------------------------------------


def of_work(change: WorkChange | None, tolerate: float) -> WorkCheck:
    """What counts say of a step: no more work beyond the tolerance, by the whole interval."""
    if change is None or change.ratio is None or change.base is None or change.work is None:
        return WorkCheck(answer="not yet", reason=NOT_COUNTED if change is None else change.reason)
    ratio = change.ratio
    low, high = ratio.low or ratio.value, ratio.high or ratio.value
    more = low > 1 + tolerate
    undecided = not more and high > 1 + tolerate
    return WorkCheck(
        answer="no" if more else "not yet" if undecided else "yes",
        reason=(change.reason or "repeats differ too much") if undecided else "",
        base=round(change.base.instructions, 1),
        head=round(change.work.instructions, 1),
        change=Change(ratio=ratio.value, low=ratio.low, high=ratio.high),
        events=tuple(
            ChangedEvents(event=event.event, base=event.base, head=event.arm)
            for event in change.events
        ),
        functions=tuple(
            ChangedWork(
                function=function.function,
                subsystem=function.subsystem,
                instructions=round(function.change, 1),
                calls=round(function.arm_calls - function.base_calls, 2),
            )
            for function in change.changed[:FUNCTIONS_MAX]
        ),
    )


# --- Time -------------------------------------------------------------------------------------


def of_time(cell: Cell | None, relaid: Cell | None, measured: Measured) -> TimeCheck:
    """What races say of a step: a loss accuses only if it is there with another layout, too."""
    if cell is None or cell.tolerated is None:
        return TimeCheck(answer="not yet", reason=measured.unraced or NOT_RACED)
    again = None if relaid is None else relaid.tolerated
    shared = tuple(name for name in cell.tolerated.by if again is not None and name in again.by)
    said = check(cell, cell.tolerated, shared or cell.tolerated.by)
    if said.answer != "no" or not cell.tolerated.by:
        return said
    if relaid is None or again is None:
        reason = f"{ONE_LAYOUT} {measured.unrelaid or NOT_RACED}"
        return structs.replace(said, answer="not yet", reason=reason)
    name = said.metric
    confirmed = check(relaid, again, () if name is None else (name,))
    if again.answer == "no" and (shared or not again.by):
        return structs.replace(said, answer="no", reason=again.reason, relaid=confirmed.change)
    reasons = {"yes": BY_LAYOUT, "no": OTHERWISE, "not yet": f"{ONE_LAYOUT} not known with another"}
    return structs.replace(
        said,
        answer="yes" if again.answer == "yes" else "not yet",
        reason=reasons[again.answer],
        relaid=confirmed.change,
        blocks_needed=again.blocks_needed,
        minutes_needed=again.minutes_needed,
    )


def check(cell: Cell, tolerated: StepTolerance, by: tuple[str, ...]) -> TimeCheck:
    """What one race says of a step, by the first of these metrics, else by the step's first."""
    judgements = () if cell.verdict is None else cell.verdict.judgements
    judgement = next(iter([*(each for each in judgements if each.metric in by), *judgements]), None)
    change = None
    if judgement is not None:
        ratio, low, high = judgement.told
        change = Change(ratio=ratio, low=low, high=high)
    return TimeCheck(
        answer=tolerated.answer,
        reason=tolerated.reason,
        metric=None if judgement is None else judgement.metric,
        change=change,
        blocks_needed=tolerated.blocks_needed,
        minutes_needed=tolerated.minutes_needed,
    )
