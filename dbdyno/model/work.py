"""What arms' servers do for an operation, counted, and how that differs from the base's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from dbdyno.model.facts import Facts, says
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

    function: Annotated[str, says("its name; ? for all that has no symbol in a binary")]
    binary: Annotated[str, says("the function's binary")]
    subsystem: Annotated[str, says("the function's subsystem")]
    changed: Annotated[bool, says("whether it differs beyond what repeats differ by")]
    base_instructions: Annotated[float, says("by itself, in an operation, the base's")]
    arm_instructions: Annotated[float, says("the same of the arm")]
    base_whole_instructions: Annotated[float, says("with what it calls, the base's")]
    arm_whole_instructions: Annotated[float, says("the same of the arm")]
    base_calls: Annotated[float, says("calls in an operation, the base's")]
    arm_calls: Annotated[float, says("the same of the arm")]
    base_atomics: Annotated[float, says("atomic instructions by itself, the base's")]
    arm_atomics: Annotated[float, says("the same of the arm")]
    base_system_calls: Annotated[float, says("system calls by itself, the base's")] = 0.0
    arm_system_calls: Annotated[float, says("the same of the arm")] = 0.0

    @property
    def change(self) -> float:
        """The instructions that the arm has more."""
        return self.arm_instructions - self.base_instructions


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """The work of an operation, a mean over repeats; None: not told."""

    instructions: Annotated[float, says("instructions of an operation")]
    atomics: Annotated[float, says("atomic instructions of an operation")]
    system_calls: Annotated[float, says("system calls of an operation")]
    log_bytes: Annotated[float | None, says("log of an operation; null: not told", "bytes")] = None
    pages_hit: Annotated[float | None, says("pages found in the server's cache")] = None
    pages_read: Annotated[float | None, says("pages that were not in it")] = None
    pages_dirtied: Annotated[float | None, says("how often a page was marked as changed")] = None
    background: Annotated[
        float | None, says("instructions of background processes, apart; null: not told")
    ] = None
    background_by_kind: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EventInterval:
    """How many events an operation of an arm has more than the base's, whatever chance did."""

    low: Annotated[float, says("the fewest more of an operation, whatever chance did")]
    high: Annotated[float, says("the most more of it")]
    chance: Annotated[float, says("of that, what two windows of one build may differ by")]
    least: Annotated[float, says("the least change that matters")]


@dataclass(frozen=True, kw_only=True)
class EventChange:
    """Atomic instructions or system calls of an operation that are not the same as the base's."""

    event: Annotated[Event, says("atomics or system calls")]
    word: Annotated[EventWord, says("more, fewer or open")]
    base_events: Annotated[float, says("of an operation, the base's")]
    arm_events: Annotated[float, says("the same of the arm")]
    change: EventInterval
    operations_needed: Annotated[
        int | None, says("to tell the least change; null: there were as many")
    ]
    function: Annotated[str, says("whose own change comes nearest to the whole")]
    binary: Annotated[str, says("the function's binary")]
    function_change: Annotated[float, says("how many more the function has")]


@dataclass(frozen=True, kw_only=True)
class WorkChange:
    """The work of one arm in a step beside the base's."""

    workload: Annotated[str, says("the workload's name")]
    step: Annotated[str, says("the step's name")]
    base: Annotated[str, says("the arm to compare with")] = ""
    arm: Annotated[str, says("the arm's name")]
    word: Annotated[WorkWord, says("more, less, same, open or failed")]
    reason: Annotated[str, says("why it failed, or is open whatever the margin; else empty")] = ""
    failed_arm: Annotated[str | None, says("which of both failed; null: none")] = None
    repeats: Annotated[int, says("counts of each arm, each by a fresh server")] = 0
    operations: Annotated[int, says("operations counted in each repeat")] = 0
    fills: Annotated[
        int | None,
        says(
            "fills that each arm had of its own; 0: both began from the same; null: an older "
            "result does not tell"
        ),
    ] = None
    ratio: Annotated[Ratio | None, says("of instructions, arm by base; null: it failed")] = None
    margin: Annotated[float, says("the share below which work is the same")] = MARGIN
    of_base: Annotated[Amounts | None, says("the base's")] = None
    of_arm: Annotated[Amounts | None, says("the arm's")] = None
    functions: Annotated[
        tuple[FunctionChange, ...],  # the largest change first
        says(
            "a function in an operation of a counted step, a mean over repeats, beside the base; "
            "functions by themselves add up to the session's instructions"
        ),
    ] = ()
    events: Annotated[
        tuple[EventChange, ...],
        says(
            "atomic instructions or system calls in an operation of a counted step that are not "
            "the same as the base's, or open (docs/counts.md)"
        ),
    ] = ()

    @property
    def name(self) -> StepName:
        """Its workload and step."""
        return self.workload, self.step

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
class WorkComparison(Facts):
    """The counts of a result: each step of each arm beside the base; no repeats: none counted."""

    base: str = ""
    arms: tuple[str, ...] = ()  # the base first
    repeats: int = 0
    tool: str = ""
    left_out: tuple[str, ...] = ()
    scatter: float = 0.0  # the standard deviation of a repeat's log ratio, of steps that read
    scatter_of_writes: float = 0.0
    calibration: CountScatter | None = None  # that the scatter is of; None: these repeats'
    # Of the workloads while they were counted, where the plan names them for counts alone.
    parameters: Mapping[str, object] = field(default_factory=dict)
    changes: Annotated[
        tuple[WorkChange, ...],
        says(
            "the work of an operation of a counted step: what an arm's server executes for it in "
            "user space, a mean over repeats, beside the base (docs/counts.md)",
            table="work",
        ),
    ] = ()
