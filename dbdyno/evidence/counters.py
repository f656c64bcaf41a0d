"""Metrics of perf's counters: events of the profiled window by its operations. Pure."""

from dbdyno.model.metric.counter import COUNTERS, PER_CYCLE
from dbdyno.model.profile import Profile


def metrics(profile: Profile | None) -> dict[str, float | None]:
    """The metrics by name; None of what was not counted, or without operations."""
    counted = {} if profile is None else profile.counters
    operations = None if profile is None else profile.operations
    values: dict[str, float | None] = {}
    for counter in COUNTERS:
        value = next((counted[event] for event in counter.events if event in counted), None)
        values[counter.name] = None if value is None or not operations else value / operations
    instructions, cycles = counted.get("instructions:u"), counted.get("cycles:u")
    values[PER_CYCLE] = None if instructions is None or not cycles else instructions / cycles
    return values
