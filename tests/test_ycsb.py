"""The shipped workload `ycsb`: mixes, keys and statements of YCSB's core workloads."""

import pytest

from dbdyno import workload
from dbdyno.model import Step
from dbdyno.model.error import WorkloadError
from dbdyno.workload.computed import evaluate

ENGINES = ("postgres", "mysql", "mariadb")
FIELDS = 10
FIRST_KEYS = ("user6284781860667377211", "user8517097267634966620")
"""The first two that YCSB's load of the table `usertable` inserts."""


def steps(engine: str = "postgres", **given: str) -> dict[str, Step]:
    made = workload.expand(workload.load("ycsb"), {"records": 1000, **given}, engine)
    return {step.name: step for step in made}


@pytest.mark.parametrize("engine", ENGINES)
def test_each_workload_has_its_mix(engine: str) -> None:
    """Of operations in a hundred: reads, updates, read-modify-writes, scans, inserts."""
    mixes = {
        name.removeprefix("workload-"): shares(step)
        for name, step in steps(engine).items()
        if name != "fill"
    }
    assert mixes == {
        "a": {"read": 50.0, "update": 50.0},
        "b": {"read": 95.0, "update": 5.0},
        "c": {"read": 100.0},
        "f": {"read": 50.0, "read-modify-write": 50.0},
        "d": {"read_newest": 95.0, "insert": 5.0},
        "e": {"scan": 95.0, "insert_in_e": 5.0},
    }


def shares(step: Step) -> dict[str, float]:
    """The percent of each operation, the ten fields of a write together."""
    (role,) = step.job.roles
    total = sum(choice.weight for choice in role.choose)
    found: dict[str, float] = {}
    for choice in role.choose:
        name = step.job.programs[choice.program].name.rstrip("0123456789")
        found[name] = found.get(name, 0) + 100 * choice.weight / total
    return found


def test_a_write_is_of_any_of_the_ten_fields_alike() -> None:
    (role,) = steps()["workload-a"].job.roles
    programs = steps()["workload-a"].job.programs
    weights = {programs[each.program].name: each.weight for each in role.choose}
    updates = {weight for name, weight in weights.items() if name.startswith("update")}
    assert len(weights) == 1 + FIELDS
    assert len(updates) == 1


def test_keys_are_those_of_ycsb() -> None:
    job = steps()["fill"].job
    (computed,) = (value.compute for value in job.values if value.compute is not None)
    for row, key in enumerate(FIRST_KEYS, start=1):
        assert f"user{evaluate(computed.expression, lambda _, row=row: row)}" == key  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"requests": "latest"}, "requests has to be zipfian or uniform"),
        ({"protocol": "text"}, "protocol has to be simple, extended or prepared"),
    ],
)
def test_a_wrong_parameter_gets_one_line(given: dict[str, str], line: str) -> None:
    with pytest.raises(WorkloadError, match=line):
        steps(**given)
