"""A step of two arms with planted changes of metrics, judged: for the tests of what explains them.

A metric of a run is the base's times the arm's factor, and noise of `NOISE` that is as often above
as below.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

from comparison_builder import one_cell
from dbdyno.judge.verdicts import together
from dbdyno.model import Cell, StepComparison, StepRun
from dbdyno.model.metric.primary import CPU, SESSIONS_CPU, cpu_of
from dbdyno.model.verdict import Aims
from dbdyno.stats.sample import Sample
from one_look import decide
from run_builder import step_run

NOISE = 0.004
BLOCKS = 6
BASE: Mapping[str, float] = {
    "qps": 12_500.0,
    "server_cpu_per_op": 60.0,
    "connection_us_per_op": 80.0,
    "runnable_us_per_op": 4.0,
    "wait_io_us_per_op": 6.0,
    "wait_lwlock_us_per_op": 0.1,
    "wait_lock_us_per_op": 0.0,
    "wait_ipc_us_per_op": 0.0,
    "wait_other_us_per_op": 0.0,
    "client_us_per_op": 9.0,
    "unaccounted_us_per_op": 0.9,
    "cs_per_op": 1.02,
    "buffers_hit_per_op": 4.1,
    "buffers_read_per_op": 0.4,
    "rpq": 0.4,
    "rkbpq": 3.2,
    "wpq": 0.001,
    "wkbpq": 0.02,
    "wal_bytes_per_op": 0.0,
    "checkpointer_cpu_per_op": 0.01,
    "io_worker_cpu_per_op": 1.5,
    "cpu_per_op": 60.0,
    "instructions_per_op": 250_000.0,
}
UNSAMPLED = frozenset({"wait_io", "wait_lwlock", "wait_lock", "wait_ipc", "wait_other", "client"})


def changed(
    plans: tuple[str, str] = ("", ""),
    *,
    sampled: bool = True,
    noise: float = NOISE,
    helped: bool = False,
    **factors: float,
) -> StepComparison:
    """A step in which the arm `new` has the base's metrics times these factors.

    A factor of a metric that the base has none of is the arm's value. `plans`: of the statement
    `get`, the base's and the arm's. `helped`: by more
    CPU than that of its sessions; else both are one.
    """
    if not helped and SESSIONS_CPU in factors:
        factors = {CPU: factors[SESSIONS_CPU], **factors}
    base, other = (
        tuple(_run(BASE, arm, block, its, plan, sampled, noise) for block in range(1, BLOCKS + 1))
        for arm, its, plan in (("old", {}, plans[0]), ("new", factors, plans[1]))
    )
    cells = (one_cell("qps", base, base), _judged(one_cell("qps", other, base)))
    return StepComparison(workload="w", ordinal=1, step="point", headline="qps", cells=cells)


def _run(
    known: Mapping[str, float],
    arm: str,
    block: int,
    factors: Mapping[str, float],
    plan: str,
    sampled: bool,
    noise: float,
) -> StepRun:
    sign = 1 if block % 2 else -1
    metrics: dict[str, float | None] = {}
    for name, value in known.items():
        drawn = math.exp(sign * noise) if arm == "new" else 1.0
        metrics[name] = (
            value * factors.get(name, 1.0) if value else factors.get(name, 0.0)
        ) * drawn
        if not sampled and name.removesuffix("_us_per_op") in UNSAMPLED:
            metrics[name] = None
    return step_run(
        workload="w", arm=arm, block=block, ordinal=1, step="point", measured=True, status="ok",
        reason=None, headline="qps", sla_target=None, metrics=metrics, seconds=60.0,
        plans={"get": plan} if plan else {},
    )  # fmt: skip


def _judged(cell: Cell) -> Cell:
    """The cell with its verdict and costs, each family decided for itself."""
    samples = {
        name: _sample(cell, name)
        for name in cell.estimates
        if BASE[name] * (cell.metrics[name] or 0)
    }
    primaries = ("qps", cpu_of([cell]))
    primary = decide([samples[name] for name in primaries], Aims())
    costs = [samples[name] for name in samples if name not in primaries]
    verdict = replace(together(primary), by=())
    judged = dict(zip((one.metric for one in costs), decide(costs, Aims()), strict=True))
    return replace(cell, verdict=verdict, costs=judged)


def _sample(cell: Cell, name: str) -> Sample:
    logs = tuple(math.log((run.metrics[name] or 0.0) / BASE[name]) for run in cell.runs)
    return Sample(metric=name, better=1 if name == "qps" else -1, logs=logs)
