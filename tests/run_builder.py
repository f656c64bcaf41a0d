"""Steps with planted rates and costs, without files: what is concluded of them is known.

    judged = concluded(
        [*series("base", [100, 101, 99]), *series("other", [105, 106, 104])], arms=("base", "other")
    )

A log ratio is planted exactly: `series("other", lifted(BASE, LOGS))`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dbdyno.analysis.compare import arms_and_blocks, conclusions, step_cells
from dbdyno.analysis.compare.conclusions import Concluded
from dbdyno.model import Cell, Json, StepRun
from dbdyno.model.verdict import Aims

NOISE = (0.004, -0.007, 0.001, 0.006, -0.002, -0.005)
"""Log ratios of six blocks that come to -0.0005 on average, with a deviation of 0.5 %."""


def run(arm: str, block: int, rate: float | None, **changes: Any) -> StepRun:
    """A run of a step whose headline is `qps`, at this rate; `cpu`: µs of CPU per operation."""
    cpu, metrics = changes.pop("cpu", None), changes.pop("metrics", {})
    values = {"qps": rate, "server_cpu_per_op": cpu, **metrics}
    whole = StepRun(
        workload="w",
        arm=arm,
        block=block,
        ordinal=1,
        step="one",
        measured=True,
        status="ok",
        reason=None,
        headline="qps",
        sla_target=None,
        metrics={name: value for name, value in values.items() if value is not None},
    )
    return replace(whole, **changes)


def series(arm: str, rates: Sequence[float], **changes: Any) -> list[StepRun]:
    """A run in each block, from 1."""
    return [run(arm, block, rate, **changes) for block, rate in enumerate(rates, start=1)]


def lifted(change: float, noise: Sequence[float] = NOISE, rate: float = 1_000.0) -> list[float]:
    """Rates beside a base of constant `rate`: changed by so much, a share, and the noise."""
    return [rate * (1 + change) * math.exp(log) for log in noise]


def failed(its: StepRun, status: str = "failed", reason: str = "planted") -> StepRun:
    """The same run, which did not end well."""
    return replace(its, status=status, reason=reason, metrics={}, sla_met=None)


def plan_of(arms: Sequence[str], **changed: Json) -> Json:
    """plan.json as far as judging reads it; `changed`: by arm, what else stands of it."""
    return {
        "name": "planted",
        "base": arms[0],
        "arms": [{"name": arm, **changed.get(arm, {})} for arm in arms],
        "workloads": [{"name": "w"}],
    }


def concluded(
    runs: Sequence[StepRun],
    plan: Json,
    *,
    aims: Aims | None = None,
    minutes: float | None = None,
    blocks_each: int | None = None,
) -> Concluded:
    """What is concluded of these runs."""
    arms = arms_and_blocks.arms(plan, None)
    in_order = sorted(runs, key=lambda its: its.block)
    return conclusions.conclude(
        step_cells.rows(plan, arms, in_order),
        arms,
        aims or Aims(),
        minutes=minutes,
        blocks_each=blocks_each,
    )


def cell(found: Concluded, arm: str, step: str = "one") -> Cell:
    """One arm in one step."""
    (its,) = [one for one in found.steps if one.step == step]
    return next(one for one in its.cells if one.arm == arm)
