"""The counts of two commits, each in results of its own, read and compared by function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.analysis.compare import work
from dbdyno.analysis.compare.work import Beside
from dbdyno.model.bisection import StepWork
from dbdyno.model.count import Count
from dbdyno.model.error import ServerError
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.step import StepName
from dbdyno.model.work import WorkChange, WorkComparison
from dbdyno.stats.work import FREEDOM_LEAST, SCATTER_LEAST, CountSample, Scatter
from dbdyno.store import Results

SCATTER = Scatter(deviation=SCATTER_LEAST, freedom=FREEDOM_LEAST)
"""Of a count's log ratio: a search has one or two of a commit, which tell none."""

LEAST_OF_WRITES = 0.003
"""Medians of three counts of a step that writes differ by less between builds that do the same; of
single counts of an indexed update at a load of 10 one in six was 0.2 % off."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A commit's counts."""

    arm: str
    plan: PlanRecord
    steps: Mapping[StepName, Sequence[Count]]


def read(folders: Sequence[Path]) -> Counted:
    """The counts of a commit from the results of each. Raises ResultError, ServerError: none."""
    steps: dict[StepName, list[Count]] = {}
    plan = Results.open(folders[0]).plan
    for folder in folders:
        for step, arms in work.read(work.repeats(Results.open(folder))).items():
            for count in arms[plan.base]:
                if isinstance(count, str):
                    raise ServerError(f"step `{step[1]}`: {count}; see `{folder}`")
                steps.setdefault(step, []).append(count)
    if not steps:
        raise ServerError(f"nothing was counted; see `{folders[0]}`")
    return Counted(arm=plan.base, plan=plan, steps=steps)


def works(folder: Path) -> dict[str, StepWork]:
    """Each step's work by one count of a commit. Raises ResultError, ServerError: it has none."""
    return {
        step[1]: StepWork(
            instructions=count.instructions,
            counts=(count.instructions,),
            operations=count.operations,
            margin=max(count.margin, LEAST_OF_WRITES) if count.writes else count.margin,
            writes=count.writes,
        )
        for step, (count,) in read([folder]).steps.items()
    }


def compared(before: Counted, after: Counted) -> WorkComparison:
    """The work of a commit beside that of the one before it, which is the base."""
    beside = Beside(base=before.arm, plan=after.plan)
    (first, *_) = next(iter(after.steps.values()))
    return WorkComparison(
        base=before.arm,
        arms=(before.arm, after.arm),
        repeats=min(len(counts) for of in (before, after) for counts in of.steps.values()),
        tool=first.tool,
        left_out=first.left_out,
        scatter=SCATTER_LEAST,
        scatter_of_writes=SCATTER_LEAST,
        changes=tuple(
            changed(beside, step, before, after) for step in after.steps if step in before.steps
        ),
    )


def changed(beside: Beside, step: StepName, before: Counted, after: Counted) -> WorkChange:
    """A step of a commit beside that of the one before it."""
    repeats: dict[str, Sequence[Count | str]] = {of.arm: of.steps[step] for of in (before, after)}
    ratios = work.log_ratios(repeats, before.arm, after.arm)
    sample = CountSample(ratios=tuple(ratios), scatter=SCATTER)
    return beside.change(step, after.arm, repeats, sample)
