"""Made-up profiles: what each function was seen to take, or costs in two arms, is known."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

import comparison_builder
from dbdyno.findings.profiles.facts import FunctionCost, ProfileComparison, ProfileFacts
from dbdyno.findings.profiles.plan import derived
from dbdyno.judge import arms_and_blocks, step_cells
from dbdyno.model import Comparison, StepComparison, StepRun
from dbdyno.model.headlines import kind_of
from dbdyno.model.plan_record import ObserveRecord
from dbdyno.model.profile import Profile, Stack
from run_builder import plan_of, run

OWNER = "role:client"
WHOLE = "whole_server_cpu_per_op"
ROOT = ("main@postgres", "PostgresMain@postgres", "exec_execute_message@postgres")


def stack(*functions: str, owner: str = OWNER) -> Stack:
    """A call stack below the loop of a backend; a function without a binary is the server's."""
    named = (one if "@" in one else f"{one}@postgres" for one in functions)
    return (owner, *ROOT, *named)


COMPARE = stack("IndexNext", "_bt_search", "_bt_compare")
SEARCH = stack("IndexNext", "_bt_search")
SCAN = stack("ExecScan")
SEND = stack("internal_flush", "send@libc.so.6", "sock_sendmsg@[kernel]")
PARSE = stack("raw_parser")
GONE = stack("ExecInitExpr")

BASE: dict[Stack, float] = {SCAN: 20.0, COMPARE: 8.5, SEND: 30.25, GONE: 0.4}
ARM: dict[Stack, float] = {SCAN: 20.0, COMPARE: 9.4, SEND: 29.0}
"""Microseconds for each query: `_bt_compare` costs 0.9 more, `ExecInitExpr` is called no more."""


def many_stacks(count: int, seed: int = 1) -> dict[Stack, float]:
    """As many call stacks as a server of some size has, up to 40 deep, with their microseconds."""
    draw = random.Random(seed)
    stacks: dict[Stack, float] = {}
    while len(stacks) < count:
        depth = draw.randint(5, 40)
        frames = (f"function_{draw.randint(0, 4)}_at_{level}@postgres" for level in range(depth))
        stacks[(OWNER, *frames)] = draw.expovariate(1.0)
    return stacks


# --- Profiles of runs ------------------------------------------------------------------------


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


def pair(block: int, more: int = 0) -> tuple[StepRun, StepRun]:
    """Both arms of a block; the new one compares more, and its operations cost that much more."""
    old = {COMPARE: 400, SEARCH: 100, SEND: 300, PARSE: 200}
    new = {**old, COMPARE: 400 + more}
    return profiled("old", block, 100.0, old), profiled("new", block, 100.0 + more / 10, new)


def profiles(
    *runs: StepRun, arms: Sequence[str] = ("old", "new"), **own: list[str]
) -> tuple[ProfileComparison, ...]:
    """The profiles of these runs side by side; `own`: the plan's subsystems."""
    plan = plan_of(arms, **{arm: {"engine": "postgres"} for arm in arms})
    subsystems = {kind: tuple(names) for kind, names in own.items()}
    plan = structs.replace(plan, observe=ObserveRecord(subsystems=subsystems))
    shown = arms_and_blocks.arms(plan, None)
    in_order = sorted(runs, key=lambda run: run.block)
    return derived(step_cells.rows(plan, shown, in_order), plan).functions


def compared(*runs: StepRun, **own: list[str]) -> ProfileComparison:
    """The only arm beside the base."""
    (profile,) = profiles(*runs, **own)
    return profile


# --- Costs of two arms, without runs ---------------------------------------------------------


def cost(name: str, more: float, *, changed: bool = True, q: float | None = 0.01) -> FunctionCost:
    """A function that costs so many microseconds more than the base's 5, with calls 6."""
    ends = {"low_us": more - 0.2, "high_us": more + 0.2}
    whole = {"low_whole_us": more - 0.2, "high_whole_us": more + 0.2}
    return FunctionCost(
        name=name,
        binary="postgres",
        subsystem="indexes",
        base_us=5.0,
        arm_us=5.0 + more,
        more_us=more,
        base_whole_us=6.0,
        arm_whole_us=6.0 + more,
        more_whole_us=more,
        q=q,
        changed=changed,
        **ends,
        **whole,
    )


def beside(*functions: FunctionCost, us: float = 44.0, **changes: Any) -> ProfileComparison:
    """`new` beside `old` over four blocks; `us`: the base's CPU for an operation."""
    values: dict[str, Any] = {
        "workload": "w",
        "ordinal": 1,
        "step": "one",
        "unit": "query",
        "arm": "new",
        "base": "old",
        "blocks": 4,
        "base_us": us,
        "arm_us": us + sum(cost.more_us for cost in functions),
        "base_window_us": None,
        "arm_window_us": None,
        "samples": 5_000,
        "costs": functions,
    }
    return ProfileComparison(**{**values, **changes})


def of_stacks(
    base: Mapping[Stack, float] = BASE, arm: Mapping[Stack, float] = ARM, name: str = "pg18"
) -> ProfileComparison:
    """An arm beside pg17, with these call stacks; no function is judged."""
    us, arm_us = sum(base.values()), sum(arm.values())
    return beside(us=us, arm_us=arm_us, arm=name, base="pg17", base_stacks=base, arm_stacks=arm)


def comparison(*profiles: ProfileComparison, step: str = "qr100") -> Comparison:
    """The made-up comparison, in which this step was profiled."""
    shown = profiles or (of_stacks(),)
    arms = (shown[0].base, *(one.arm for one in shown))
    made = comparison_builder.comparison(blocks=1, arms=arms)
    (profiled,) = (each for each in made.steps if each.step == step)
    facts = ProfileFacts(functions=tuple(_of_step(each, profiled) for each in shown))
    return replace(made, findings={"ProfileFacts": facts})


def _of_step(profile: ProfileComparison, step: StepComparison) -> ProfileComparison:
    """The profile as one of this step."""
    place = {"workload": step.workload, "ordinal": step.ordinal, "step": step.step}
    return replace(profile, unit=kind_of(step.headline).unit, **place)
