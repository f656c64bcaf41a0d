"""The generator's share of the server's CPU in steps of the Insert Benchmark, from a plan."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.compare import Bench
from bench.figure import Figure, Target, at_most
from dbdyno import plan
from dbdyno.analysis.step import assemble
from dbdyno.model.events import Done
from dbdyno.run import blocks
from dbdyno.store import Results

PLAN = Path(__file__).resolve().parents[2] / "plans/bench-generator.toml"
SHARE_PERCENT_MAX = {"l.i0": 10.0}
"""The target by step."""
MEMORY_MIB_MAX = 50.0
"""The target for three connections."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What the generator took in one step of one run."""

    step: str
    arm: str
    share_percent: float  # of the server's CPU
    operation_us: float  # CPU per operation
    memory_mib: float  # the largest


def measure(bench: Bench) -> Iterator[Figure]:
    """Runs the plan, a block for each pair; share, CPU per operation and memory by step and arm."""
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as folder:
        chosen = plan.load(PLAN)
        chosen = replace(chosen, schedule=replace(chosen.schedule, blocks=bench.pairs))
        outcome = blocks.run(chosen, Path(folder), wait=True)
        costs = list(costs_of(Results.open(outcome.folder)))
    for step, arm in dict.fromkeys((cost.step, cost.arm) for cost in costs):
        yield from figures(
            step, arm, [cost for cost in costs if (cost.step, cost.arm) == (step, arm)]
        )


def costs_of(results: Results) -> Iterator[Cost]:
    """The cost of each step of each run."""
    for block in results.blocks():
        for run in block.runs():
            for folder in run.steps():
                one = assemble.step_run(folder)
                share = one.metrics.get("generator_share")
                operation_us = one.metrics.get("generator_cpu_per_op")
                if share is None or operation_us is None:
                    continue
                done = next(event for event in folder.events() if isinstance(event, Done))
                yield Cost(
                    step=one.facts.step,
                    arm=one.arm,
                    share_percent=share,
                    operation_us=operation_us,
                    memory_mib=(done.peak_rss_bytes or 0) / (1 << 20),
                )


def figures(step: str, arm: str, costs: list[Cost]) -> Iterator[Figure]:
    """The rows of the table for one step and arm."""
    share_max = SHARE_PERCENT_MAX.get(step)
    figure = Figure(measurement="share", beside=f"{step} {arm}", what="server %", digits=1)
    yield replace(
        figure,
        values=tuple(cost.share_percent for cost in costs),
        target=at_most(share_max),
    )
    yield replace(
        figure, what="µs per op", digits=2, values=tuple(cost.operation_us for cost in costs)
    )
    yield replace(
        figure,
        what="MiB",
        values=tuple(cost.memory_mib for cost in costs),
        target=Target(bound=MEMORY_MIB_MAX),
    )
