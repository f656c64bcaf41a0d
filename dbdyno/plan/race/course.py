"""The course of a race: its steps, the state that blocks begin from, how arms interleave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno import workload
from dbdyno.model import Step, WorkloadUse, engine
from dbdyno.plan.race.arm import RaceArm
from dbdyno.plan.workload_use import HOST_CHECKED

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
    "sysbench-oltp": ((0, "oltp_point_select"), (0, "oltp_read_only"), (20, "oltp_read_write")),
    "pgbench": ((0, "select-only"), (20, "tpcb-like")),
    "ycsb": (
        (0, "workload-c"),
        (4, "workload-a"),
        (8, "workload-b"),
        (8, "workload-f"),
        (12, "workload-d"),
        (12, "workload-e"),
    ),
}
"""Steps of workloads by the minutes from which a race of two arms has time to decide them.

First the two that a short race decides soonest: where versions differ most, and where turns leave
least noise (docs/benchmarks, "interleave").
"""


UNKNOWN_S = 10.0
"""Of a step that fills tables and does not say how long it takes."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """The steps of a race, where its blocks begin, and how its arms interleave."""

    steps: tuple[str, ...]  # those that are written; none: all of the workload
    measured: int
    filling_s: float  # about what one arm's tables take
    rest: tuple[Step, ...]  # after the tables are in place
    interleave: str  # "run" or "turn"
    save: str | None  # the step after which each block begins
    warm: str | None
    writes: bool  # whether any step that is judged writes


def steps_of(name: str, minutes: float, arms: int = 2) -> tuple[str, ...]:
    """The steps of a race that names none; none is said of workloads that have few."""
    of_two = minutes * min(1.0, 2 / arms)
    return tuple(step for least, step in STEPS.get(name, ()) if of_two >= least)


def course(use: WorkloadUse, arms: Sequence[RaceArm], plan: Path) -> Course:
    """The course that suits workload and arms. Raises WorkloadError."""
    steps = expanded(use, arms[0].engine, plan)
    after = workload.loaded(use, steps)
    while after and not steps[after - 1].writes:
        after -= 1  # what only warms caches is no part of the data: each block does it
    elsewhere = any(arm.elsewhere for arm in arms)
    rest = steps[after:]
    writes = any(step.writes for step in rest)
    hidden = any(step.writes and not step.measured for step in rest)
    can_save = bool(after and rest) and not elsewhere
    turns = all("turns" in engine.of(arm.engine).can for arm in arms)
    turns &= all(step.job.driver == "loadgen" for step in rest)  # no other load can pause
    turns &= (can_save and not hidden) if writes else after < len(steps)
    save = steps[after - 1].name if can_save else None
    prewarmed = all("prewarm" in engine.of(arm.engine).can for arm in arms)
    return Course(
        steps=use.steps or (),
        measured=sum(step.measured for step in rest),
        filling_s=sum(step.expected_s or UNKNOWN_S for step in steps[:after]),
        rest=rest,
        interleave="turn" if turns else "run",
        save=save,
        warm=None if save is None else "prewarm" if prewarmed else "scan",
        writes=writes,
    )


def expanded(use: WorkloadUse, its: str, plan: Path) -> tuple[Step, ...]:
    """The steps of the workload for an engine. Raises WorkloadError."""
    parameters: dict[str, Any] = {**HOST_CHECKED, **use.parameters}
    return tuple(workload.expand(workload.used(use, plan), parameters, its, steps=use.steps))
