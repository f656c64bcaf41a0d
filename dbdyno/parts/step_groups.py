"""The steps that a workload's tables list: alone, by published group, or before the writes.

Steps that only warm something up are in no group, and those that run before the writes (`.pre`) in
a table of their own (fragmentation).
"""

from collections.abc import Iterable

from dbdyno.model import StepComparison

PUBLISHED = (
    "point queries",
    "range queries without aggregation",
    "range queries with aggregation",
    "writes",
)
"""The published groups in their order; others follow in the order in which they first run."""
PRE = ".pre"
"""In the name of a step that runs before the writes; its twin after them is named without it."""
SWEEP = "@"
"""In the name of a step between what it is and the parameters that are swept."""

_LAST = "_"  # between digits and letters: =1000 before =10, read-only_ before read-only-simple


def alone(step: StepComparison) -> bool:
    """Whether the step has a column in the tables of a workload's few steps."""
    return step.group is None


def measured(step: StepComparison) -> bool:
    """Whether a throughput of it was asked for: not of a step that warms something up."""
    return step.headline is not None and step.measured


def listed(step: StepComparison) -> bool:
    """Whether the step has a row in the tables of its group."""
    return step.group is not None and measured(step) and PRE not in step.step


def before_writes(step: StepComparison) -> bool:
    """Whether the step is there to be compared with its twin after the writes."""
    return step.group is not None and measured(step) and PRE in step.step


def ordered(steps: Iterable[StepComparison]) -> dict[str, list[StepComparison]]:
    """The listed steps by group, groups and steps in the published order."""
    by_title: dict[str, list[StepComparison]] = {title: [] for title in PUBLISHED}
    for step in steps:
        if listed(step):
            by_title.setdefault(step.group or "", []).append(step)
    return {
        title: sorted(
            some, key=lambda step: (collation(step.step.partition(SWEEP)[0]), step.ordinal)
        )
        for title, some in by_title.items()
        if some
    }


def collation(name: str) -> str:
    """The sort key of published names: letters and digits alone, a longer number first."""
    return "".join(sign for sign in name.lower() if sign.isalnum()) + _LAST
