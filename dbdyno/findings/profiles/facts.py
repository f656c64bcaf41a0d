"""What functions and subsystems of a server cost for an operation, in an arm and in the base."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from dbdyno.model import StepComparison
from dbdyno.model.facts import Facts, says
from dbdyno.model.profile import Stack


@dataclass(frozen=True, kw_only=True)
class FunctionCost:
    """The CPU time of one function, or of one subsystem, in an arm and in the base."""

    kind: Annotated[Literal["function", "subsystem"], says("function or subsystem")] = "function"
    name: Annotated[str, says("its name; ? for all that has no symbol in a binary")]
    binary: Annotated[str | None, says("the function's binary; null for a subsystem")]
    subsystem: Annotated[str | None, says("the function's subsystem; null: no table knows it")]
    base_us: Annotated[float, says("CPU per operation by itself, the base's mean of blocks", "µs")]
    arm_us: Annotated[float, says("the same of the arm", "µs")]
    more_us: Annotated[float, says("mean difference within blocks, arm less base", "µs")]
    low_us: Annotated[
        float | None, says("lower end of its 95 % interval; null with one block", "µs")
    ]
    high_us: Annotated[float | None, says("upper end of its 95 % interval", "µs")]
    q: Annotated[
        float | None, says("p of no change, adjusted within step and arm; null: not tested")
    ] = None
    changed: Annotated[bool, says("whether that is at most 0.05: told from chance")] = False
    base_whole_us: Annotated[
        float, says("CPU per operation with what it calls, the base's mean", "µs")
    ]
    arm_whole_us: Annotated[float, says("the same of the arm", "µs")]
    more_whole_us: Annotated[float, says("mean difference within blocks, arm less base", "µs")]
    low_whole_us: Annotated[float | None, says("lower end of its 95 % interval", "µs")]
    high_whole_us: Annotated[float | None, says("upper end of its 95 % interval", "µs")]


@dataclass(frozen=True, kw_only=True)
class ProfileComparison:
    """The profiles of a step: one arm beside the base, over all blocks that have both."""

    workload: Annotated[str, says("the workload's name")]
    ordinal: Annotated[int, says("the step's place in its workload, from 1")]
    step: Annotated[str, says("the step's name")]
    base: Annotated[str, says("the arm to compare with; the arm itself if it is the only one")]
    arm: Annotated[str, says("the arm's name")]
    blocks: Annotated[int, says("blocks in which both arms have a profile")]
    samples: Annotated[int, says("samples of both arms in these blocks")]
    base_window_us: Annotated[
        float | None,
        says("the server's CPU per operation in the base's profiled windows; null: not told", "µs"),
    ]
    arm_window_us: Annotated[float | None, says("the same of the arm", "µs")]
    costs: tuple[FunctionCost, ...]  # subsystems, then functions, the surest change first
    unit: str  # what the costs are for: "query"
    base_us: float  # CPU of the server for each operation in the judged windows: the sum of the
    arm_us: float  # functions' exclusive costs
    # Mean microseconds for each operation by call stack.
    base_stacks: Mapping[Stack, float] = field(default_factory=dict)
    arm_stacks: Mapping[Stack, float] = field(default_factory=dict)

    @property
    def functions(self) -> tuple[FunctionCost, ...]:
        """The surest change first."""
        return tuple(cost for cost in self.costs if cost.kind == "function")

    @property
    def subsystems(self) -> tuple[FunctionCost, ...]:
        """In the order of the engine's table."""
        return tuple(cost for cost in self.costs if cost.kind == "subsystem")

    def is_of(self, step: StepComparison) -> bool:
        """Whether that is the step of the profiles."""
        place = (self.workload, self.ordinal, self.step)
        return place == (step.workload, step.ordinal, step.step)

    @property
    def alone(self) -> bool:
        """Whether there is one arm, which stands beside itself."""
        return self.arm == self.base

    @property
    def title(self) -> str:
        """`pg18 beside pg17`, or `pg18`."""
        return self.arm if self.alone else f"{self.arm} beside {self.base}"


@dataclass(frozen=True, kw_only=True)
class ProfileFacts(Facts):
    """The profiles of a result's steps."""

    functions: Annotated[
        tuple[ProfileComparison, ...],
        says(
            "a function, or a subsystem, of an arm's server in a profiled step, over all judged "
            "blocks with profiles, beside the base; the functions of a step add up to the CPU of "
            "the whole server, and so do its subsystems (docs/profiles.md)"
        ),
    ] = ()

    def of(self, step: StepComparison) -> tuple[ProfileComparison, ...]:
        """Each arm of a step beside the base, where both have a profile."""
        return tuple(profile for profile in self.functions if profile.is_of(step))
