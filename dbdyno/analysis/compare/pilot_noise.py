"""What the pilot's blocks say of noise and time: from them the number of fresh blocks follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import median

from dbdyno.analysis.compare import arm_vs_base, arms_and_blocks, pairing, step_cells
from dbdyno.analysis.step import collect
from dbdyno.stats.sample_size import Piloted, Seen
from dbdyno.store import BlockFolder, Results, Took

StepName = tuple[str, str]
"""Workload and step."""
SECONDS_PER_MINUTE = 60.0


def read(results: Results, steps: Collection[StepName]) -> Piloted:
    """What all complete blocks so far say of these steps; ResultError where one is damaged."""
    done = [block for block in results.blocks() if block.state == "done"]
    took = [block.duration() for block in done]
    costs = {step: _minutes(step, took) for step in steps}
    found = _logs(results, done)
    arms = arms_and_blocks.arms(results.plan, None)
    seen = (
        Seen(
            workload=step[0],
            step=step[1],
            arm=arm,
            logs=found.get((*step, arm), {}),
            minutes=costs[step],
        )
        for step in steps
        for arm in arms.shown[1:]
    )
    fixed = [one.took_s - sum(_seconds(step, one) or 0.0 for step in steps) for one in took]
    return Piloted(seen=tuple(seen), fixed_minutes=max(0.0, median(fixed)) / SECONDS_PER_MINUTE)


def _minutes(step: StepName, took: Sequence[Took]) -> float:
    """What a step costs a block, all arms together: the median of the blocks that have it."""
    known = [seconds for one in took if (seconds := _seconds(step, one)) is not None]
    return median(known) / SECONDS_PER_MINUTE if known else 0.0


def _seconds(step: StepName, took: Took) -> float | None:
    workload, name = step
    return took.steps_s.get(workload, {}).get(name)


def _logs(
    results: Results, blocks: Sequence[BlockFolder]
) -> Mapping[tuple[str, str, str], Mapping[str, tuple[float, ...]]]:
    """ln(arm / nearest base) by block: by workload, step and arm, of each primary metric."""
    folders = [step for block in blocks for run in block.runs() for step in run.steps()]
    runs = pairing.placed(
        collect.step_runs(folders, results.shelf()), arms_and_blocks.orders(blocks)
    )
    found = {}
    for row in step_cells.rows(results.plan, arms_and_blocks.arms(results.plan, None), runs):
        for arm, faced in row.faced.items():
            contest = arm_vs_base.contest(row.where, faced)
            if contest is not None:
                found[row.where.workload, row.where.step, arm] = {
                    sample.metric: sample.logs for sample in contest.samples(contest.primary)
                }
    return found
