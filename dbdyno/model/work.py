"""What arms' servers do for an operation, counted, and how that differs from the base's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dbdyno.model.count_storage import NOT_TOLD, Storage
from dbdyno.model.host_facts import CountScatter
from dbdyno.model.ratio import Ratio
from dbdyno.model.step import StepName

WorkWord = Literal["more", "less", "same", "open", "failed"]
"""What is said of a count; never of speed, as work is not time."""
MARGIN = 0.001
"""Below it two counts are the same work: five times the largest range of ten repeats of a step
(docs/method.md, "Counts")."""
Event = Literal["atomics", "system calls"]
"""What an operation has by the dozen, each of which is a finding by itself: it costs little on few
processors, and much where many wait for a line of memory, or for the kernel."""
EventWord = Literal["more", "fewer", "same", "open"]


@dataclass(frozen=True, kw_only=True)
class FunctionChange:
    """A function whose instructions of an operation differ between an arm and the base."""

    function: str
    subsystem: str
    binary: str
    base: float  # instructions of an operation, by itself
    arm: float
    base_with_callees: float
    arm_with_callees: float
    base_calls: float
    arm_calls: float
    base_atomics: float
    arm_atomics: float
    base_system_calls: float = 0.0
    arm_system_calls: float = 0.0
    changed: bool  # whether it differs beyond what repeats differ by

    @property
    def change(self) -> float:
        """The instructions that the arm has more."""
        return self.arm - self.base


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """The work of an operation, a mean over repeats."""

    instructions: float
    atomics: float
    system_calls: float
    storage: Storage = NOT_TOLD
    background: Mapping[str, float] | None = None  # instructions by kind; None: not told


@dataclass(frozen=True, kw_only=True)
class EventInterval:
    """How many events an operation of an arm has more than the base's, whatever chance did."""

    low: float
    high: float
    chance: float  # what of it two windows of one build may differ by
    least: float  # the least change that matters


@dataclass(frozen=True, kw_only=True)
class EventChange:
    """Atomic instructions or system calls of an operation that are not the same as the base's."""

    event: Event
    word: EventWord  # never "same"
    base: float
    arm: float
    change: EventInterval
    operations_needed: int | None  # to tell the least change; None: there were as many
    function: str  # whose own change comes nearest to the whole
    binary: str
    function_change: float


@dataclass(frozen=True, kw_only=True)
class WorkChange:
    """The work of one arm in a step beside the base's."""

    step: StepName
    arm: str
    word: WorkWord
    reason: str = ""  # why it failed; why it is open, whatever the margin
    failed_arm: str | None = None  # which of both failed, the base or the arm
    base: Amounts | None = None
    work: Amounts | None = None
    ratio: Ratio | None = None  # of instructions
    standard_error: float = 0.0  # of the log ratio
    degrees: float = 1.0  # of freedom of the standard error
    margin: float = MARGIN
    functions: tuple[FunctionChange, ...] = ()  # the largest change first
    events: tuple[EventChange, ...] = ()
    operations: int = 0  # counted in each repeat
    # How many fills each of both arms had of its own; 0: both began from the same files; None: an
    # older result does not tell.
    fills: int | None = None

    @property
    def instructions_change(self) -> float:
        """By how much the instructions changed, a share; 0: it failed."""
        return 0.0 if self.ratio is None else self.ratio.value - 1

    @property
    def changed(self) -> tuple[FunctionChange, ...]:
        """The functions that differ beyond what repeats differ by, the largest change first."""
        return tuple(function for function in self.functions if function.changed)

    @property
    def changed_events(self) -> tuple[EventChange, ...]:
        """The events of which an operation has more or fewer, and not those that are open."""
        return tuple(event for event in self.events if event.word != "open")


@dataclass(frozen=True, kw_only=True)
class WorkComparison:
    """The counts of a result: each step of each arm beside the base."""

    base: str
    arms: tuple[str, ...]  # the base first
    repeats: int
    tool: str
    left_out: tuple[str, ...]
    scatter: float  # the standard deviation of a repeat's log ratio, of steps that read
    scatter_of_writes: float
    calibration: CountScatter | None = None  # that the scatter is of; None: these repeats'
    # Of the workloads while they were counted, where the plan names them for counts alone.
    parameters: Mapping[str, object] = field(default_factory=dict)
    changes: tuple[WorkChange, ...]
