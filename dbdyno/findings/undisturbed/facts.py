"""The mode of service times in which a step's operations are compared, by operation and arm."""

from dataclasses import dataclass
from typing import Annotated

from dbdyno.model.facts import Facts, says


@dataclass(frozen=True, kw_only=True)
class ComparedMode:
    """Where the service times of an operation are compared, and how they lie around that."""

    workload: Annotated[str, says("the workload's name")]
    ordinal: Annotated[int, says("the step's place in it")]
    step: Annotated[str, says("the step's name")]
    arm: Annotated[str, says("the arm's name")]
    operation: Annotated[str, says("the operation's name")]
    from_us: Annotated[float, says("where the mode begins", "µs")]
    to_us: Annotated[float, says("where it ends", "µs")]
    times_us: tuple[float, ...]
    densities: tuple[float, ...]  # the share of operations in one percent of each of these times

    @property
    def place(self) -> tuple[str, int]:
        """Which step of which workload."""
        return self.workload, self.ordinal


@dataclass(frozen=True, kw_only=True)
class UndisturbedFacts(Facts):
    """All compared modes."""

    modes: Annotated[
        tuple[ComparedMode, ...],
        says("the mode of service times in which an arm's operations are compared"),
    ] = ()
