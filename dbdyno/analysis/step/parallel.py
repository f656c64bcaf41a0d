"""Work for all cores: a function over many things, with the answers in their order.

By processes that are forked for it and end with it: the work is Python's, which threads would do
one at a time.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

PROCESSES_MAX = 8
"""Each takes memory of its own; what they bring has to be taken in by one."""

Thing = TypeVar("Thing")
Answer = TypeVar("Answer")


def spread(
    function: Callable[[Thing], Answer], things: Sequence[Thing], processes: int | None = None
) -> list[Answer]:
    """`function` of each thing, computed by `processes` (the cores' number where it is None).

    The answer is the same whatever the number. What a process did not bring, as it was ended or the
    function raised, is computed here, and raises here. So is everything where another thread runs
    (the display of progress): what it has locked in the moment of a fork stays locked in the child.
    """
    count = min(processes or multiprocessing.cpu_count(), PROCESSES_MAX, len(things))
    if threading.active_count() > 1:
        count = 1
    answers: dict[int, Answer] = {}
    if count > 1:
        answers = dict(_brought(function, things, count))
    return [
        answers[place] if place in answers else function(thing)
        for place, thing in enumerate(things)
    ]


def _brought(
    function: Callable[[Thing], Answer], things: Sequence[Thing], count: int
) -> Iterator[tuple[int, Answer]]:
    """What the processes send, in the order in which it comes."""
    context = multiprocessing.get_context("fork")
    workers: list[BaseProcess] = []
    open_ends: list[Connection] = []
    try:
        for first in range(count):
            ours, theirs = context.Pipe(duplex=False)
            places = range(first, len(things), count)
            worker = context.Process(
                target=_work, args=(function, things, places, theirs, [*open_ends, ours])
            )
            worker.start()
            theirs.close()
            workers.append(worker)
            open_ends.append(ours)
        waiting = list(open_ends)
        while waiting:
            for end in wait(waiting):
                assert isinstance(end, Connection)
                try:
                    yield end.recv()
                except EOFError:
                    waiting.remove(end)
    finally:
        for end in open_ends:
            end.close()
        for one in workers:
            one.terminate()
            one.join()


def _work(
    function: Callable[[Any], Any],
    things: Sequence[Any],
    places: range,
    answers: Connection,
    foreign: Sequence[Connection],
) -> None:
    """The life of one process. It keeps no reading end, so that it ends where the reader has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that asked decides, and ends this one
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for end in foreign:
        end.close()
    try:
        for place in places:
            answers.send((place, function(things[place])))
    except BrokenPipeError:
        return
    except Exception:  # it is raised again where the answer is missed
        return
    finally:
        answers.close()
