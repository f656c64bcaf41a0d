"""Runs a plan from look to look, reads at each what is decided, and says so.

How far a plan has come follows from its result folder alone: which blocks are complete, what
looks.json says, which steps the blocks since the last look do. So a plan that goes on after a break
comes to the same.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dbdyno.model import Block, Comparison, Plan, Step, StepComparison, WorkloadUse
from dbdyno.model.looks import LookProgress, Looks
from dbdyno.model.open_steps import open_steps
from dbdyno.model.step import StepName
from dbdyno.plan import schedule
from dbdyno.run import blocks, count, refusal, time_limit
from dbdyno.run import look_words as words
from dbdyno.run.blocks import PlanOutcome
from dbdyno.run.check import block_time, step_lengths
from dbdyno.run.lab import Lab
from dbdyno.run.runner import BlockRunner, LocalRunner
from dbdyno.stats import looks as stats
from dbdyno.store import Results

Read = Callable[[Results], Comparison]
"""The function that judges a result folder, which is not done here."""
Evidence = Callable[[Comparison], Sequence[str]]
"""The figures of all blocks so far in lines, without a word: these come at looks alone."""


def run(  # noqa: PLR0913 (each by its name)
    plan: Plan,
    parent: Path,
    read: Read,
    *,
    evidence: Evidence | None = None,
    runner: BlockRunner | None = None,
    quiet: bool = False,
) -> PlanOutcome:
    """Runs `plan`, or what is missing of it, into `parent`/<plan's name>, from look to look.

    `evidence`: shown after each block; None: nothing is shown between looks.
    `runner`: how blocks are run; None: on this host, which no other lab may use now.
    `quiet`: shows no progress at all.
    Raises what `blocks.run` does, and what `read` does.
    """
    runner, read = runner or LocalRunner(), remembered(read)
    with runner.opened(plan, parent, quiet=quiet) as lab:
        count.go(lab)
        if plan.counts_only:
            return PlanOutcome(folder=lab.results.folder, failed=0, voids=0)
        if plan.chosen_s is not None:
            lab.watch.say(f"lengths: {step_lengths.described(plan)}")
        if plan.schedule.until_decided:
            lab.watch.say(f"looks: {words.planned(plan)}")
        whole = PlanOutcome(folder=lab.results.folder, failed=0, voids=0)
        while blocks := next_blocks(lab, read):
            lab.watch.later_s = beyond_s(lab, blocks[-1].number)
            ended = runner.run_blocks(
                replace(lab, through=blocks[-1].number),
                blocks,
                fits=lambda: goes_on(lab, read, evidence),
            )
            whole = replace(
                whole, failed=whole.failed + ended.failed, voids=whole.voids + ended.voids
            )
    return whole


def next_blocks(lab: Lab, read: Read) -> list[Block]:
    """The blocks up to the next look, with the steps that they are to do; none at the end.

    Says what is decided where the plan stands at a look, and why it ends.
    """
    looked, complete, plan = reached(lab), lab.results.complete(), lab.plan
    if nothing := refusal.nothing_left(plan, lab.results, lab.complete_before):
        for line in (*nothing, "further blocks would fail alike: none is run"):
            lab.watch.say(line)
        return []
    judged = judged_steps(lab, read) if is_at_look(looked, complete) else ()
    for line in words.of_look(judged, looked, plan):
        lab.watch.say(line)
    missing = blocks.missing_blocks(plan, lab.results)
    if not plan.schedule.until_decided:
        measured = any(in_every(lab, use) for use in plan.workloads)
        if not missing and complete and measured and not is_at_look(looked, complete):
            lab.watch.say(words.between(looked, complete))
        return up_to(looked, missing)
    ending = why_over(lab, looked, judged)
    if ending is not None:
        lab.watch.say(ending)
        return []
    if looked.looks.last is not None:
        lab.watch.say(words.after_the_last(looked.looks.last))
    within = [block for block in missing if block.number <= plan.schedule.blocks]
    steps = steps_to_do(lab, looked, read)
    return [replace(block, steps=steps) for block in up_to(looked, within)]


def beyond_s(lab: Lab, number: int) -> float:
    """A guess of the time of the blocks after the next look, in seconds; 0 where none is sure."""
    numbers = () if lab.plan.schedule.until_decided else lab.results.numbers(lab.plan)
    later = [each for each in numbers if each > number]
    return block_time.blocks_s(lab.plan, lab.prepared, later)


def remembered(read: Read) -> Read:
    """Reads a result once for the blocks and looks that it has."""
    last: list[tuple[int, Looks | None, Comparison]] = []

    def read_once(results: Results) -> Comparison:
        now = results.complete(), results.looks()
        if not last or last[0][:2] != now:
            last[:] = [(*now, read(results))]
        return last[0][2]

    return read_once


# --- How far it has come ---------------------------------------------------------------------


def reached(lab: Lab) -> LookProgress:
    """The looks that the complete blocks have reached.

    If the time that looks.json gives is over, the last look is taken now, for good.
    """
    results = lab.results
    looks, complete = results.looks(), results.complete()
    assert looks is not None, "written before the first block"
    promised = time_limit.limits_looks(looks) and time_limit.can_be_looked_at(lab)
    if promised and time_limit.is_over(lab, looks.minutes_max):
        looks = results.end_looks(complete)
    return stats.looked(looks, complete)


def is_at_look(looked: LookProgress, complete: int) -> bool:
    """Whether there is a look after so many blocks."""
    return bool(looked.taken) and looked.taken[-1].blocks == complete


def up_to(looked: LookProgress, blocks: Sequence[Block]) -> list[Block]:
    """Of these blocks those before the next look; all where there is none."""
    coming = looked.coming
    return [block for block in blocks if coming is None or block.number <= coming.blocks]


def why_over(lab: Lab, looked: LookProgress, judged: Sequence[StepComparison]) -> str | None:
    """Why a plan that runs until it is decided ends here, in words; None where it goes on."""
    complete, most = lab.results.complete(), lab.plan.schedule.blocks
    still = open_steps(judged)
    if is_at_look(looked, complete) and not still:
        return words.decided(complete, judged) if judged else words.nothing_to_decide(complete)
    if complete >= most or (looked.coming is not None and looked.coming.blocks > most):
        return words.most_blocks(complete, still)
    if time_limit.is_over(lab, lab.plan.schedule.minutes_max):
        return words.time_over(lab.results.minutes(), lab.minutes(), lab.plan, looked, still)
    return None


# --- Time ------------------------------------------------------------------------------------


def goes_on(lab: Lab, read: Read, evidence: Evidence | None) -> bool:
    """Shows the evidence of the blocks so far; returns whether a further one fits, and may tell."""
    if refusal.nothing_left(lab.plan, lab.results, lab.complete_before):
        return False
    if evidence is not None and lab.results.complete():
        lab.watch.so_far(evidence(read(lab.results)))
    return time_limit.fits(lab)


# --- Which steps go on -----------------------------------------------------------------------


def judged_steps(lab: Lab, read: Read) -> tuple[StepComparison, ...]:
    """The steps that blocks can decide: every block has them, and an arm beside the base.

    None of a plan whose blocks are several comparisons.
    """
    shown = [arm for arm in lab.plan.arms if arm.shown]
    if lab.plan.schedule.comparison is not None or len(shown) < 2:
        return ()
    every = {
        (step.workload, step.name) for use in lab.plan.workloads for step in in_every(lab, use)
    }
    return tuple(
        step
        for step in read(lab.results).steps
        if (step.workload, step.step) in every and any(cell.verdict for cell in step.cells)
    )


def in_every(lab: Lab, use: WorkloadUse) -> tuple[Step, ...]:
    """The measured steps of a workload that every block has: all, or those after a kept state."""
    steps = lab.prepared.steps[use.title][lab.plan.base]
    at = lab.prepared.point(use, lab.plan.base, 1)
    return tuple(step for step in (steps if at is None else at.after(steps)) if step.measured)


def can_be_alone(lab: Lab, use: WorkloadUse) -> bool:
    """Whether a block can do some of these steps and not others: no later one writes."""
    _, rest = schedule.parted(lab.prepared.steps[use.title][lab.plan.base])
    return all(step in rest for step in in_every(lab, use))


def steps_to_do(lab: Lab, looked: LookProgress, read: Read) -> Mapping[str, tuple[str, ...]] | None:
    """By workload the steps of the blocks up to the next look; None: all.

    Steps that were decided at the look before rest. Blocks that were begun since then have said
    which.
    """
    last = looked.taken[-1].blocks if looked.taken else 0
    if not last or not all(can_be_alone(lab, use) for use in lab.plan.workloads):
        return None
    shown = {arm.name for arm in lab.plan.arms if arm.shown}
    for block in lab.results.blocks():
        if block.number > last and block.damage() is None and shown <= set(block.arms()):
            return block.steps()
    wanted = {(step.workload, step.step) for step in open_steps(judged_steps(lab, read))}
    return with_what_they_need(lab, wanted)


def with_what_they_need(
    lab: Lab, wanted: Collection[StepName]
) -> Mapping[str, tuple[str, ...]] | None:
    """By workload these steps and what has to run before them; None where that is everything."""
    steps: dict[str, tuple[str, ...]] = {}
    rests = False
    for use in lab.plan.workloads:
        everything = lab.prepared.steps[use.title][lab.plan.base]
        workload = everything[0].workload
        names = [name for of, name in wanted if of == workload]
        kept = schedule.only(
            everything, names, through=lab.prepared.kept_through(use, lab.plan.base)
        )
        steps[workload] = tuple(step.name for step in kept)
        rests |= any(step.name not in names for step in in_every(lab, use))
    return steps if rests else None
