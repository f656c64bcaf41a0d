"""Runs with made-up profiles: what each function was seen to take is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbdyno.analysis.compare import arms_and_blocks, functions, step_cells
from dbdyno.model import StepComparison, StepRun
from dbdyno.model.profile import Profile, ProfileComparison, Stack
from run_builder import plan_of, run

OWNER = "role:client"
WHOLE = "whole_server_cpu_per_op"
ROOT = ("main@postgres", "PostgresMain@postgres", "exec_execute_message@postgres")


def stack(*functions: str, owner: str = OWNER) -> Stack:
    """A call stack below the loop of a backend; a function without a binary is the server's."""
    named = (one if "@" in one else f"{one}@postgres" for one in functions)
    return (owner, *ROOT, *named)


def profile(stacks: Mapping[Stack, int], **changes: Any) -> Profile:
    """A profile of ten seconds with these samples."""
    values: dict[str, Any] = {
        "seconds": 10.0,
        "event": "cpu-clock",
        "hertz": 99,
        "call_graph": "fp",
        "samples": sum(stacks.values()),
        "lost": 0,
        "stacks": stacks,
        "operations": 1_000.0,
        "cpu_us": 105_000.0,
    }
    return Profile(**{**values, **changes})


def profiled(arm: str, block: int, cpu_us: float, stacks: Mapping[Stack, int]) -> StepRun:
    """A run whose operations cost so much CPU, with a profile."""
    made = run(arm, block, 1_000.0, metrics={WHOLE: cpu_us}, counted=10_000.0, seconds=10.0)
    return replace(made, profile=profile(stacks))


def step(*runs: StepRun, arms: Sequence[str] = ("old", "new"), **own: list[str]) -> StepComparison:
    """The step of these runs, with their profiles side by side; `own`: the plan's subsystems."""
    plan = plan_of(arms, **{arm: {"engine": "postgres"} for arm in arms})
    plan["observe"] = {"subsystems": own}
    its = arms_and_blocks.arms(plan, None)
    rows = step_cells.rows(plan, its, sorted(runs, key=lambda one: one.block))
    (row,) = functions.with_profiles(rows, plan)
    return row.step


def comparison(*runs: StepRun, **own: list[str]) -> ProfileComparison:
    """The only arm beside the base."""
    (found,) = step(*runs, **own).profiles
    return found
