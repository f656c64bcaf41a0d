"""Profiles of two arms with known costs, for the tests of what shows them."""

from __future__ import annotations

import random
from dataclasses import replace

from comparison_builder import comparison
from dbdyno.model import Comparison
from dbdyno.model.profile import ProfileComparison, Stack

ROOT = "role:client"
SCAN = (ROOT, "exec_simple_query@postgres", "ExecScan@postgres")
COMPARE = (*SCAN, "index_getnext@postgres", "_bt_compare@postgres")
SEND = (ROOT, "exec_simple_query@postgres", "secure_write@postgres", "?@[kernel]")
GONE = (ROOT, "exec_simple_query@postgres", "ExecInitExpr@postgres")

BASE: dict[Stack, float] = {SCAN: 20.0, COMPARE: 8.5, SEND: 30.25, GONE: 0.4}
ARM: dict[Stack, float] = {SCAN: 20.0, COMPARE: 9.4, SEND: 29.0}
"""Microseconds for each query: `_bt_compare` costs 0.9 more, `ExecInitExpr` is called no more."""


def profile(
    base: dict[Stack, float] = BASE, arm: dict[Stack, float] = ARM, name: str = "pg18"
) -> ProfileComparison:
    """An arm beside pg17 over three blocks, with these call stacks; no function is judged."""
    return ProfileComparison(
        arm=name,
        base="pg17",
        blocks=3,
        base_us=sum(base.values()),
        arm_us=sum(arm.values()),
        base_window_us=None,
        arm_window_us=None,
        samples=5_000,
        functions=(),
        subsystems=(),
        base_stacks=base,
        arm_stacks=arm,
    )


def profiled(*profiles: ProfileComparison, step: str = "qr100") -> Comparison:
    """The made-up comparison, in which this step was profiled."""
    shown = profiles or (profile(),)
    made = comparison(blocks=1, arms=("pg17", *(one.arm for one in shown)))
    steps = (replace(one, profiles=shown) if one.step == step else one for one in made.steps)
    return replace(made, steps=tuple(steps))


def many_stacks(count: int, seed: int = 1) -> dict[Stack, float]:
    """As many call stacks as a server of some size has, up to 40 deep."""
    draw = random.Random(seed)
    stacks: dict[Stack, float] = {}
    while len(stacks) < count:
        depth = draw.randint(5, 40)
        frames = (f"function_{draw.randint(0, 4)}_at_{level}@postgres" for level in range(depth))
        stacks[(ROOT, *frames)] = draw.expovariate(1.0)
    return stacks
