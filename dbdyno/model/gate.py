"""gate.json: whether one build may follow another, by the work of its steps and by their time.

`docs/howto/ci.md` has every key. Changes are ratios of the head to the base; tolerances are shares.
"""

from msgspec import Struct

from dbdyno.model.tolerance import Answer
from dbdyno.model.work import Event

FILE = "dyno-gate.toml"
"""What a repository's gate asks, in the root of a checkout."""
RECORD = "gate.json"
"""In a gate's folder; a gate that has it is over."""
FORMAT = 1
"""Counts up when a key goes away or changes its meaning."""


UNRACED = "not raced, as work says no"


class GateRatio(Struct, frozen=True, kw_only=True):
    """A ratio of the head to the base, with its 95 % interval where there is one."""

    ratio: float
    low: float | None = None
    high: float | None = None


class ChangedWork(Struct, frozen=True, kw_only=True):
    """A function whose work in an operation changed."""

    function: str
    subsystem: str
    instructions: float  # that the head has more
    calls: float  # likewise


class ChangedEvents(Struct, frozen=True, kw_only=True):
    """Atomic instructions or system calls of which an operation has more, or fewer, or may have."""

    event: str  # "atomics" or "system calls"
    base: float  # of an operation
    head: float
    answer: Answer
    operations_needed: int | None = None  # for an answer that is not yet; None: repeats differ


class WorkCheck(Struct, frozen=True, kw_only=True):
    """What the counts of a step say."""

    answer: Answer  # the worst of instructions and events
    instructions: Answer  # of them alone
    reason: str = ""  # of their answer, where the change does not say it
    base: float | None = None  # instructions of an operation
    head: float | None = None
    change: GateRatio | None = None
    events: tuple[ChangedEvents, ...] = ()
    functions: tuple[ChangedWork, ...] = ()  # the largest change first


class TimeCheck(Struct, frozen=True, kw_only=True):
    """What the race of a step says, of the metric that decides or is nearest to the tolerance."""

    answer: Answer
    reason: str = ""  # why the answer is not yes; of a yes what speaks against it
    metric: str | None = None
    change: GateRatio | None = None
    relaid: GateRatio | None = None  # of both sides built again with another layout of their code
    blocks_needed: int | None = None  # further ones to exclude the loss where nothing differs
    minutes_needed: float | None = None


class GateStep(Struct, frozen=True, kw_only=True):
    """The answer of a step."""

    workload: str
    step: str
    answer: Answer  # the worse of the two
    work: WorkCheck | None = None  # None: it was not counted
    time: TimeCheck | None = None  # None: time is not asked for


class GateSide(Struct, frozen=True, kw_only=True):
    """One of the two that are compared."""

    written: str  # as it was asked for
    arm: str  # its name in plans and results
    commit: str | None = None
    changed: int = 0  # files of the checkout that differ from HEAD and are built with it


class Tolerances(Struct, frozen=True, kw_only=True):
    """What the head may lose; None: it is not asked for."""

    work: float  # a share of instructions
    time: float | None = None  # a share of throughput, or of CPU
    system_calls: int | None = 0  # so many more an operation
    atomics: int | None = 0  # likewise

    @property
    def events(self) -> dict[Event, int]:
        """How many more of each event are tolerated, of those that are asked for."""
        by_event: dict[Event, int | None] = {
            "system calls": self.system_calls,
            "atomics": self.atomics,
        }
        return {event: most for event, most in by_event.items() if most is not None}


class Gate(Struct, frozen=True, kw_only=True):
    """The answer, and all that it rests on."""

    format: int = FORMAT
    dyno: str
    command: str
    answer: Answer
    base: GateSide
    head: GateSide
    work: float  # the tolerances, as in Tolerances
    time: float | None
    system_calls: int | None
    atomics: int | None
    steps: tuple[GateStep, ...]
    seconds: float  # from the command's begin to the answer
    results: tuple[str, ...]  # folders of the counts and races
