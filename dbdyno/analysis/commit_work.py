"""The counts of two commits, each in results of its own, read and compared by function."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from dbdyno.findings.work import fill_scatter
from dbdyno.findings.work import plan as work
from dbdyno.findings.work.plan import CountBase
from dbdyno.model.bisection import StepWork
from dbdyno.model.count import Count, counter_of
from dbdyno.model.error import ServerError
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.step import StepName
from dbdyno.model.work import WorkChange, WorkComparison
from dbdyno.stats import halving
from dbdyno.stats.work import CountSample, Scatter
from dbdyno.store import Results

LEAST_OF_WRITES = 0.003
"""Medians of three counts of a step that writes differ by less between builds that do the same; of
single counts of an indexed update at a load of 10 one in six was 0.2 % off."""


@dataclass(frozen=True, kw_only=True)
class CommitCounts:
    """A commit's counts."""

    arm: str
    plan: PlanRecord
    steps: Mapping[StepName, Sequence[Count]]


def read(folders: Sequence[Path]) -> CommitCounts:
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
    return CommitCounts(arm=plan.base, plan=plan, steps=steps)


def works(folder: Path) -> dict[str, StepWork]:
    """Each step's work by one count of a commit. Raises ResultError, ServerError: it has none."""
    copies = copies_of(folder)
    return {
        step[1]: StepWork(
            instructions=count.instructions,
            counts=(count.instructions,),
            operations=count.operations,
            warmup=count.warmup,
            margin=margin_of(count),
            writes=count.writes,
            copies=copies[step[0]],
        )
        for step, (count,) in read([folder]).steps.items()
    }


def copies_of(folder: Path) -> dict[str, tuple[str, ...]]:
    """By workload: the golden copies that a count began from, and when each was made."""
    begun = fill_scatter.begun(work.repeats(Results.open(folder)))
    return {
        workload: tuple(f"{use.key} {use.made_unix_ns}" for use in of.uses)
        for (workload, _), of in begun.items()
    }


def compared(before: CommitCounts, after: CommitCounts, smallest: float) -> WorkComparison:
    """The work of a commit beside that of the one before it, which is the base.

    `smallest`: the log ratio from which on a change is one. Counts that the others of a commit do
    not agree with are left out.
    """
    before, after = (believed(of, smallest) for of in (before, after))
    repeats = min(len(counts) for of in (before, after) for counts in of.steps.values())
    beside = CountBase(base=before.arm, plan=after.plan, repeats=repeats)
    counts = [count for of in (before, after) for counts in of.steps.values() for count in counts]
    return WorkComparison(
        base=before.arm,
        arms=(before.arm, after.arm),
        repeats=repeats,
        tool=counter_of(counts),
        left_out=counts[-1].left_out,
        scatter=halving.SCATTER.deviation,
        scatter_of_writes=halving.SCATTER_OF_WRITES.deviation,
        changes=tuple(
            changed(beside, step, before, after) for step in after.steps if step in before.steps
        ),
    )


def believed(commit: CommitCounts, smallest: float) -> CommitCounts:
    """A commit's counts that agree, for which a smaller change is none."""
    steps = {}
    for step, counts in commit.steps.items():
        logs = [math.log(count.instructions) for count in counts]
        places = halving.agreeing(logs, scatter_of(counts)) or range(len(counts))
        margin = max(math.expm1(smallest), *(margin_of(counts[place]) for place in places))
        steps[step] = [structs.replace(counts[place], margin=margin) for place in places]
    return replace(commit, steps=steps)


def margin_of(count: Count) -> float:
    """Below it, two counts are the same work."""
    return max(count.margin, LEAST_OF_WRITES) if count.writes else count.margin


def scatter_of(counts: Sequence[Count]) -> Scatter:
    """How far the counts of a step scatter."""
    writes = any(count.writes for count in counts)
    return halving.SCATTER_OF_WRITES if writes else halving.SCATTER


def changed(
    beside: CountBase, step: StepName, before: CommitCounts, after: CommitCounts
) -> WorkChange:
    """A step of a commit beside that of the one before it."""
    repeats: dict[str, Sequence[Count | str]] = {of.arm: of.steps[step] for of in (before, after)}
    ratios = work.log_ratios(repeats, before.arm, after.arm)
    sample = CountSample(ratios=tuple(ratios), scatter=scatter_of(after.steps[step]))
    return beside.change(step, after.arm, repeats, sample)
