"""Atomic instructions and system calls of an operation: what an arm has more, in which function.

Instructions do not show them: an operation of 40,000 instructions has some thirty atomic ones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from dbdyno.model.count import Count
from dbdyno.model.work import Event, EventChange, FunctionChange
from dbdyno.stats import events

OF_COUNT: Mapping[Event, Callable[[Count], float]] = {
    "atomics": lambda count: count.atomics,
    "system calls": lambda count: count.system_calls,
}
OF_FUNCTION: Mapping[Event, Callable[[FunctionChange], float]] = {
    "atomics": lambda function: function.arm_atomics - function.base_atomics,
    "system calls": lambda function: function.arm_system_calls - function.base_system_calls,
}


def changes(
    base: Sequence[Count],
    arm: Sequence[Count],
    functions: Sequence[FunctionChange],
    *,
    threads: bool = False,
) -> Iterator[EventChange]:
    """What the arm has more, or fewer, and what is open; nothing of what is the same.

    `threads`: whether the servers' sessions are threads of one process.
    """
    windows = events.Windows(
        operations=min(count.operations for count in (*base, *arm)),
        writes=base[0].writes,
        threads=threads,
        margin=base[0].margin,
    )
    changed = (change(event, base, arm, functions, windows) for event in OF_COUNT)
    yield from (event for event in changed if event.word != "same")


def change(
    event: Event,
    base: Sequence[Count],
    arm: Sequence[Count],
    functions: Sequence[FunctionChange],
    windows: events.Windows,
) -> EventChange:
    """The change of means, with the function whose own change comes nearest to the whole.

    The largest change of a function may be one of its name alone.
    """
    before, after = ([OF_COUNT[event](count) for count in of] for of in (base, arm))
    interval = windows.interval(event, before, after)
    mean, own_mean = sum(before) / len(before), sum(after) / len(after)
    own = OF_FUNCTION[event]
    nearest = min(
        functions, key=lambda function: abs(own(function) - (own_mean - mean)), default=None
    )
    return EventChange(
        event=event,
        word=events.word(interval),
        base_events=mean,
        arm_events=own_mean,
        change=interval,
        operations_needed=windows.operations_needed(event, min(before)),
        function="" if nearest is None else nearest.function,
        binary="" if nearest is None else nearest.binary,
        function_change=0.0 if nearest is None else own(nearest),
    )
