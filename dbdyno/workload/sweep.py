"""Lists that a plan gives for parameters of one value: what it sweeps.

Steps that are measured for some seconds are there once for each value. A parameter that changes how
the tables come to be cannot be swept by steps, which share their tables: each of its values needs a
load of its own.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.model.engine import Traits
from dbdyno.model.error import WorkloadError
from dbdyno.workload import parameter
from dbdyno.workload.expression import Value
from dbdyno.workload.file import Workload

NAMED = re.compile(r"[A-Za-z0-9._+-]+")
"""The form of a value that names a step, and so a folder."""
Lists = Mapping[str, Sequence[Value]]
"""By parameter the values that a plan wants of it."""


def lists(workload: Workload, given: Mapping[str, Value], engine: Traits) -> dict[str, list[Value]]:
    """The plan's lists for parameters that have one value, computed. Raises WorkloadError."""
    defaults = workload.file.parameters
    written = {
        key: value
        for key, value in given.items()
        if isinstance(value, list) and key in defaults and not isinstance(defaults[key], list)
    }
    for key, items in written.items():
        if not items:
            raise _error(workload, key, "an empty list; write the values that are swept")
    first = {**given, **{key: items[0] for key, items in written.items()}}
    lists: dict[str, list[Value]] = {}
    for key, items in written.items():
        lists[key] = [parameter.of(workload, {**first, key: item}, engine)[key] for item in items]
        for value in lists[key]:
            if lists[key].count(value) > 1:
                raise _error(workload, key, f"{value} is listed twice; a sweep has each value once")
            if not NAMED.fullmatch(str(value)):
                sentence = "cannot stand in a step's name, which has letters, digits and . _ + -"
                raise _error(workload, key, f"{value!r} {sentence}")
    return lists


def beside(given: Mapping[str, Value], swept: Lists) -> dict[str, Value]:
    """A plan's parameters for the steps that are not swept.

    Of numbers they have the largest, so that a load has room for every value; else the first.
    """
    return {**given, **{key: _largest(values) for key, values in swept.items()}}


def _largest(values: Sequence[Value]) -> Value:
    numbers = [value for value in values if isinstance(value, (int, float))]
    return max(numbers) if len(numbers) == len(values) else values[0]


def refuse_idle(
    workload: Workload, swept: Lists, steps: Iterable[tuple[str, Mapping[str, Value], object]]
) -> None:
    """Raises WorkloadError for a list that changes no step, as a sweep of it measures nothing.

    `steps`: of each that is taken its name without the sweep, its values, and what it does.
    """
    taken = [step for step in steps if step[1]]
    for key, values in swept.items():
        if len(values) == 1 and taken:
            continue
        done: dict[tuple[object, ...], list[object]] = {}
        for base, own, what in taken:
            others = tuple((other, value) for other, value in own.items() if other != key)
            done.setdefault((base, *others), []).append(what)
        if all(done_by_step == alike[0] for alike in done.values() for done_by_step in alike):
            raise _error(
                workload,
                key,
                "a list, but no selected step with `seconds` depends on it; write one value",
            )


def _error(workload: Workload, key: str, sentence: str) -> WorkloadError:
    return WorkloadError(f"{workload.source}: key `parameters.{key}`: {sentence}")
