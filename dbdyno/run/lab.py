"""A lab: the parts that all runs of a plan share, and the sites that measure its arms."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dbdyno.model import Block, Plan, Step, WorkloadUse
from dbdyno.model.ceiling import Ceiling
from dbdyno.run.driver.interface import Generators
from dbdyno.run.prepared import Prepared, in_order
from dbdyno.run.progress import Watch
from dbdyno.store import Results


@dataclass(kw_only=True)
class Servers:
    """How many servers of a lab are up, and when the last one ended: for the rest between them."""

    up: int = 0
    ended_s: float | None = None  # by the monotonic clock; None: none has been up yet

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


@dataclass(frozen=True, kw_only=True)
class Lab:
    """Parts that all runs of a plan share."""

    plan: Plan
    prepared: Prepared
    results: Results
    watch: Watch
    through: int | None = None  # the last block before the next look; None: the plan's last
    servers: Servers = field(default_factory=Servers)
    sites: Mapping[str, Site] = field(default_factory=dict)  # by the name of the plan's host
    generators: Generators | None = None  # on other hosts; None: load is made beside the server
    node: str | None = None  # this host's name where Slurm gave it; None: it has none

    def steps(self, block: Block, use: WorkloadUse, arm: str) -> tuple[Step, ...]:
        """The steps that an arm does in a block, as if from an empty server, in their order."""
        return in_order(self.plan, self.prepared, block, use, arm)


class Site(Protocol):
    """A host that measures arms of a plan."""

    def measure(self, lab: Lab, block: Block, use: WorkloadUse, arms: Sequence[str]) -> Went:
        """Takes the arms through the workload: all at once where the plan says so.

        Their files are in the block's folder afterwards. Raises LabDied where the lab failed.
        """

    def ceiling(self, lab: Lab, connections: Mapping[str, int]) -> Ceiling:
        """What the load generator can do there, for so many connections by protocol.

        Raises GeneratorError where it cannot be measured.
        """


class Went(Protocol):
    """Arms that went through a workload."""

    @property
    def failed(self) -> int:
        """How many steps failed or were skipped."""

    def repeat(self) -> None:
        """Profiles what cannot go on, in extra runs. Raises LabDied as the judged runs do."""
