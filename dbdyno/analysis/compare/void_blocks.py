"""The void blocks: why each is void, and what it shows by itself."""

import math
from collections.abc import Iterable, Iterator, Sequence

from dbdyno.analysis.step import collect
from dbdyno.evidence import damaged_files
from dbdyno.judge import arms_and_blocks, pairing, tampering
from dbdyno.judge.arm_vs_base import StepKey
from dbdyno.judge.arms_and_blocks import Arms
from dbdyno.judge.pairing import facing
from dbdyno.model import StepComparison, StepRun
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.metric import less_is_better
from dbdyno.store import BlockFolder, Results

WHOLE = ("foreign", "stolen", "swap", "slept")
"""Causes for which a block is void that was complete, so that it has something to say."""

Logs = dict[str, list[tuple[float, float]]]
"""By arm: ln of the ratio to the base in a void block and in the result, of each step."""


def doubts(
    results: Results, arms: Arms, steps: Sequence[StepComparison], incomplete: str | None
) -> Iterator[Doubt]:
    """What is not judged: blocks to come, and each void block with what it shows by itself.

    That is for each arm the headline by the base's (of a time the inverse): the geometric mean over
    the steps that both the block and the result have.
    """
    if incomplete:
        yield DoubtSubject.NOT_FINISHED.doubt(incomplete)
    for block in results.blocks():
        if block.state == "void":
            shown = _by_itself(results, block, arms, steps)
            yield DoubtSubject.VOID.doubt(
                f"try {block.void}: {block.reason}{shown}", block=block.number
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
    where = StepKey(step.workload, step.ordinal, step.step)
    here = [run for run in runs if StepKey.of(run) == where]
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
