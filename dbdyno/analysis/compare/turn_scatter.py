"""The scatter between blocks that the turns of a step imply."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean

from dbdyno.analysis.compare.arm_vs_base import Contest
from dbdyno.model import StepRun
from dbdyno.stats import host_prior


def by_turns(contest: Contest, metric: str) -> float | None:
    """The variance of a metric's log ratios between blocks that their turns imply.

    None where the arms did not take turns, or operations are not told by the second.
    """
    cpu, bases = metric != contest.headline, {run.block: run for run in contest.faced.base_runs}
    compared = contest.logs(metric)
    pairs = [
        (run, bases[run.block])
        for run in contest.faced.runs
        if run.block in compared and run.block in bases
    ]
    return host_prior.by_turns([list(_of_block(run, base, cpu=cpu)) for run, base in pairs])


def _of_block(run: StepRun, base: StepRun, *, cpu: bool) -> Iterable[float]:
    """The log ratio of each turn; of short turns of several together, as they are told."""
    turns: dict[int, list[float]] = {}
    for own, its in zip(run.stretches, base.stretches, strict=False):
        value, of_base = (own.cpu_us, its.cpu_us) if cpu else (own.rate, its.rate)
        if own.turn and value and of_base:
            turns.setdefault(own.turn, []).append(math.log(value / of_base))
    return map(fmean, turns.values())
