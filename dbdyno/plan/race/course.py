"""The course of a race: its steps, the state that blocks begin from, how arms interleave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno import workload
from dbdyno.model import Step, WorkloadUse, engine
from dbdyno.plan.race.arm import RaceArm
from dbdyno.plan.workload_use import HOST_CHECKED

STEADY = 0.01
"""Fixed work that scatters less than this, as a share, is that of a quiet host."""
DEFAULT = "sysbench"
STEPS: Mapping[str, tuple[tuple[float, str], ...]] = {
    DEFAULT: (
        (0, "hot-points"),
        (0, "range-covered-si"),
        (10, "read-only_range=100"),
        (10, "random-points_range=100"),
        (10, "range-notcovered-si"),
        (20, "point-query"),
        (20, "update-index"),
    ),
    "sysbench-oltp": (
        (0, "oltp_point_select"),
        (0, "oltp_read_only"),
        (20, "oltp_read_write"),
    ),
    "pgbench": ((0, "select-only"), (20, "tpcb-like")),
}
"""Steps of workloads by the minutes from which a race has time to decide them.

First the two that a short race decides soonest: where versions differ most, and where turns leave
least noise (docs/benchmarks, "interleave").
"""


@dataclass(frozen=True, kw_only=True)
class Course:
    """The steps of a race, where its blocks begin, and how its arms interleave."""

    steps: tuple[str, ...]  # those that are written; none: all of the workload
    measured: int
    interleave: str  # "run" or "turn"
    why: str  # the interleaving, in a sentence without a period
    save: str | None  # the step after which each block begins
    warm: str | None
    writes: bool  # whether any step that is judged writes


def steps_of(name: str, minutes: float) -> tuple[str, ...]:
    """The steps of a race that names none; none is said of workloads that have few."""
    return tuple(step for least, step in STEPS.get(name, ()) if minutes >= least)


def course(use: WorkloadUse, arms: Sequence[RaceArm], plan: Path, scatter: float | None) -> Course:
    """The course that suits workload, arms and the host's scatter. Raises WorkloadError."""
    steps = expanded(use, arms[0].engine, plan)
    after = loaded(use, steps)
    elsewhere = any(arm.elsewhere for arm in arms)
    rest = steps[after:]
    writes = any(step.writes for step in rest)
    hidden = any(step.writes and not step.measured for step in rest)
    can_save = bool(after and rest) and not elsewhere
    turns = all("turns" in engine.of(arm.engine).can for arm in arms)
    turns &= (can_save and not hidden) if writes else after < len(steps)
    noisy = scatter is None or scatter >= STEADY
    save = steps[after - 1].name if can_save else None
    prewarmed = all("prewarm" in engine.of(arm.engine).can for arm in arms)
    return Course(
        steps=use.steps or (),
        measured=sum(step.measured for step in rest),
        interleave="turn" if turns and noisy else "run",
        why=reason(turns=turns, noisy=noisy, scatter=scatter),
        save=save,
        warm=None if save is None else "prewarm" if prewarmed else "scan",
        writes=writes,
    )


def expanded(use: WorkloadUse, its: str, plan: Path) -> tuple[Step, ...]:
    """The steps of the workload for an engine. Raises WorkloadError."""
    parameters: dict[str, Any] = {**HOST_CHECKED, **use.parameters}
    return tuple(workload.expand(workload.used(use, plan), parameters, its, steps=use.steps))


def loaded(use: WorkloadUse, steps: Sequence[Step]) -> int:
    """The number of first steps that only bring the tables into place."""
    brought = workload.brought(use, steps)
    for number, step in enumerate(steps):
        if step.measured and step.name not in brought:
            return number
    return len(steps)


def reason(*, turns: bool, noisy: bool, scatter: float | None) -> str:
    """The reason for the interleaving, in words."""
    seen = "" if scatter is None else f"fixed work scattered by {100 * scatter:.1f} % here"
    if not turns:
        return "its steps write and begin from no copy, so that arms follow one another"
    if noisy:
        return f"{seen + ', so ' if seen else ''}arms take turns within each step"
    return f"{seen}: a quiet host, so that each arm has it alone"
