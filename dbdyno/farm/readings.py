"""Results of a head as a farm's decisions take them: log ratios to the other two arms."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.analysis import compare
from dbdyno.farm.chain import HeadSeries, Instrument, LogRatio, Reading
from dbdyno.farm.journal import MICROSECONDS, ChangedFunction
from dbdyno.findings.profiles.facts import ProfileFacts
from dbdyno.model import Comparison
from dbdyno.model.error import HostError, ResultError, ServerError
from dbdyno.model.profile import NO_SYMBOL
from dbdyno.model.step import StepName
from dbdyno.model.work import WorkChange, WorkComparison

PINNED, PREVIOUS, HEAD = "pinned", "previous", "head"
"""The arms of a head's plans."""
WORK = "instructions"


@dataclass(frozen=True, kw_only=True)
class ReadingContext:
    """What all readings of a plan share."""

    branch: str
    instrument: Instrument
    head: str
    previous: str | None
    taken_s: float
    repetition: int = 0


def of_plan(folder: Path, taken: ReadingContext, arms: Sequence[str]) -> tuple[Reading, ...]:
    """A reading of each step and metric that has a ratio to either arm.

    `arms`: those that the plan has. Raises ServerError where the head was not counted, or failed;
    HostError where another arm was not counted, which is not the head's fault.
    """
    against = {
        base: dict(ratios(compare.load(folder, base=base), folder, taken.instrument))
        for base in (PINNED, PREVIOUS)
        if base in arms
    }
    keys = sorted({key for of_base in against.values() for key in of_base})
    return tuple(
        Reading(
            series=HeadSeries(
                branch=taken.branch, step=step, instrument=taken.instrument, metric=metric
            ),
            head=taken.head,
            previous=taken.previous,
            taken_s=taken.taken_s,
            against_previous=against.get(PREVIOUS, {}).get((step, metric)),
            against_pinned=against.get(PINNED, {}).get((step, metric)),
            repetition=taken.repetition,
        )
        for step, metric in keys
    )


Ratios = Iterator[tuple[tuple[StepName, str], LogRatio]]
"""By step and metric."""


def ratios(comparison: Comparison, folder: Path, instrument: Instrument) -> Ratios:
    """What an instrument says of the head beside the base. Raises ServerError, HostError."""
    if instrument == "work":
        return work_ratios(comparison, folder)
    return time_ratios(comparison)


def work_ratios(comparison: Comparison, folder: Path) -> Ratios:
    """The head's instructions by those of the base. Raises ServerError, HostError."""
    work = comparison.of(WorkComparison)
    if not work.repeats:
        raise HostError(f"nothing was counted; see `{folder}`")
    for change in work.changes:
        if change.arm != HEAD:
            continue
        if change.ratio is None:
            refuse(change.step, change.reason, folder)
            continue
        yield (
            (change.name, WORK),
            LogRatio(
                value=math.log(change.ratio.value),
                standard_error=change.ratio.se or 0.0,
                degrees=change.ratio.freedom or 1.0,
                word=change.word,
                withheld=change.reason,
            ),
        )


def refuse(step: str, reason: str, folder: Path) -> None:
    """Raises ServerError where the head is at fault, HostError where another arm is."""
    said = f"step `{step}`: {reason or 'it failed'}; see `{folder}`"
    if reason.startswith(f"{HEAD}: "):
        raise ServerError(said)
    raise HostError(said)


def time_ratios(comparison: Comparison) -> Ratios:
    """The head's primary metrics by those of the base. Raises ServerError: the head has failed."""
    for compared in comparison.steps:
        for cell in compared.cells:
            if cell.arm != HEAD:
                continue
            failure = next(
                (run.ending.reason for run in cell.runs if run.ending.status == "failed"), None
            )
            if failure is not None:
                raise ServerError(f"step `{compared.step}`: {failure}")
            judgements = cell.verdict.judgements if cell.verdict is not None else ()
            for judgement in judgements:
                estimate = judgement.estimate
                if (
                    estimate.se is None
                    or estimate.freedom is None
                    or not 0 < estimate.value < math.inf
                ):
                    continue
                yield (
                    ((compared.workload, compared.step), judgement.metric),
                    LogRatio(
                        value=math.log(estimate.value),
                        standard_error=estimate.se,
                        degrees=estimate.freedom,
                    ),
                )


def functions(folder: Path, base: str, steps: Sequence[str]) -> tuple[ChangedFunction, ...]:
    """The functions that the head changed, by counts of a folder; the largest change first."""
    changes = compare.load(folder, base=base).of(WorkComparison).changes
    return costs([change for change in changes if change.arm == HEAD], steps)


def sampled(folder: Path, base: str, steps: Sequence[str]) -> tuple[ChangedFunction, ...]:
    """The functions whose CPU for an operation the head changed beyond chance, by profiles.

    The largest change first. Raises ResultError where nothing was sampled.
    """
    facts = compare.load(folder, base=base).of(ProfileFacts)
    profiles = [each for each in facts.functions if each.step in steps and each.arm == HEAD]
    if not profiles:
        raise ResultError(f"nothing was sampled; see `{folder}`")
    every = [
        ChangedFunction(
            function=f"? of {cost.binary}" if cost.name == NO_SYMBOL else cost.name,
            step=profile.step,
            before=cost.base_us,
            after=cost.arm_us,
            unit=MICROSECONDS,
        )
        for profile in profiles
        for cost in profile.functions
        if cost.changed
    ]
    return tuple(sorted(every, key=lambda cost: -abs(cost.change)))


def costs(changes: Sequence[WorkChange], steps: Sequence[str]) -> tuple[ChangedFunction, ...]:
    """The functions that changed in some steps, the largest change first."""
    every = [
        ChangedFunction(
            function=function.function,
            step=change.step,
            before=function.base_instructions,
            after=function.arm_instructions,
        )
        for change in changes
        if change.step in steps
        for function in change.changed
    ]
    return tuple(sorted(every, key=lambda cost: -abs(cost.change)))
