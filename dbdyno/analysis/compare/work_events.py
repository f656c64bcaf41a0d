"""Atomic instructions and system calls of an operation: what an arm has more, in which function.

Instructions do not show them: an operation of 40,000 instructions has some thirty atomic ones. They
repeat to hundredths, so that one more is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dbdyno.model.count import Count
from dbdyno.model.work import Event, EventChange, FunctionChange

LEAST = 0.75
"""One more an operation, give or take what repeats differ by."""

OF_COUNT: Mapping[Event, Callable[[Count], float]] = {
    "atomics": lambda count: count.atomics,
    "system calls": lambda count: count.system_calls,
}
OF_FUNCTION: Mapping[Event, Callable[[FunctionChange], float]] = {
    "atomics": lambda function: function.arm_atomics - function.base_atomics,
    "system calls": lambda function: function.arm_system_calls - function.base_system_calls,
}


def changes(
    base: Sequence[Count], arm: Sequence[Count], functions: Sequence[FunctionChange]
) -> Iterator[EventChange]:
    """What every repeat of the arm has more, or fewer, than every repeat of the base.

    At least LEAST, and the margin's share of an operation that has thousands.
    """
    for event, amount in OF_COUNT.items():
        before, after = [amount(count) for count in base], [amount(count) for count in arm]
        least = max(LEAST, base[0].margin * min(before))
        if max(min(after) - max(before), min(before) - max(after)) >= least:
            yield change(event, before, after, functions)


def change(
    event: Event,
    before: Sequence[float],
    after: Sequence[float],
    functions: Sequence[FunctionChange],
) -> EventChange:
    """The change of means, with the function whose own change comes nearest to the whole.

    The largest change of a function may be one of its name alone.
    """
    base, arm = sum(before) / len(before), sum(after) / len(after)
    own = OF_FUNCTION[event]
    nearest = min(functions, key=lambda function: abs(own(function) - (arm - base)), default=None)
    return EventChange(
        event=event,
        word="more" if arm > base else "fewer",
        base=base,
        arm=arm,
        function="" if nearest is None else nearest.function,
        binary="" if nearest is None else nearest.binary,
        function_change=0.0 if nearest is None else own(nearest),
    )
