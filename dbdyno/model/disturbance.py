"""What disturbs a window from outside the arms, by the readings of the host at its two ends.

What is the arms' own doing is left out: an arm is never asked how it did.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from dbdyno.model.host_reading import HostReading, growth
from dbdyno.model.plan import Void
from dbdyno.model.processor import BUSY

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
STEAL = "steal"  # the state of processors that other machines took


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """A disturbance of one window, with its amount."""

    cause: Cause
    amount: float  # a share of all cores' time; of swapping, pages; of sleep, seconds
    limit: float
    processes: tuple[tuple[str, int, float], ...] = ()  # who spent most: name, id and share

    @property
    def words(self) -> str:
        """Its amount: `41.0 % of all cores' time`."""
        if self.cause == "swap":
            return f"{self.amount:,.0f} pages"
        if self.cause == "slept":
            return f"for {self.amount:,.1f} s"
        return f"{PERCENT * self.amount:.1f} % of all cores' time"

    def within(self, where: str) -> str:
        """`41.0 % of all cores' time in point-query of pg18 (limit 5 %): cc1 (process 7) …`."""
        limit = (
            f" (limit {PERCENT * self.limit:g} %)" if self.cause in ("foreign", "stolen") else ""
        )
        spent = ", ".join(
            f"{name} (process {pid}) {PERCENT * share:.1f} %" for name, pid, share in self.processes
        )
        return f"{self.words} in {where}{limit}{f': {spent}' if spent else ''}"


def of_window(opened: HostReading, closed: HostReading, limits: Void) -> Iterator[Disturbance]:
    """The disturbances of the window between two readings of the host, beyond the limits."""
    grown = growth(opened, closed)
    spent_us = {state: us or 0.0 for state, us in grown.host.cpu_us.items()}
    all_us = max(1, sum(spent_us.values()))
    if opened.foreign is not None and grown.foreign is not None:
        # Who ends while others are read may be counted twice: by itself, and by its parent.
        foreign_us = min(grown.foreign.cpu_us, sum(spent_us[state] for state in BUSY))
        share = foreign_us / all_us
        if share > limits.foreign and foreign_us >= FOREIGN_US_MIN:
            processes = tuple(
                (process.name, process.pid, process.cpu_us / all_us)
                for process in grown.foreign.processes
            )
            yield Disturbance(
                cause="foreign", amount=share, limit=limits.foreign, processes=processes
            )
    stolen = spent_us.get(STEAL, 0.0) / all_us
    if limits.stolen is not None and stolen > limits.stolen:
        yield Disturbance(cause="stolen", amount=stolen, limit=limits.stolen)
    slept_ns = grown.host.slept_ns or 0.0
    if slept_ns > SLEPT_NS_MIN:
        yield Disturbance(cause="slept", amount=slept_ns / 1e9, limit=0)
    swapped = grown.host.swap_pages
    pages = (swapped.into or 0) + (swapped.out or 0)
    if limits.swap and pages > 0:
        yield Disturbance(cause="swap", amount=pages, limit=0)
