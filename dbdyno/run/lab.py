"""A lab: the parts that all runs of a plan share, and the sites that measure its arms."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from dbdyno.engine import Server
from dbdyno.model import Block, Plan, Step, WorkloadUse
from dbdyno.model.ceiling import Ceiling
from dbdyno.run.driver.interface import Generators
from dbdyno.run.measurement import Measurement
from dbdyno.run.progress import Watch
from dbdyno.run.ready_plan import ReadyPlan, in_order
from dbdyno.run.step import Load
from dbdyno.store import Results


@dataclass(kw_only=True)
class Servers:
    """The servers of a lab: how many are up, when the last one ended, what they have left.

    A context manager: nothing that they have left is there afterwards.
    """

    up: int = 0
    ended_s: float | None = None  # by the monotonic clock; None: none has been up yet
    # By arm the server that was shut down in order, whose data the arm's next run takes as they
    # are, and the key of the golden copy that they began as.
    left: dict[str, tuple[str, Server]] = field(default_factory=dict)

    @property
    def rest_due(self) -> bool:
        """Whether the next server is made after others, and none is up."""
        return self.up == 0 and self.ended_s is not None

    def began(self) -> None:
        """One more is up from now on."""
        self.up += 1

    def ended(self) -> None:
        """One of them is gone."""
        self.up -= 1
        self.ended_s = time.monotonic()

    def idle_s(self) -> float:
        """How long none has been up."""
        return 0.0 if self.ended_s is None else time.monotonic() - self.ended_s

    def take(self, arm: str, key: str | None) -> bool:
        """Whether an arm's data are there as they were left after this golden copy.

        Whatever comes, they are no longer.
        """
        left = self.left.pop(arm, None)
        return left is not None and left[0] == key

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Removes the data that they have left."""
        for _, server in self.left.values():
            if server.made is not None:
                server.made.remove()


@dataclass(frozen=True, kw_only=True)
class Lab:
    """Parts that all runs of a plan share."""

    plan: Plan
    prepared: ReadyPlan
    results: Results
    watch: Watch
    through: int | None = None  # the last block before the next look; None: the plan's last
    servers: Servers = field(default_factory=Servers)
    sites: Mapping[str, Site] = field(default_factory=dict)  # by the name of the plan's host
    generators: Generators | None = None  # on other hosts; None: load is made beside the server
    load: Callable[[Measurement], Load] | None = None  # what makes steps' load; None: as usual
    node: str | None = None  # this host's name where Slurm gave it; None: it has none
    part: str = ""  # beside the plan's blocks, in words: "trial", "count 1/2"; empty: these
    begun_s: float = field(default_factory=time.monotonic)  # by the monotonic clock
    complete_before: int = 0  # the blocks that were complete then

    def minutes(self) -> float:
        """The minutes that have passed: of earlier commands those of their blocks."""
        blocks = self.results.minutes()
        here = (time.monotonic() - self.begun_s) / 60
        return max(sum(blocks), sum(blocks[: self.complete_before]) + here)

    def steps(self, block: Block, use: WorkloadUse, arm: str) -> tuple[Step, ...]:
        """The steps that an arm does in a block, as if from an empty server, in their order."""
        return in_order(self.plan, self.prepared, block, use, arm)


class Site(Protocol):
    """A host that measures arms of a plan."""

    def measure(self, lab: Lab, block: Block, use: WorkloadUse, arms: Sequence[str]) -> SiteRuns:
        """Takes the arms through the workload: all at once where the plan says so.

        Their files are in the block's folder afterwards. Raises LabDied where the lab failed.
        """

    def ceiling(self, lab: Lab, connections: Mapping[str, int]) -> Ceiling:
        """What the load generator can do there, for so many connections by protocol.

        Raises GeneratorError where it cannot be measured.
        """


class SiteRuns(Protocol):
    """Arms that went through a workload."""

    @property
    def failed(self) -> int:
        """How many steps failed or were skipped."""

    def repeat(self) -> None:
        """Profiles what cannot go on, in extra runs. Raises LabDied as the judged runs do."""
