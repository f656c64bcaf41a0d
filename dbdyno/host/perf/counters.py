"""Counters of `perf stat`: which events are asked for, and what it printed. Pure.

The fields are those of perf-stat(1), "CSV format". Software events were tried. Hardware events were
not: no machine with counters was at hand, and their names and modifiers are perf-list(1)'s.
"""

from collections.abc import Iterable, Mapping

INSTRUCTIONS = "instructions"
HARDWARE = (
    INSTRUCTIONS,
    "cycles",
    "branches",
    "branch-misses",
    "cache-references",
    "cache-misses",
    "dTLB-load-misses",
    "iTLB-load-misses",
    "L1-dcache-load-misses",
    "L1-icache-load-misses",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
)
SOFTWARE = ("task-clock", "page-faults")
SCHEDULING = ("context-switches", "cpu-migrations")
"""Software events that happen in the kernel: never counted for user code alone."""
PINNED = f"{INSTRUCTIONS}:u"
"""Counted all the time. Processors have fewer counters than there are events: the kernel counts
the others in turns, and perf extrapolates them."""
NOT_THERE = ("<not supported>", "<not counted>")
NANOSECONDS = {"msec": 1e6, "usec": 1e3, "sec": 1e9}


def wanted(*, kernel: bool) -> tuple[str, ...]:
    """The events to ask for: user code (`:u`) and kernel (`:k`) apart, the latter where allowed."""
    modes = ("u", "k") if kernel else ("u",)
    hardware = [f"{event}:{mode}" for event in HARDWARE for mode in modes]
    software = [*SOFTWARE, *SCHEDULING] if kernel else [f"{event}:u" for event in SOFTWARE]
    return (*hardware, *software)


def as_asked(events: Iterable[str]) -> str:
    """The value of `perf stat -e`."""
    return ",".join(f"{event}D" if event == PINNED else event for event in events)


def read(text: str, events: Iterable[str]) -> dict[str, float | None]:
    """What `perf stat -x ,` printed, by event; None: the host does not count that event.

    `events`: as they were asked for, in order: of the caches' perf prints names without `:u` and
    `:k`. Times (`task-clock`) are in nanoseconds, all else is a number of events.
    """
    missing = list(events)
    found: dict[str, float | None] = {}
    for line in text.splitlines():
        fields = line.split(",")
        if line.startswith("#") or len(fields) < 3:
            continue
        value, unit, event = fields[:3]
        name = event.removesuffix("D") if event == f"{PINNED}D" else event
        name = next((each for each in missing if name in (each, each.partition(":")[0])), name)
        if name in missing:
            missing.remove(name)
        if value in NOT_THERE:
            found[name] = None
        elif _is_number(value):
            found[name] = float(value) * NANOSECONDS.get(unit, 1.0)
    return found


def why_none(counted: Mapping[str, float | None]) -> str | None:
    """Why hardware events are missing, or some of them, from a trial of all; None: none is."""
    if not counted:
        return "`perf stat` counts nothing on this host"
    if counted.get(PINNED) is None:
        return "this host counts no hardware events, as most virtual machines"
    lacking = [event for event in HARDWARE if counted.get(f"{event}:u") is None]
    return f"this host counts no {', '.join(lacking)}" if lacking else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
