"""Derives how the service times of each arm lie around the mode in which they are compared."""

import math
from collections.abc import Iterator

from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.findings.undisturbed.facts import ComparedMode, UndisturbedFacts
from dbdyno.model import Cell, StepComparison
from dbdyno.model.service_profile import Mode, ServiceProfiles
from dbdyno.stats.undisturbed import STEP, Density

FAR = 4.0
"""So many times slower than all compared modes times are left out: the tail has its percentiles."""
PERCENT = 0.01


def of_plan(compared: JudgedResult) -> UndisturbedFacts:
    """The modes of the steps of a result."""
    return UndisturbedFacts(modes=tuple(mode for step in compared.steps for mode in _modes(step)))


FINDING = PlanFinding(facts=UndisturbedFacts, of_plan=of_plan)


def _modes(step: StepComparison) -> Iterator[ComparedMode]:
    for operation, modes in step.modes.items():
        slowest_us = FAR * max(mode.to_us for mode in modes.values())
        for cell in step.cells:
            if cell.arm in modes:
                yield _mode(step, cell, operation, modes[cell.arm], slowest_us)


def _mode(
    step: StepComparison, cell: Cell, operation: str, mode: Mode, slowest_us: float
) -> ComparedMode:
    density = Density.of(
        [
            profile
            for facts in cell.each(ServiceProfiles)
            for profile in facts.profiles
            if profile.operation == operation
        ]
    )
    shares = density.shares.tolist()
    times_us = [math.exp((density.first + cell + 0.5) * STEP) for cell in range(len(shares))]
    shown = sum(us <= slowest_us for us in times_us)
    return ComparedMode(
        workload=step.workload,
        ordinal=step.ordinal,
        step=step.step,
        arm=cell.arm,
        operation=operation,
        from_us=mode.from_us,
        to_us=mode.to_us,
        times_us=tuple(times_us[:shown]),
        densities=tuple(share / STEP * PERCENT for share in shares[:shown]),
    )
