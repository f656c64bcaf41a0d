"""Work for all cores: a function over many things, with the answers in their order.

By processes that are forked for it and end with it: the work is Python's, which threads would do
one at a time. A process that is started afresh would run the caller's script once more, which is
written as docs/export.md has it and asks for results on its first line.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from dbdyno.model.error import HostError

PROCESSES_MAX = 8
"""Each takes memory of its own; what they bring has to be taken in by one."""

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")


def spread(
    function: Callable[[Thing], Answer], things: Sequence[Thing], processes: int | None = None
) -> list[Answer]:
    """`function` of each thing, computed by `processes` (the cores' number where it is None).

    The answer is the same whatever the number. Where another thread runs (the display of progress)
    everything is computed here: what that has locked in the moment of a fork stays locked in the
    child. Raises what the function raised, and HostError where a process was ended.
    """
    count = min(processes or multiprocessing.cpu_count(), PROCESSES_MAX, len(things))
    if count < 2 or threading.active_count() > 1:
        return [function(thing) for thing in things]
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(count, mp_context=context, initializer=_begin) as pool:
        try:
            return list(pool.map(function, things))
        except BrokenProcessPool as error:
            raise HostError(
                "a process that reads results was ended from outside, as a system does that is"
                " short of memory: free some, and ask again"
            ) from error


def _begin() -> None:
    """The beginning of a process: it leaves interrupts to the one that asked, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
