"""Lists among a plan's parameters: steps for each value, loads for each, and in which order."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dbdyno import plan, workload
from dbdyno.analysis import compare
from dbdyno.host import program
from dbdyno.model import Plan, Step
from dbdyno.model.error import PlanError, WorkloadError
from dbdyno.plan import schedule
from dbdyno.run import blocks
from dbdyno.store import Results
from workload_reader import job_of

PLAN = """
seed = 7
[arms.a]
engine = "fake"
fake = { default_us = 100 }
[arms.b]
engine = "fake"
fake = { default_us = 100 }
[[workloads]]
name = "pgbench"
steps = ["select-only"]
parameters = { PARAMETERS, check_balance = 0, seconds = 1 }
[schedule]
blocks = 2
"""
COUNTS = (1, 2, 4, 8)


def steps(name: str, parameters: dict[str, Any], *wanted: str, **how: Any) -> tuple[Step, ...]:
    loaded = workload.load(name, **how)
    return workload.expand(loaded, parameters, "postgres", steps=wanted or None)


def complaint(parameters: dict[str, Any], *wanted: str, name: str = "pgbench") -> str:
    with pytest.raises(WorkloadError) as raised:
        steps(name, parameters, *wanted)
    return str(raised.value).removeprefix(f"{name}.toml: key `").removeprefix("parameters.")


def made(parameters: str, folder: Path) -> Plan:
    return plan.parse(PLAN.replace("PARAMETERS", parameters), folder / "swept.toml")


def expanded(parameters: str, folder: Path) -> tuple[Plan, tuple[Step, ...]]:
    of = made(parameters, folder)
    (use,) = of.workloads
    return of, steps("pgbench", dict(use.parameters), "select-only")


# --- Steps -------------------------------------------------------------------------------------


def test_steps_of_other_sets_that_a_plan_names_are_swept_too() -> None:
    named = ("setup", "run", "call-setup", "call-run")
    found = steps("ybio", {"batch_size": [100, 1000]}, *named)
    assert [step.name for step in found] == [
        *("setup", "run@batch_size=100", "run@batch_size=1000"),
        *("call-setup", "call-run@batch_size=100", "call-run@batch_size=1000"),
    ]
    pieces = [str(job_of(step)["statements"]) for step in found if step.name.startswith("call-run")]
    assert ["batch_size => 100," in one for one in pieces] == [True, False]
    *_, one = steps("ybio", {"batch_size": [100, 1000]}, "setup", "run", "call-run@batch_size=100")
    assert one.name == "call-run@batch_size=100"


def test_a_list_has_each_timed_step_once_for_each_value() -> None:
    found = steps("pgbench", {"clients": [4, 1, 2]}, "select-only", "simple-update")
    names = [
        f"{step}@clients={n}" for step in ("simple-update", "select-only") for n in ("4", "1", "2")
    ]
    assert [step.name for step in found] == ["fill", *names]
    assert [job_of(step)["clients"] for step in found[1:]] == [4, 1, 2, 4, 1, 2]
    assert [step.sweep for step in found] == [None, *["simple-update"] * 3, *["select-only"] * 3]
    assert [step.ordinal for step in found] == sorted({step.ordinal for step in found})


def test_several_lists_have_every_combination_the_first_slowest() -> None:
    found = steps("pgbench", {"clients": [1, 8], "rate": [0, 500.5]}, "select-only")[1:]
    assert [step.name.removeprefix("select-only@") for step in found] == [
        "clients=1,rate=0",
        "clients=1,rate=500.5",
        "clients=8,rate=0",
        "clients=8,rate=500.5",
    ]
    assert [job_of(step)["roles"][0]["pace"].get("per_s") for step in found] == [None, 500.5] * 2


def test_texts_and_what_is_computed_can_be_swept_and_a_list_of_the_files_stays_one() -> None:
    found = steps("pgbench", {"protocol": ["simple", "prepared"]}, "select-only")[1:]
    assert [job_of(step)["statements"][0]["protocol"] for step in found] == ["simple", "prepared"]
    given = {"clients": [1, "{2*host_cores}"], "host_cores": 3}
    names = [step.name for step in steps("pgbench", given, "select-only")]
    assert names == ["fill", "select-only@clients=1", "select-only@clients=6"]
    listed = steps("pgbench", {"client_counts": [3, 5]}, "select-only")
    assert [step.name for step in listed] == ["fill", "select-only"]


def test_what_is_not_swept_has_the_largest_value() -> None:
    fill, *_ = steps("sysbench", {"clients": [2, 16, 4]}, "point-query")
    assert (fill.name, fill.sweep, job_of(fill)["clients"]) == ("fill", None, 16)


def test_a_plans_list_goes_before_that_of_the_set() -> None:
    found = steps("pgbench", {"clients": [3, 6]}, "select-only", set="scale-up")
    assert [step.name for step in found[1:]] == ["select-only@clients=3", "select-only@clients=6"]


@pytest.mark.parametrize(
    ("parameters", "wanted", "line"),
    [
        ({"clients": []}, "select-only", "clients`: an empty list; write the values"),
        ({"clients": [2, 1, 2]}, "select-only", "clients`: 2 is listed twice"),
        ({"clients": [1, "x"]}, "select-only", "clients`: must be a number, not 'x'"),
        ({"clients": [1, 0]}, "select-only", "clients`: must be at least 1"),
        ({"protocol": ["simple", "a b"]}, "select-only", "checks`: protocol has to be simple"),
        ({"fillfactor": [70, 100]}, "select-only", "fillfactor`: a list, but no selected step"),
        ({"clients": [1, 2], "fillfactor": [70]}, "fill", "clients`: a list, but no selected step"),
    ],
)
def test_a_list_that_cannot_be_swept_is_refused_in_a_line(
    parameters: dict[str, Any], wanted: str, line: str
) -> None:
    found = complaint(parameters, wanted)
    assert line in found
    assert "\n" not in found


def test_a_value_has_to_fit_into_a_steps_name() -> None:
    line = complaint(
        {"htap_isolation": ["SERIALIZABLE", "READ COMMITTED"]}, name="insert-benchmark"
    )
    assert line.startswith("htap_isolation`: 'READ COMMITTED' cannot stand in a step's name, which")


# --- Loads -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters", "loads"),
    [
        ("pgbench", {"clients": [1, 4], "rate": [0, 9]}, [{}]),
        ("pgbench", {"clients": [1, 4], "scale": [1, 3]}, [{"scale": 1}, {"scale": 3}]),
        ("pgbench", {"fillfactor": [70, 100]}, [{"fillfactor": 70}, {"fillfactor": 100}]),
        ("sysbench-oltp", {"clients": [1, 4]}, [{}]),
        ("insert-benchmark", {"clients": [1, 4]}, [{"clients": 1}, {"clients": 4}]),
        (
            "sysbench",
            {"tables": [1, 2], "clients": [1, 2], "rows": [10, 20]},
            [{"tables": t, "rows": rows} for t in (1, 2) for rows in (10, 20)],
        ),
    ],
)
def test_a_list_that_changes_the_load_has_a_load_for_each_value(
    name: str, parameters: dict[str, Any], loads: list[dict[str, int]]
) -> None:
    assert list(workload.of_loads(workload.load(name), parameters, "postgres")) == loads


def test_a_plan_has_the_workload_once_for_each_load(tmp_path: Path) -> None:
    of = made("scale = [1, 2], clients = [1, 8]", tmp_path)
    assert [use.title for use in of.workloads] == ["pgbench@scale=1", "pgbench@scale=2"]
    assert [use.parameters["scale"] for use in of.workloads] == [1, 2]
    assert {workload.used(use, None).name for use in of.workloads} == {
        "pgbench@scale=1",
        "pgbench@scale=2",
    }


def test_a_load_is_named_by_a_value_that_is_written(tmp_path: Path) -> None:
    line = r"workloads\[1\]`: pgbench.toml: key `parameters.scale`: is computed, but each"
    with pytest.raises(PlanError, match=line):
        made('scale = [1, "{host_cores}"]', tmp_path)


def test_a_later_workload_keeps_its_number_in_messages(tmp_path: Path) -> None:
    text = PLAN.replace("PARAMETERS", "scale = [1, 2]")
    text = text.replace("[schedule]", '[[workloads]]\nname = "sysbench"\nsave = "x"\n[schedule]')
    with pytest.raises(PlanError, match=r"workloads\[2\]\.save`"):
        plan.parse(text, tmp_path / "swept.toml")


# --- Their order -------------------------------------------------------------------------------


def test_a_block_goes_once_through_a_sweep_in_its_own_order(tmp_path: Path) -> None:
    of, its = expanded("clients = [1, 2, 4, 8]", tmp_path)
    orders = []
    for number in range(1, 201):
        fill, *swept = schedule.swept(of, number, its)
        assert fill.name == "fill"
        orders.append(tuple(job_of(step)["clients"] for step in swept))
    assert {tuple(sorted(order)) for order in orders} == {COUNTS}
    drawn = orders[::2]
    assert orders[1::2] == [order[::-1] for order in drawn]
    assert len(set(drawn)) > 20  # of 24
    first = Counter(order[0] for order in drawn)
    assert min(first.values()) > 10  # of 100; expected 25 each, and the seed is fixed


def test_the_order_depends_on_the_seed_and_on_no_other_step(tmp_path: Path) -> None:
    of, its = expanded("clients = [1, 2, 4, 8]", tmp_path)
    order = schedule.swept(of, 1, its)
    without = tuple(step for step in its if job_of(step)["clients"] != 4)
    kept = tuple(step for step in order if job_of(step)["clients"] != 4)
    assert schedule.swept(of, 1, without) == kept
    other = plan.parse(of.text.replace("seed = 7", "seed = 8"), None)
    assert any(schedule.swept(other, n, its) != schedule.swept(of, n, its) for n in (1, 3))


def test_what_leads_to_a_kept_state_stays_as_the_file_has_it(tmp_path: Path) -> None:
    of, its = expanded("clients = [1, 2, 4, 8]", tmp_path)
    third = its[2]
    for number in range(1, 20):
        found = schedule.swept(of, number, its, through=third.ordinal)
        assert found[:3] == its[:3]
        assert sorted(one.name for one in found[3:]) == sorted(one.name for one in its[3:])


@pytest.mark.long
def test_a_run_takes_all_arms_through_the_order_that_it_notes(tmp_path: Path) -> None:
    program.find("dyno-loadgen")
    of = made("scale = [1, 2], clients = [1, 2, 4]", tmp_path)
    folder = blocks.run(of, tmp_path / "results", wait=True).folder
    for block in Results.open(folder).blocks():
        noted = block.order().sweeps
        assert sorted(noted) == ["pgbench@scale=1", "pgbench@scale=2"]
        for run in block.runs():
            for name, its in noted.items():
                swept = [step for step in (run.path / name).iterdir() if "select" in step.name]
                swept.sort(key=lambda step: (step / "done.json").stat().st_mtime_ns)
                assert [step.name.split("-", 1)[1] for step in swept] == [*its["select-only"]]


@pytest.mark.long
def test_workloads_of_a_block_are_taken_in_the_order_that_it_notes_with_their_arms(tmp_path: Path):
    program.find("dyno-loadgen")
    of = made("scale = [1, 2], clients = [1, 2]", tmp_path)
    folder = blocks.run(of, tmp_path / "results", wait=True).folder
    noted = [block.passes() for block in Results.open(folder).blocks()]
    assert [[*its] for its in noted[:2]] == [
        ["pgbench@scale=1", "pgbench@scale=2"],
        ["pgbench@scale=2", "pgbench@scale=1"],
    ]
    orders = [order for its in noted for order in its.values()]
    assert all(after[0] == before[-1] for before, after in pairwise(orders))
    for block, its in zip(Results.open(folder).blocks(), noted, strict=True):
        begun = {
            (title, run.arm): min(
                (step / "step.json").stat().st_mtime_ns for step in (run.path / title).iterdir()
            )
            for run in block.runs()
            for title in its
        }
        walked = [(title, arm) for title, order in its.items() for arm in order]
        assert sorted(begun, key=lambda one: begun[one]) == walked
    comparison = compare.load(folder)
    places = {
        (run.facts.workload, run.block, run.arm): run.position
        for step in comparison.steps
        for cell in step.cells
        for run in cell.runs
    }
    for number, its in enumerate(noted, start=1):
        for title, order in its.items():
            assert [places[title, number, arm] for arm in order] == [*range(len(order))]
