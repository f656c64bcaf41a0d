"""The rows of counted work: operations, and their functions, of arms beside the base."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import asdict

from dbdyno.model import Comparison, Json
from dbdyno.model.count_storage import NOT_TOLD
from dbdyno.model.work import Amounts, FunctionChange, WorkChange, WorkComparison


def operations(comparison: Comparison) -> Iterator[Json]:
    """A row for each counted step of each arm beside the base."""
    for work, change in changes(comparison):
        base, arm, ratio = change.base, change.work, change.ratio
        events = {event.event: event.word for event in change.events}
        yield place(work, change) | {
            "word": change.word,
            "reason": change.reason or None,
            "repeats": work.repeats,
            "operations": change.operations,
            "fills": change.fills,
            "base_instructions": base and base.instructions,
            "arm_instructions": arm and arm.instructions,
            "ratio": ratio and ratio.value,
            "low": ratio and ratio.low,
            "high": ratio and ratio.high,
            "margin": change.margin,
            "base_atomics": base and base.atomics,
            "arm_atomics": arm and arm.atomics,
            "base_system_calls": base and base.system_calls,
            "arm_system_calls": arm and arm.system_calls,
            **log_and_pages("base", base),
            **log_and_pages("arm", arm),
            "base_background": base and background(base),
            "arm_background": arm and background(arm),
            "atomics_word": events.get("atomics"),
            "system_calls_word": events.get("system calls"),
            "operations_needed": max(
                (event.operations_needed or 0 for event in change.events), default=0
            )
            or None,
        }


def background(amounts: Amounts) -> float | None:
    """The instructions of all background processes together; None: not told."""
    return None if amounts.background is None else sum(amounts.background.values())


def log_and_pages(side: str, amounts: Amounts | None) -> Json:
    """The columns of log and pages of one side."""
    storage = NOT_TOLD if amounts is None else amounts.storage
    return {f"{side}_{name}": value for name, value in asdict(storage).items()}


def functions(comparison: Comparison) -> Iterator[Json]:
    """A row for each function of each counted step of each arm beside the base."""
    for work, change in changes(comparison):
        yield from (place(work, change) | of_function(row) for row in change.functions)


def changes(comparison: Comparison) -> Iterator[tuple[WorkComparison, WorkChange]]:
    """The counted steps of a result; none where nothing was counted."""
    if comparison.work is not None:
        yield from ((comparison.work, change) for change in comparison.work.changes)


def place(work: WorkComparison, change: WorkChange) -> Json:
    """The columns that both tables begin with."""
    workload, step = change.step
    return {"workload": workload, "step": step, "base": work.base, "arm": change.arm}


def of_function(function: FunctionChange) -> Json:
    """The columns of a function."""
    return {
        "function": function.function,
        "binary": function.binary,
        "subsystem": function.subsystem,
        "changed": function.changed,
        "base_instructions": function.base,
        "arm_instructions": function.arm,
        "base_whole_instructions": function.base_with_callees,
        "arm_whole_instructions": function.arm_with_callees,
        "base_calls": function.base_calls,
        "arm_calls": function.arm_calls,
        "base_atomics": function.base_atomics,
        "arm_atomics": function.arm_atomics,
        "base_system_calls": function.base_system_calls,
        "arm_system_calls": function.arm_system_calls,
    }
