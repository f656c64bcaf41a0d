"""The effect of void blocks, and the disturbed blocks that count all the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dbdyno.analysis.step import collect
from dbdyno.evidence import damaged_files
from dbdyno.evidence.damaged_files import Damage
from dbdyno.judge import arms_and_blocks, pairing, tampering
from dbdyno.judge.arm_vs_base import Where
from dbdyno.judge.arms_and_blocks import Arms
from dbdyno.judge.pairing import facing
from dbdyno.model import StepComparison, StepRun
from dbdyno.model.metric import less_is_better
from dbdyno.store import BlockFolder, Results

WHOLE = ("foreign", "stolen", "swap", "slept")
"""Causes for which a block is void that was complete, so that it has something to say."""
NAMED_MAX = 3
"""So many disturbed blocks are told in full, the others counted."""

Logs = dict[str, list[tuple[float, float]]]
"""By arm: ln of the ratio to the base in a void block and in the result, of each step."""


def void_blocks(results: Results, arms: Arms, steps: Sequence[StepComparison]) -> tuple[str, ...]:
    """Each void block with its reason, and beside the result what it shows by itself.

    That is for each arm the headline by the base's (of a time the inverse): the geometric mean over
    the steps that both the block and the result have.
    """
    return tuple(
        f"{block.name}: {block.reason}{_by_itself(results, block, arms, steps)}"
        for block in results.blocks()
        if block.state == "void"
    )


def _by_itself(
    results: Results, block: BlockFolder, arms: Arms, steps: Sequence[StepComparison]
) -> str:
    if block.cause not in WHOLE:
        return ""
    folders = tampering.step_folders([block])
    derived = damaged_files.named(folders, collect.step_runs(folders, results.shelf()))
    runs = pairing.placed(derived, arms_and_blocks.orders([block], results.plan))
    logs: Logs = {}
    for step in steps:
        for arm, pair in _of_step(step, runs, arms):
            logs.setdefault(arm, []).append(pair)
    lines = [
        f"{arm} {_mean(values, 0)} (result: {_mean(values, 1)})"
        for arm, values in sorted(logs.items())
    ]
    return f"; alone it shows, by the headline: {', '.join(lines)}" if lines else ""


def _of_step(
    step: StepComparison, runs: Sequence[StepRun], arms: Arms
) -> Iterable[tuple[str, tuple[float, float]]]:
    """Of each arm that the result compares in a step: both its ratios, as logarithms."""
    where = Where(step.workload, step.ordinal, step.step)
    here = [run for run in runs if Where.of(run) == where]
    bases = [run for arm in (arms.base, *arms.hidden_aa_arms) for run in here if run.arm == arm]
    for cell in step.cells:
        if cell.arm == arms.base or cell.ratio is None or step.headline is None:
            continue
        faced = facing([run for run in here if run.arm == cell.arm], bases)
        way = -1 if less_is_better(step.headline) else 1
        for log in faced.compared(step.headline).logs.values():
            yield cell.arm, (way * log, way * math.log(cell.ratio.value))


def _mean(logs: Sequence[tuple[float, float]], place: int) -> str:
    """The geometric mean, as a change in percent."""
    mean = math.fsum(pair[place] for pair in logs) / len(logs)
    return f"{100 * math.expm1(mean):+.1f} %".replace("-", "−")


def disturbed(blocks: Iterable[BlockFolder], lost: Damage) -> tuple[str, ...]:
    """Of each block that counts though it was disturbed, by what: a line for each subject."""
    places: dict[str, list[str]] = {}
    for block in blocks:
        for text in lost.usable(block.disturbed) or ():
            subject, _, details = text.partition(": ")
            places.setdefault(subject, []).append(f"{block.name}: {details}")
    return tuple(
        f"{subject}: {_first(subject_places)}; no repeat was left, so "
        f"{'it counts' if len(subject_places) == 1 else 'they count'}"
        for subject, subject_places in places.items()
    )


def _first(blocks: Sequence[str]) -> str:
    """The first blocks in full, the others counted."""
    more = len(blocks) - NAMED_MAX
    shown = "; ".join(blocks[:NAMED_MAX])
    return f"{shown}; and {more} more block{'s' * (more > 1)}" if more > 0 else shown
