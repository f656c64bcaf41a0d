"""All that is said of a plan before it starts and is no error."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.engine import dsn
from dbdyno.model import Plan
from dbdyno.run.check import counting, memory_fit, profiling
from dbdyno.run.prepared import Prepared


def notices(plan: Plan, prepared: Prepared) -> Iterator[str]:
    """A line each."""
    yield from memory_fit.notices(plan, prepared)
    yield from profiling.notices(plan, prepared)
    yield from counting.notices(plan, prepared)
    for arm in plan.arms:
        yield from dsn.passed_over(arm)
