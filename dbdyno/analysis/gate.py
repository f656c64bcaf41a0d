"""The answer of a gate: by counts of work, and by a race that a second layout has to confirm."""

import math
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from dbdyno import store
from dbdyno.model import Cell, Comparison
from dbdyno.model.gate import (
    ChangedEvents,
    ChangedWork,
    GateRatio,
    GateStep,
    TimeCheck,
    Tolerances,
    WorkCheck,
)
from dbdyno.model.step import StepName
from dbdyno.model.tolerance import Answer, StepTolerance, worst
from dbdyno.model.work import EventChange, EventWord, WorkChange, WorkComparison
from dbdyno.parts import number
from dbdyno.stats import events
from dbdyno.stats import work as stats
from dbdyno.store import Results

FILL = "fill"
"""The part of the pass of counts whose blocks fill data."""
ERRORS = "errors"
"""The metric of operations that failed and were not tried again."""
FUNCTIONS_MAX = 20
BY_LAYOUT = "slower with one layout of its code, and not with another"
OTHERWISE = "slower with two layouts of its code, and not by the same metric"
ONE_LAYOUT = "slower with one layout of its code, and"
BASE_FAILED = "the base failed"
NOT_COUNTED = "it was not counted"
UNDECIDED = "the interval reaches beyond what is tolerated"
NOT_RACED = "it was not raced"


@dataclass(frozen=True, kw_only=True)
class FillFailure:
    """The step that failed as an arm's data were filled, before anything was counted."""

    step: StepName
    arm: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class GateMeasurements:
    """What was measured for a gate so far."""

    head: str  # its arm
    counted: Comparison | None  # None: the data to count with could not be filled
    unfilled: FillFailure | None = None  # why
    raced: Comparison | None = None
    relaid: Comparison | None = None  # both sides built again with another layout
    unraced: str = ""  # why there is no race
    unrelaid: str = ""  # why sides that lost time were not built again


def steps(measured: GateMeasurements, tolerated: Tolerances) -> tuple[GateStep, ...]:
    """The answer of each step, by the table in docs/howto/ci.md."""
    if measured.unfilled is not None:
        return (of_unfilled(measured.unfilled, measured.head),)
    counts = () if measured.counted is None else measured.counted.of(WorkComparison).changes
    changes = {change.name: change for change in counts}
    raced = cells(measured.raced, measured.head)
    names = [*changes, *(name for name in raced if name not in changes)]
    checks = {
        name: (
            of_work(changes.get(name), tolerated),
            None if tolerated.time is None else of_time(name, measured),
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


def unfilled(folder: Path) -> FillFailure | None:
    """The step that failed as the data of a result's counts were filled last, the base's first."""
    place = store.count_folder(folder) / FILL
    if Results.begun_plan(place) is None:
        return None
    filling = Results.open(place)
    for block in reversed(list(filling.blocks())):
        runs = sorted(block.runs(), key=lambda run: run.arm != filling.plan.base)
        for step, arm in [(step, run.arm) for run in runs for step in run.steps()]:
            if (failure := step.failed()) is not None:
                facts = step.step()
                place_of = (facts.workload, facts.name)
                return FillFailure(step=place_of, arm=arm, reason=failure.reason or "it failed")
    return None


def lost(measured: GateMeasurements) -> tuple[str, ...]:
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


def of_unfilled(unfilled: FillFailure, head: str) -> GateStep:
    """The answer of a gate whose counts had no data to begin from: by the arm that failed."""
    workload, step = unfilled.step
    check = failed(unfilled.arm, f"{unfilled.arm}: {unfilled.reason}", head)
    return GateStep(workload=workload, step=step, answer=check.answer, work=check)


def failed(arm: str | None, reason: str, head: str) -> WorkCheck:
    """A step that left no counts: no where the head failed, which is not known of the base's."""
    answer: Answer = "no" if arm == head else "not yet"
    said = reason if arm in (head, None) else f"{BASE_FAILED}: {reason}"
    return WorkCheck(answer=answer, instructions=answer, reason=said)


def of_work(change: WorkChange | None, tolerated: Tolerances) -> WorkCheck:
    """What counts say of a step: of its instructions, its system calls and atomics."""
    if change is None:
        return WorkCheck(answer="not yet", instructions="not yet", reason=NOT_COUNTED)
    if change.ratio is None or change.of_base is None or change.of_arm is None:
        return failed(change.failed_arm, change.reason, change.arm)
    ratio = change.ratio
    answer = of_instructions(change, tolerated.work)
    tolerances = tolerated.events
    changed = tuple(
        of_events(event, tolerances[event.event])
        for event in change.events
        if event.event in tolerances
    )
    return WorkCheck(
        answer=worst((answer, *(event.answer for event in changed))),
        instructions=answer,
        reason=(change.reason or UNDECIDED) if answer == "not yet" else "",
        base=round(change.of_base.instructions, 1),
        head=round(change.of_arm.instructions, 1),
        change=GateRatio(ratio=ratio.value, low=ratio.low, high=ratio.high),
        events=changed,
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


def of_instructions(change: WorkChange, tolerate: float) -> Answer:
    """No: the whole interval is beyond the tolerance; yes: no end of one that holds is."""
    assert change.ratio is not None
    word = stats.word(change.ratio, tolerate, change.reason)
    if word == "more":
        return "no"
    excluded = not change.reason and (change.ratio.high or 0.0) <= 1 + tolerate
    return "not yet" if word == "open" and not excluded else "yes"


def of_events(event: EventChange, tolerate: int) -> ChangedEvents:
    """What counts say of a step's system calls or atomics, so many more tolerated."""
    answers: dict[EventWord, Answer] = {"more": "no", "open": "not yet"}
    return ChangedEvents(
        event=event.event,
        base=event.base_events,
        head=event.arm_events,
        answer=answers.get(events.word(event.change, tolerate), "yes"),
        operations_needed=event.operations_needed,
    )


# --- Time -------------------------------------------------------------------------------------


def of_time(step: StepName, measured: GateMeasurements) -> TimeCheck:
    """What races say of a step: a loss accuses only if it is there with another layout, too."""
    cell, relaid = (
        cells(race, measured.head).get(step) for race in (measured.raced, measured.relaid)
    )
    if cell is None or cell.tolerated is None or measured.raced is None:
        return TimeCheck(answer="not yet", reason=measured.unraced or NOT_RACED)
    base = cells(measured.raced, measured.raced.base).get(step)
    if base is not None and (reason := failure(base)):
        return TimeCheck(answer="not yet", reason=f"{BASE_FAILED}: {reason}")
    if reason := failure(cell):
        return TimeCheck(answer="no", reason=f"{measured.head}: {reason}")
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


def failure(cell: Cell) -> str:
    """How an arm failed in a step of a race: the first of its runs that did, else operations."""
    lost = [run for run in cell.runs if run.ending.status != "ok" and not run.ending.damaged]
    if lost:
        blocks = f"failed in {len(lost)} of {number.blocks(len(cell.runs))}"
        return ": ".join(filter(None, (blocks, lost[0].ending.reason)))
    count = math.fsum(run.metrics.get(ERRORS) or 0.0 for run in cell.runs)
    return f"{count:,.0f} operations failed" if count else ""


def check(cell: Cell, tolerated: StepTolerance, by: tuple[str, ...]) -> TimeCheck:
    """What one race says of a step, by the first of these metrics, else by the step's first."""
    judgements = () if cell.verdict is None else cell.verdict.judgements
    judgement = next(iter([*(each for each in judgements if each.metric in by), *judgements]), None)
    change = None
    if judgement is not None:
        ratio, low, high = judgement.told
        change = GateRatio(ratio=ratio, low=low, high=high)
    return TimeCheck(
        answer=tolerated.answer,
        reason=tolerated.reason,
        metric=None if judgement is None else judgement.metric,
        change=change,
        blocks_needed=tolerated.blocks_needed,
        minutes_needed=tolerated.minutes_needed,
    )
