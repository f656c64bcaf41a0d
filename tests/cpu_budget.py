"""The budget of a test without servers: one CPU second; a slower test is marked `long`.

`make test` runs some eight thousand of them on two processors. What counts is the CPU time of the
test's own part, its children included and its fixtures not: what others do on the machine does not
move it much, and what that moves is taken out by the machine's own speed.
"""

from __future__ import annotations

import mmap
import resource
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from functools import reduce

import pytest

CPU_S_MAX = 1.0
"""What a test may take, on a machine that does `work` in `WORK_S`."""
EXCESS_MAX = 10
"""So many times its budget a test may take: beside others each CPU second does less."""
WORK_S = 0.014
"""CPU seconds of `work` on the machine on which the marks were set, with nothing beside it."""
SAMPLES = 7
FRESH_BYTES = 8 << 20
"""New memory that `work` writes to."""
MODULES_MAX = 20
"""A test that imports more modules than these pays for all that come after it: it is not judged."""
EXEMPT = ("long", "soak", "live")


@dataclass(frozen=True)
class Usage:
    """What a process and its ended children have used so far."""

    cpu_s: float
    modules: int

    @classmethod
    def now(cls) -> Usage:
        """That of this process."""
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(sum(usage.ru_utime + usage.ru_stime for usage in used), len(sys.modules))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fails a test that passes, but is slower than its marks allow (for conftest.py)."""
    begin = Usage.now()
    done = yield
    if not any(item.get_closest_marker(mark) for mark in EXEMPT):
        over_s = excess_s(begin, Usage.now())
        if over_s is not None:
            pytest.fail(
                f"took {over_s:.1f} CPU s: mark it `long`, or let it do less", pytrace=False
            )
    return done


def excess_s(begin: Usage, end: Usage) -> float | None:
    """CPU seconds of what ran between, at the speed of reference, if above the budget."""
    used_s = end.cpu_s - begin.cpu_s
    limit_s = EXCESS_MAX * CPU_S_MAX
    if used_s <= limit_s or end.modules - begin.modules > MODULES_MAX:
        return None
    scaled_s = used_s * min(1.0, WORK_S / work_s())
    return scaled_s if scaled_s > limit_s else None


def work_s() -> float:
    """The median of CPU seconds that a fixed piece of work takes here and now."""
    taken = []
    for _ in range(SAMPLES):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return sorted(taken)[SAMPLES // 2]


def work() -> int:
    """The work: integers and calls, and memory that is new, which some hosts are slow to give."""
    with mmap.mmap(-1, FRESH_BYTES) as fresh:
        for place in range(0, FRESH_BYTES, mmap.PAGESIZE):
            fresh[place] = 1
    return reduce(lambda total, number: (total * 31 + number) % 1_000_003, range(150_000), 0)
