"""Whether duets on a host find what was planted: results of known slowdowns, taken together.

By CPU per operation, as that is what `tools/plant` makes larger by a known share. The solo turns
say what the same change is alone, and are no part of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.analysis.compare import arms_and_blocks, duet
from dbdyno.analysis.compare.arm_vs_base import Where
from dbdyno.analysis.compare.pairing import of_halves
from dbdyno.analysis.step import collect
from dbdyno.model import StepRun
from dbdyno.model.error import ResultError
from dbdyno.model.host_facts import DuetAcceptance, PlantedChange
from dbdyno.model.metric.primary import cpu_of
from dbdyno.stats import duet as arithmetic
from dbdyno.stats import interval, significance
from dbdyno.store import Results

LEVEL = 0.05
"""At which the base and its A/A arm may not differ."""


def accepted(folders: Mapping[float, Path]) -> DuetAcceptance:
    """The outcome for these planted shares.

    Raises ResultError where a folder has too few blocks.
    """
    by_share = {share: logs(Results.open(folder)) for share, folder in folders.items()}
    for share, changes in by_share.items():
        if len(changes) < duet.SOLOS_MIN:
            raise ResultError(
                f"{folders[share]}: {len(changes)} blocks have both arms with their CPU per "
                f"operation; it takes {duet.SOLOS_MIN} at least"
            )
    planted = [math.log1p(share) for share, changes in by_share.items() for _ in changes]
    slope = arithmetic.slope(planted, [log for changes in by_share.values() for log in changes])
    p_none = significance.t_p(by_share[0.0])
    assert p_none is not None
    alarm = p_none <= LEVEL
    low, high = arithmetic.SLOPE_LOW, arithmetic.SLOPE_HIGH
    text = (
        f"found {slope.value:.2f} [{slope.low:.2f}, {slope.high:.2f}] of what was planted, which "
        f"has to be {low:g} to {high:g} with a standard error up to "
        f"{arithmetic.SLOPE_ERROR_MAX:g} (it is {slope.error:.2f})"
    )
    if alarm:
        text += f"; the base differs from itself (p {p_none:.3f})"
    return DuetAcceptance(
        holds=slope.accepted and not alarm,
        text=text,
        slope=slope.value,
        low=slope.low,
        high=slope.high,
        error=slope.error,
        changes=tuple(_change(share, changes) for share, changes in by_share.items()),
    )


def _change(planted: float, changes: Sequence[float]) -> PlantedChange:
    mean, sd = interval.mean_and_sd(changes)
    return PlantedChange(planted=planted, change=math.expm1(mean), sd=sd, blocks=len(changes))


def logs(results: Results) -> list[float]:
    """By block the mean over steps of ln(CPU of the arm / CPU of the base), both at once."""
    blocks = [block for block in results.blocks() if block.state == "done"]
    folders = [step for block in blocks for run in block.runs() for step in run.steps()]
    runs, _ = duet.parted(collect.step_runs(folders, results.shelf()))
    base, other = arms_and_blocks.arms(results.plan, None).planned
    halved = {(run.arm, run.block, Where.of(run)): run for run in runs if run.halves}
    by_block: dict[int, list[float]] = {}
    for (arm, block, where), run in halved.items():
        beside = halved.get((other, block, where))
        if arm == base and beside is not None and run.facts.measured:
            by_block.setdefault(block, []).extend(_log(run, beside))
    return [math.fsum(steps) / len(steps) for _, steps in sorted(by_block.items()) if steps]


def _log(base: StepRun, other: StepRun) -> Sequence[float]:
    halves = of_halves(base, other, cpu_of((base, other)))
    return [] if halves is None else [arithmetic.mean_of_halves(*halves)]
