"""The rows of functions and subsystems, from the profiles of arms side by side."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.model import Comparison, Json
from dbdyno.model.profile import Difference, FunctionCost


def functions(comparison: Comparison) -> Iterator[Json]:
    """A row for each subsystem and each function of each profiled step."""
    for step in comparison.steps:
        place: Json = {"workload": step.workload, "ordinal": step.ordinal, "step": step.step}
        for compared in step.profiles:
            arms = place | {"base": compared.base, "arm": compared.arm, "blocks": compared.blocks}
            for kind in ("subsystem", "function"):
                costs = compared.functions if kind == "function" else compared.subsystems
                yield from (arms | {"kind": kind} | _row(cost) for cost in costs)


def _row(cost: FunctionCost) -> Json:
    return {
        "name": cost.name,
        "binary": cost.binary or None,
        "subsystem": cost.subsystem or None,
        "base_us": cost.base_us,
        "arm_us": cost.arm_us,
        **_change(cost.change, ("more_us", "low_us", "high_us")),
        "q": cost.p,
        "base_whole_us": cost.base_inclusive_us,
        "arm_whole_us": cost.arm_inclusive_us,
        **_change(cost.inclusive_change, ("more_whole_us", "low_whole_us", "high_whole_us")),
    }


def _change(change: Difference, names: tuple[str, str, str]) -> Json:
    return dict(zip(names, (change.value, change.low, change.high), strict=True))
