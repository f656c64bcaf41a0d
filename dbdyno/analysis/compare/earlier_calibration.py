"""The sources of noise in a new plan's steps, from earlier results of the same host."""

from __future__ import annotations

from collections.abc import Set
from contextlib import suppress
from pathlib import Path

from dbdyno.analysis import compare
from dbdyno.analysis.compare.earlier_results import begun, is_of_machine, parameters
from dbdyno.model import Plan
from dbdyno.model.error import ResultError
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.noise_budget import Calibrated
from dbdyno.model.plan import WorkloadUse
from dbdyno.model.plan_record import WorkloadRecord
from dbdyno.model.step import StepName
from dbdyno.store import Results


def newest(parent: Path, host: HostFacts, plan: Plan, steps: Set[StepName]) -> Calibrated | None:
    """The newest result in `parent` that compares the base with itself in all of these steps.

    `steps`: by workload and name; `host`: the facts of this machine. It fits where the machine, the
    engine of the base, and the workloads' parameters but for their length are the same. None where
    there is none; one that is damaged tells nothing.
    """
    fit = [other for other in Results.within(parent) if _is_alike(other, host, plan)]
    for other in sorted(fit, key=begun, reverse=True):
        with suppress(ResultError):
            calibration = compare.load(other).calibration
            budgets = (
                [noise for noise in calibration.budget if (noise.workload, noise.step) in steps]
                if calibration
                else []
            )
            if steps and {(budget.workload, budget.step) for budget in budgets} == steps:
                return Calibrated(folder=other.folder.name, budgets=tuple(budgets))
    return None


def _is_alike(other: Results, host: HostFacts, plan: Plan) -> bool:
    """Whether it was measured on this machine, in turns, with such a base and such workloads."""
    base = other.plan.arm(other.plan.base)
    uses = [_parameters(use) for use in plan.workloads]
    return (
        is_of_machine(other, host)
        and other.plan.schedule.interleave == "slice"
        and other.plan.schedule.placement == plan.schedule.placement
        and base is not None
        and [base.engine] == [arm.engine for arm in plan.arms if arm.name == plan.base]
        and [_parameters(use) for use in other.plan.workloads] == uses
    )


def _parameters(use: WorkloadRecord | WorkloadUse) -> tuple[object, ...]:
    """The key of a workload's noise, without the length that is wanted."""
    return use.name, use.set, use.preset, use.fill, use.warm, parameters(use)
