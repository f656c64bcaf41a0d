"""Searches the highest rate at which a step's response times stay under a limit.

After the step itself, in which its connections do what they can, windows follow in which operations
are due at a rate: each a step of its own with a folder of its own, by which analysis finds the rate
again.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from dbdyno.model import Step
from dbdyno.model.find import FIND, SearchWindow
from dbdyno.model.job.role import RatePace, Role
from dbdyno.model.step_files import StepDone
from dbdyno.run import step as steps
from dbdyno.run.driver.interface import Bench
from dbdyno.run.progress import Pulse
from dbdyno.stats import find
from dbdyno.stats.find import Probe

Place = Callable[[Step], tuple[Path, Bench]]
"""The folder of a step's files, and the bench that measures it."""


def search(step: Step, done: StepDone, place: Place, show: Callable[[Pulse], None]) -> str:
    """Probes rates until the highest is known; what was found, for the person who watches.

    `done`: what the step itself came to. Raises StepFailed, LabDied as a step does.
    """
    counted = done.counted
    assert counted is not None
    closed_per_s = counted.operations / counted.seconds if counted.seconds else 0.0
    probes: list[Probe] = []
    assert step.p99_below_us is not None
    while closed_per_s and (per_s := find.next_rate(closed_per_s, probes)) is not None:
        probed = SearchWindow(
            per_s=per_s, closed_per_s=closed_per_s, p99_below_us=step.p99_below_us
        )
        of = window(step, probed, len(probes) + 1)
        p99_us = measured(of, place, show)
        probes.append(Probe(per_s, p99_us is not None and p99_us < step.p99_below_us))
    highest = find.highest(closed_per_s, probes)
    limit = f"p99 < {step.p99_below_us / 1000:g} ms"
    return f"no rate with {limit}" if highest is None else f"{limit} up to {highest:,.0f}/s"


def measured(of: Step, place: Place, show: Callable[[Pulse], None]) -> float | None:
    """Measures a window; the p99 of its response times, None where nothing ended in it."""
    last_us: float | None = None

    def watch(pulse: Pulse) -> None:
        nonlocal last_us
        last_us = pulse.p99_so_far_us
        show(pulse)

    folder, bench = place(of)
    steps.measure(of, bench, folder, watch)
    return last_us


def window(step: Step, probed: SearchWindow, number: int) -> Step:
    """The step with operations of its headline's role due at a rate."""
    assert step.headline is not None
    roles = tuple(
        structs.replace(role, pace=pace(step, role, probed))
        if role.name == step.headline.role
        else role
        for role in step.job.roles
    )
    name = f"{step.name}{FIND}{number}"
    job = structs.replace(step.job, step=name, roles=roles)
    return replace(step, name=name, job=job, pad_to_s=None, p99_below_us=None, probed=probed)


def pace(step: Step, role: Role, probed: SearchWindow) -> RatePace:
    """The pace at which all clients together have the rate."""
    return RatePace(arrivals="poisson", per_s=probed.per_s / step.job.clients_of(role))
