"""Finds the plan's lists that change how tables come to be, and the loads that they need.

Steps of a sweep share their tables. So where the load itself differs, as by a scale, a workload is
used once for each value.
"""

import itertools
from collections.abc import Mapping, Sequence

from dbdyno.model import engine as engines
from dbdyno.model.error import WorkloadError
from dbdyno.workload import sweep
from dbdyno.workload.expand import load_of
from dbdyno.workload.expression import Value
from dbdyno.workload.file import Workload


def of_loads(
    workload: Workload,
    given: Mapping[str, Value],
    engine: str,
    steps: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
) -> tuple[dict[str, Value], ...]:
    """The values of each load that a plan's lists ask for; of a single one none.

    The first list is slowest. Raises WorkloadError, also where a value is not a plain one: it names
    the load, and must be the same on every host.
    """
    lists = sweep.lists(workload, given, engines.of(engine))

    def load(key: str, value: Value) -> object:
        values = {**sweep.beside(given, lists), key: value}
        return load_of(workload, values, engine, steps=steps, groups=groups)

    loads = {key: [load(key, value) for value in values] for key, values in lists.items()}
    names = [
        key for key, steps_of in loads.items() if any(each != steps_of[0] for each in steps_of)
    ]
    for key in names:
        written = given[key]
        assert isinstance(written, list), "it is swept"
        if any(isinstance(value, str) and "{" in value for value in written):
            raise WorkloadError(
                f"{workload.source}: key `parameters.{key}`: is computed, but each of its values "
                "names a load of its own; write the values"
            )
    if not names:
        return ({},)
    values = itertools.product(*(lists[key] for key in names))
    return tuple(dict(zip(names, combination, strict=True)) for combination in values)
