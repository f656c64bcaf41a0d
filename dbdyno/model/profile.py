"""Profiles: the functions that a server's CPU time went to, as perf sampled them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from dbdyno.model.json import Natural

NO_SYMBOL = "?"
"""The name of a function whose binary has no symbol for it."""

CLONE = re.compile(r"(\.(isra|part|constprop|cold|lto_priv|llvm|localalias)(\.\d+)*|@@?\w[\w.]*)+$")
"""What compilers and linkers add to a function's name; it differs between two builds."""


def bare(name: str) -> str:
    """A function's name without what compilers and linkers add: heap_fetch of heap_fetch.isra.0."""
    return CLONE.sub("", name)


Stack = tuple[str, ...]
"""A call stack from its root: the owner of the process, then `function@binary` down to the leaf."""


class SampledBinary(Struct, kw_only=True, frozen=True):
    """A binary in which samples were taken."""

    path: str
    build_id: str | None = None  # hexadecimal; None: it has none, or is no file (the kernel)
    symbols: bool  # False: only what it exports has a name, all else is `?`
    samples: int  # with their leaf in it


class ProfileFile(Struct, kw_only=True, frozen=True):
    """profile.json of a step that was sampled (docs/results.md)."""

    event: str  # "cycles", or "cpu-clock" where the host has no hardware counters
    hertz: Natural  # samples a second of each busy core, as asked
    call_graph: str  # "fp", "dwarf" or "lbr"
    kernel: bool = False  # whether the kernel's functions are among the samples
    samples: Natural
    lost: Natural  # samples that perf could not keep
    perf: str | None = None  # its version
    perf_cpu_us: float = 0.0  # of perf itself, while it recorded
    seconds: float | None = None  # during which samples were taken; None: older results
    binaries: tuple[SampledBinary, ...]  # the most sampled first
    counters: Mapping[str, float] = {}  # by event, over the same seconds
    no_counters: str | None = None  # why hardware events are missing; None: none is
    failure: None = None


class NoProfile(Struct, frozen=True):
    """profile.json of a step that could not be sampled."""

    failure: str | None  # why; None: it was sampled


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Samples of a server's processes in the profiled window of one step of one run."""

    seconds: float  # of the profiled window
    event: str  # "cycles", or "cpu-clock" where the host has no hardware counters
    hertz: int  # samples a second of each busy core, as asked
    call_graph: str  # "fp", "dwarf" or "lbr"
    samples: int
    lost: int  # samples that perf could not keep
    stacks: Mapping[Stack, int]  # samples by call stack
    without_symbols: Mapping[str, int] = field(default_factory=dict)  # samples by binary's path
    operations: float | None = None  # in the profiled window, as the headline counts
    cpu_us: float | None = None  # of the whole server, as whole_server_cpu_per_op has it
    counters: Mapping[str, float] = field(default_factory=dict)  # by event, over that window
    no_counters: str | None = None  # why hardware events are missing; None: none is
