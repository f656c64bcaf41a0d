"""Reads a file that callgrind has written: what each function executed, and what it called.

The format is callgrind's own ("Callgrind Format Specification" in Valgrind's manual).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from dbdyno.model.error import HostError
from dbdyno.model.profile import NO_SYMBOL, bare

EVENTS = ("Ir", "Ge", "sysCount")
"""Instructions, atomic (bus-locked) instructions, system calls."""
NO_SYSTEM_CALLS = ("gettimeofday", "clock_gettime", "time", "getcpu")
"""What the kernel answers in user space (vDSO), but not under Valgrind, which has none."""
RECURSION = re.compile(r"'\d+$")
ADDRESS = re.compile(r"^0x[0-9a-f]{8,}$")

Function = tuple[str, str]
"""The file of a program or library, by its last name, and the function in it."""


@dataclass
class CallgrindWork:
    """What functions did: counts, not yet by operation."""

    instructions: float = 0.0
    atomics: float = 0.0
    system_calls: float = 0.0

    def add(self, costs: Iterable[float]) -> None:
        """Adds a line's costs, in the order of EVENTS."""
        instructions, atomics, system_calls = costs
        self.instructions += instructions
        self.atomics += atomics
        self.system_calls += system_calls

    def less(self, other: CallgrindWork, per: float) -> CallgrindWork:
        """What it has more than another, divided by `per`."""
        return CallgrindWork(
            (self.instructions - other.instructions) / per,
            (self.atomics - other.atomics) / per,
            (self.system_calls - other.system_calls) / per,
        )


@dataclass
class CallgrindCounts:
    """One file: by function what it did by itself, with what it calls, and how often it ran."""

    tool: str = ""  # "callgrind-3.19.0"
    by_itself: dict[Function, CallgrindWork] = field(
        default_factory=lambda: defaultdict(CallgrindWork)
    )
    with_callees: dict[Function, float] = field(default_factory=lambda: defaultdict(float))
    calls: dict[Function, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def total(self) -> CallgrindWork:
        """All functions together."""
        total = CallgrindWork()
        for work in self.by_itself.values():
            total.add((work.instructions, work.atomics, work.system_calls))
        return total


def read(text: str, source: str) -> CallgrindCounts:
    """The counts of a file. Raises HostError where it is torn or no file of callgrind's."""
    return CallgrindReader(source).read(text)


class CallgrindReader:
    """Reads a file line by line; keeps where it is."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.counts = CallgrindCounts()
        self.columns: tuple[int | None, ...] = ()
        self.binary = self.callee_binary = ""
        self.function: Function = ("", "")
        self.callee: Function = ("", "")
        self.calls = 0
        self.called = False  # whether the next line is the cost of a call
        self.whole = False

    def read(self, text: str) -> CallgrindCounts:
        """The counts of the whole text."""
        for line in text.splitlines():
            if not line or line[0] == "#":
                continue
            if line[0].isdigit() or line[0] in "+-*":
                self.costs(line)
            elif "=" in line.split(" ", 1)[0]:
                self.place(*line.split("=", 1))
            else:
                self.header(line)
        if not self.whole:
            raise HostError(f"{self.source}: the file has no end: its process was killed")
        return self.counts

    def header(self, line: str) -> None:
        """Takes a line such as `events: Ir Ge sysCount sysTime`."""
        key, _, value = line.partition(":")
        if key == "events":
            names = value.split()
            if EVENTS[0] not in names:
                raise HostError(f"{self.source}: counts no instructions: `{value.strip()}`")
            self.columns = tuple(names.index(name) if name in names else None for name in EVENTS)
        elif key == "creator":
            self.counts.tool = value.strip()
        elif key == "totals":
            self.whole = True

    def place(self, key: str, value: str) -> None:
        """Takes a line such as `fn=ExecScan`, which says where what follows belongs."""
        match key:
            case "ob":
                self.binary = value.rpartition("/")[2]
            case "fn":
                self.function = (self.binary, name_of(value))
                self.callee_binary = self.binary
            case "cob":
                self.callee_binary = value.rpartition("/")[2]
            case "cfn":
                self.callee = (self.callee_binary, name_of(value))
                self.callee_binary = self.binary  # a callee without `cob` is of the same file
            case "calls":
                self.calls, self.called = int(value.split()[0]), True

    def costs(self, line: str) -> None:
        """Takes a line of costs: of the function itself, or of a call."""
        fields = [float(field) for field in line.split()[1:]]
        costs = [
            fields[column] if column is not None and column < len(fields) else 0.0
            for column in self.columns
        ]
        if not self.called:
            if is_free(self.function[1]):
                costs[2] = 0.0
            self.counts.by_itself[self.function].add(costs)
            return
        self.called = False
        if self.callee != self.function:  # not a call of itself
            self.counts.with_callees[self.callee] += costs[0]
        self.counts.calls[self.callee] += self.calls


def is_free(function: str) -> bool:
    """Whether a function's system call is none outside Valgrind."""
    return function.strip("_").removesuffix("_syscall") in NO_SYSTEM_CALLS


def name_of(written: str) -> str:
    """A function's name without what compilers and callgrind add; NO_SYMBOL for an address."""
    name = bare(RECURSION.sub("", written))
    return NO_SYMBOL if ADDRESS.match(name) else name


def between(window: CallgrindCounts, empty: CallgrindCounts, operations: int) -> CallgrindCounts:
    """The work of one operation: a window less what its marks cost, over its operations."""
    functions = set(window.by_itself) | set(empty.by_itself) | set(window.calls)
    nothing = CallgrindWork()
    counts = CallgrindCounts()
    for function in functions:
        work = window.by_itself.get(function, nothing)
        less = work.less(empty.by_itself.get(function, nothing), operations)
        counts.by_itself[function] = less
        inclusive = window.with_callees.get(function, 0.0)
        inclusive -= empty.with_callees.get(function, 0.0)
        counts.with_callees[function] = max(inclusive / operations, less.instructions)
        calls = window.calls.get(function, 0) - empty.calls.get(function, 0)
        counts.calls[function] = calls / operations
    return counts


def inclusive(counts: CallgrindCounts, function: str) -> float:
    """The instructions of a function with all that it calls, in any binary; 0: it never ran."""
    return sum(value for (_, name), value in counts.with_callees.items() if name == function)
