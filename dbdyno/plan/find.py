"""`find` of a plan's workload: up to which response times a rate counts."""

import re
from collections.abc import Sequence

from dbdyno.model import Schedule, Step
from dbdyno.model.error import WorkloadError
from dbdyno.plan import schedule

WRITTEN = re.compile(r"p99\s*<\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s)")
UNITS_US = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
WINDOW_SHARE_MAX = 0.1
"""Of a window: what is too much for the server lets response times grow up to its length."""


def p99_below_us(written: str | None) -> float | None:
    """The limit in microseconds; None where nothing is searched. Raises WorkloadError."""
    if written is None:
        return None
    found = WRITTEN.fullmatch(written.strip())
    if found is None or float(found[1]) == 0:
        raise WorkloadError(f'key `find`: cannot read {written!r}; write it as "p99 < 10ms"')
    return float(found[1]) * UNITS_US[found[2]]


def check(limit_us: float, of: Schedule, steps: Sequence[Step], save: str | None) -> None:
    """Raises WorkloadError where nothing can be searched, or a window is too short for it."""
    if of.together:
        raise WorkloadError(
            f'key `find`: with interleave = "{of.interleave}" arms share a step, and each search '
            'has rates of its own; use interleave = "run"'
        )
    searched = schedule.searched(steps, save)
    if not searched:
        raise WorkloadError(
            "key `find`: no step after a golden copy is measured for some `seconds` as fast as it "
            "can; remove it"
        )
    for step in searched:
        seconds = step.job.stop.seconds or 0.0
        if limit_us > WINDOW_SHARE_MAX * seconds * 1e6:
            raise WorkloadError(
                f"key `find`: the limit is more than a tenth of the {seconds:g} s of step "
                f"`{step.name}`, in which a rate that is too high would not show; use a longer step"
            )
