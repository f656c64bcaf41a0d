"""Reads what `perf script` prints into folded call stacks. Pure: text in, counts out.

The format is that of perf-script(1) with `-F tid,period,event,ip,sym,dso`: a line for each sample,
below it a line for each frame, the leaf first, then an empty line.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from dbdyno.model.profile import NO_SYMBOL, Stack

SAMPLE = re.compile(r"^\s*(?P<tid>\d+)\s+(?P<period>\d+)\s+\S+:\s*$")
FRAME = re.compile(r"^\s+[0-9a-f]+ (?P<symbol>.*) \((?P<object>[^()]*)(?: \(deleted\))?\)$")
LOST = re.compile(r"PERF_RECORD_LOST lost (\d+)")
LOST_SAMPLES = re.compile(r"(?ms)^(?!Aggregated)\S[^\n]* stats:$.*?LOST_SAMPLES events:\s+(\d+)")
UNKNOWN = "[unknown]"
KERNEL = "[kernel]"
"""The binary of all functions of the kernel, its modules included."""
NOT_KERNEL = ("[unknown]", "[vdso]", "[vsyscall]", "[heap]", "[stack]", "[anon]")
"""What perf writes in brackets although it is no part of the kernel."""


@dataclass(kw_only=True)
class PerfSamples:
    """Samples as `perf script` printed them."""

    samples: int = 0
    lost: int = 0  # records that the kernel had no room for
    weights: Counter[Stack] = field(default_factory=Counter)  # summed periods by call stack
    leaves: Counter[str] = field(default_factory=Counter)  # samples by the leaf's object
    named: Counter[str] = field(default_factory=Counter)  # of them, those with a symbol

    def stacks(self) -> dict[Stack, int]:
        """Samples by call stack.

        Periods of one length, as of `cpu-clock`, count one each. perf varies the period of `cycles`
        to keep the rate: a stack then counts by the share of all periods that it has, as the
        cycles of a short period are fewer.
        """
        whole = sum(self.weights.values())
        if not whole:
            return {}
        counts = {
            stack: round(weight * self.samples / whole) for stack, weight in self.weights.items()
        }
        return {stack: count for stack, count in counts.items() if count}


def read(lines: Iterable[str], owner_of: Callable[[int], str]) -> PerfSamples:
    """The samples; `owner_of` names the owner of a thread's id.

    A thread's id is the process's in a server of processes.
    """
    found = PerfSamples()
    tid = period = 0
    frames: list[str] = []
    objects: list[str] = []
    for line in lines:
        if frame := FRAME.match(line):
            frames.append(_function(frame["symbol"], frame["object"]))
            objects.append(frame["object"])
        elif sample := SAMPLE.match(line):
            tid, period = int(sample["tid"]), int(sample["period"])
            frames, objects = [], []
        elif not line.strip() and period:
            _take(found, (owner_of(tid), *reversed(frames)), objects, period)
            period, frames, objects = 0, [], []
        elif lost := LOST.search(line):
            found.lost += int(lost[1])
    if period:
        _take(found, (owner_of(tid), *reversed(frames)), objects, period)
    return found


def lost_samples(text: str) -> int:
    """The samples lost, as `perf report --stats` sums them from perf 6.1 on; 0: it tells none."""
    found = LOST_SAMPLES.search(text)
    return int(found[1]) if found else 0


def binary_of(path: str) -> str:
    """The short name of what perf calls a `dso`: "postgres", "libc.so.6", "[kernel]"."""
    bracketed = path.startswith("[") and path not in NOT_KERNEL
    if bracketed or path.endswith((".ko", ".ko.xz", ".ko.gz", ".ko.zst")) or "vmlinux" in path:
        return KERNEL
    return PurePosixPath(path).name or path


def _take(found: PerfSamples, stack: Stack, objects: list[str], period: int) -> None:
    found.samples += 1
    if len(stack) == 1:  # a sample without any frame is time, too
        stack, objects = (*stack, f"{NO_SYMBOL}@{UNKNOWN}"), [UNKNOWN]
    found.weights[stack] += period
    found.leaves[objects[0]] += 1
    if not stack[-1].startswith(f"{NO_SYMBOL}@"):
        found.named[objects[0]] += 1


def _function(symbol: str, path: str) -> str:
    # Without the version of a library's symbol (`memcpy@@GLIBC_2.14`).
    name = "" if symbol == UNKNOWN else symbol.partition("@")[0].replace(";", ":")
    return f"{name or NO_SYMBOL}@{binary_of(path)}"
