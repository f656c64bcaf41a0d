"""Rows of the table of metrics: what perf counted of the server in the profiled window.

Software events were tried. Hardware events were not, as no machine with counters was at hand: how
they are named and counted is taken from perf-stat(1) and perf-list(1).
"""

from collections.abc import Iterable
from typing import NamedTuple

from dbdyno.model.metric import row
from dbdyno.model.metric.row import Metric

INSTRUCTIONS = "instructions_per_op"
"""The witness beside verdicts: it scatters by tenths of a percent, and decides nothing."""
PER_CYCLE = "instructions_per_cycle"


class Counter(NamedTuple):
    """A metric that is a counter of perf divided by operations."""

    name: str
    events: tuple[str, ...]  # as perf names them; the first that was counted
    unit: str
    title: str


def _apart(name: str, event: str, unit: str, title: str) -> tuple[Counter, Counter]:
    """A hardware event in user code, and in the kernel on its behalf."""
    return (
        Counter(f"{name}_per_op", (f"{event}:u",), unit, title),
        Counter(f"kernel_{name}_per_op", (f"{event}:k",), unit, f"{title} in the kernel"),
    )


COUNTERS: tuple[Counter, ...] = (
    *_apart("instructions", "instructions", "instructions", "Instructions"),
    *_apart("cycles", "cycles", "cycles", "Cycles"),
    *_apart("branch_misses", "branch-misses", "misses", "Mispredicted branches"),
    *_apart("cache_misses", "cache-misses", "misses", "Misses of the last cache"),
    *_apart("dtlb_misses", "dTLB-load-misses", "misses", "Misses of the data TLB"),
    *_apart("itlb_misses", "iTLB-load-misses", "misses", "Misses of the instruction TLB"),
    *_apart("l1d_misses", "L1-dcache-load-misses", "misses", "Loads that miss the L1 data cache"),
    *_apart("l1i_misses", "L1-icache-load-misses", "misses", "Misses of the L1 instruction cache"),
    *_apart(
        "frontend_stalls", "stalled-cycles-frontend", "cycles", "Cycles that wait for instructions"
    ),
    *_apart(
        "backend_stalls", "stalled-cycles-backend", "cycles", "Cycles that wait for data or units"
    ),
    Counter("page_faults_per_op", ("page-faults", "page-faults:u"), "faults", "Page faults"),
    Counter("migrations_per_op", ("cpu-migrations",), "migrations", "Moves to another core"),
)
"""Counted over the profiled window, which no verdict reads."""


def _rows() -> Iterable[Metric]:
    for counter in COUNTERS:
        hardware = counter.events[0].endswith((":u", ":k"))
        needs = " and on hosts without hardware counters" if hardware else ""
        yield row.own(
            counter.name, f"{counter.unit}/operation", "lower", 2,
            f"""{counter.title} | perf's `{counter.events[0]}` of the server's processes in the
            profiled window, divided by its operations; NA without `[observe] profile`{needs}""",
        )  # fmt: skip
    yield row.own(
        PER_CYCLE, "instructions/cycle", "neutral", 2,
        """Instructions per cycle | perf's `instructions:u` divided by `cycles:u`, of the server's
        processes in the profiled window; NA without `[observe] profile` and on hosts without
        hardware counters""",
    )  # fmt: skip


COUNTER: tuple[Metric, ...] = tuple(_rows())
