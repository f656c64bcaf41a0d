"""Finds outside disturbances of a block in its readings, which make it void (docs/plan.md).

Looked at are the measured windows of all arms, each from its start to its end, and what is in them
the arms' own doing is left out: an arm is never asked how it did. Of an arm with a `dsn` nothing is
known, as its server may run here or elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dbdyno.model import Void
from dbdyno.model.host_reading import ForeignProcess, Reading, growth
from dbdyno.model.processor import BUSY
from dbdyno.store import BlockFolder, StepFolder

Cause = Literal["foreign", "stolen", "swap", "slept", "lab", "node"]
CAUSES: Mapping[Cause, str] = {
    "foreign": "foreign load",
    "stolen": "CPU taken by other machines",
    "swap": "swapping",
    "slept": "the machine was suspended",
    "lab": "the lab itself",
    "node": "a node of Slurm's that failed",
}
"""Why a block is done again by itself, in words. A block that was broken off has no cause."""
SLEPT_NS_MIN = 10_000_000
"""Two clocks are read one after the other, so a preemption between them looks like sleep."""
FOREIGN_US_MIN = 100_000
"""Foreign CPU is read in clock ticks, of several processes: in a short window less is no share."""
PERCENT = 100.0


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """A disturbance of one window, with its amount."""

    cause: Cause
    amount: float  # a share of all cores' time; of swapping, pages; of sleep, seconds
    limit: float
    where: str  # "point-query of pg18"
    who: str = ""  # the processes that spent most, where they are known

    def __str__(self) -> str:
        """`41.0 % of all cores' time in point-query of pg18 (limit 5 %): cc1 (process 7) …`."""
        if self.cause == "swap":
            return f"{self.amount:,.0f} pages in {self.where}"
        if self.cause == "slept":
            return f"for {self.amount:,.1f} s in {self.where}"
        much = f"{PERCENT * self.amount:.1f} % of all cores' time in {self.where}"
        ending = f": {self.who}" if self.who else ""
        return f"{much} (limit {PERCENT * self.limit:g} %){ending}"


def disturbances(block: BlockFolder, limits: Void) -> list[Disturbance]:
    """The disturbances of the block's windows beyond the limits."""
    steps = [step for run in block.runs() for step in run.steps()]
    return [disturbance for step in steps for disturbance in of_step(step, limits)]


def of_step(step: StepFolder, limits: Void) -> Iterator[Disturbance]:
    """The disturbances of a step's window; none if it is not measured, or did not end well."""
    if (step.path / "failed.json").exists():
        return
    record = step.step()
    if not record.measured or record.remote:
        return
    ends = {reading.moment: reading for reading in step.host()}
    if "open" in ends and "close" in ends:
        yield from of_window(ends["open"], ends["close"], limits, f"{record.name} of {record.arm}")


def of_window(opened: Reading, closed: Reading, limits: Void, where: str) -> Iterator[Disturbance]:
    """The disturbances of the window between two readings of the host, beyond the limits."""
    grown = growth(opened, closed)
    spent_us = {state: us or 0.0 for state, us in grown.host.cpu_us.items()}
    all_us = max(1, sum(spent_us.values()))
    if opened.foreign is not None and grown.foreign is not None:
        # Who ends while others are read may be counted twice: by itself, and by its parent.
        busy_us = sum(spent_us[state] for state in BUSY)
        foreign_us = min(grown.foreign.cpu_us, busy_us)
        share = foreign_us / all_us
        if share > limits.foreign and foreign_us >= FOREIGN_US_MIN:
            yield Disturbance(
                cause="foreign",
                amount=share,
                limit=limits.foreign,
                where=where,
                who=named(grown.foreign.processes, all_us),
            )
    stolen = spent_us["steal"] / all_us
    if limits.stolen is not None and stolen > limits.stolen:
        yield Disturbance(cause="stolen", amount=stolen, limit=limits.stolen, where=where)
    slept_ns = grown.host.slept_ns or 0.0
    if slept_ns > SLEPT_NS_MIN:
        yield Disturbance(cause="slept", amount=slept_ns / 1e9, limit=0, where=where)
    swapped = grown.host.swap_pages
    pages = (swapped.into or 0) + (swapped.out or 0)
    if limits.swap and pages > 0:
        yield Disturbance(cause="swap", amount=pages, limit=0, where=where)


def named(processes: Sequence[ForeignProcess], all_us: float) -> str:
    """`cc1 (process 4711) 31.0 %, …`: who spent most of what was foreign."""
    return ", ".join(
        f"{process.name} (process {process.pid}) {PERCENT * process.cpu_us / all_us:.1f} %"
        for process in processes
    )


def lines(disturbances: Sequence[Disturbance]) -> dict[Cause, str]:
    """By cause, in words: the most disturbed window, and how many others there are."""
    said: dict[Cause, str] = {}
    for cause in dict.fromkeys(disturbance.cause for disturbance in disturbances):
        of_cause = [disturbance for disturbance in disturbances if disturbance.cause == cause]
        largest = max(of_cause, key=lambda disturbance: disturbance.amount)
        more = len(of_cause) - 1
        ending = f"; and in {more} more window{'s' if more > 1 else ''}" if more else ""
        said[cause] = f"{CAUSES[cause]}: {largest}{ending}"
    return said
