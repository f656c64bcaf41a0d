"""The workload ybio as it is expanded: keys, batches, kinds of batches, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest

from dbdyno import plan, workload
from dbdyno.model import Json, Step
from dbdyno.model.error import WorkloadError
from workload_reader import job_of

PLAN = Path(__file__).resolve().parents[1] / "dbdyno/plan/shipped" / "ybio-small.toml"
ENGINES = ("postgres", "mysql", "mariadb")


def steps(engine: str = "postgres", set: str = "outside", **given: Any) -> dict[str, Step]:
    made = workload.expand(workload.load("ybio", set=set), given, engine)
    return {step.name: step for step in made}


def value(step: Step, name: str) -> Json:
    (found,) = [one for one in job_of(step)["values"] if one["name"] == name]
    return found


def role(step: Step) -> Json:
    (found,) = job_of(step)["roles"]
    return found


def test_each_set_has_steps_of_its_own() -> None:
    for engine in ENGINES:
        assert list(steps(engine)) == ["setup", "run"]
        assert list(steps(engine, initial_count=1)) == ["setup", "initial-count", "run"]
    assert list(steps(set="procedures")) == ["call-setup", "call-run"]
    assert steps()["run"].tables == ("bench0001",)


@pytest.mark.parametrize(
    ("run_rows", "batch_size", "first", "keys"),
    [
        (1_000_000, 10_000, [1, 989_999], 10_000),
        (102, 100, [1, 1], 100),
        (101, 100, [1, 1], 100),
        (100, 100, [0, 0], 100),  # as published: trunc(1 - random)
        (100, 10_000, [0, 0], 100),
    ],
)
def test_a_batch_begins_where_the_published_formula_has_it(
    run_rows: int, batch_size: int, first: list[int], keys: int
) -> None:
    run = steps(tab_rows=1_000_000, run_rows=run_rows, batch_size=batch_size)["run"]
    assert value(run, "first")["uniform"] == first
    assert value(run, "last")["add"]["plus"] == keys - 1
    assert run.headline is not None
    assert run.headline.each == keys


@pytest.mark.parametrize(
    ("pct", "choose"),
    [(0, {"select": 100}), (42, {"select": 58, "update": 42}), (100, {"update": 100})],
)
def test_kinds_of_batches_go_by_what_has_fallen_behind(pct: int, choose: dict[str, int]) -> None:
    run = steps(pct_update=pct)["run"]
    programs = [one["name"] for one in job_of(run)["programs"]]
    weights = {programs[one["program"]]: one["weight"] for one in role(run)["choose"]}
    assert list(weights.items()) == list(choose.items())  # of equals the first is taken: a read
    assert role(run).get("choice") == "deficit"
    assert run.writes == bool(pct)


def test_jobs_have_a_table_each_or_share_one() -> None:
    run = steps(clients=4, tables=2, run_seconds=7, warmup_s=1)["run"]
    assert (role(run)["connections"], role(run)["table"]["by"]) == (4, "by_connection")
    assert (job_of(run)["stop"]["seconds"], job_of(run)["stop"]["warmup_s"]) == (7, 1)
    once = steps(clients=4, run_seconds=0, warmup_s=1)["run"]
    assert role(once)["stop"] == {"operations": 4}
    assert job_of(once)["stop"]["seconds"] is None


def test_loads_side_by_side_have_all_batches_of_all_tables() -> None:
    setup = steps(tables=10, jobs_setup=5, tab_rows=1050, batch_size_setup=100)["setup"]
    assert (role(setup)["connections"], role(setup)["stop"]) == (5, {"operations": 110})
    assert role(setup)["table"]["by"] == "in_turn"
    calls = steps(set="procedures", tables=10, jobs_setup=20)["call-setup"]
    assert (role(calls)["connections"], role(calls)["stop"]) == (10, {"operations": 10})


def test_batches_are_prepared_by_the_protocol_or_by_sql_or_not_at_all() -> None:
    protocols = {
        (engine, prepared): job_of(steps(engine, prepared=prepared)["run"])["statements"][0][
            "protocol"
        ]
        for engine in ("postgres", "mysql")
        for prepared in (0, 1)
    }
    assert protocols == {
        ("postgres", 0): "simple",
        ("postgres", 1): "prepared",
        ("mysql", 0): "simple",
        ("mysql", 1): "prepared",
    }
    by_sql = job_of(steps(protocol="execute")["run"])["statements"][0]
    assert (by_sql["protocol"], by_sql["types"]) == ("execute", ["bigint", "bigint"])


def test_a_sweep_has_the_names_of_what_it_sweeps() -> None:
    given = {"batch_size": [100, 10_000], "pct_update": [0, 20]}
    assert list(steps(**given))[1:] == [
        f"run@batch_size={size},pct_update={pct}" for size in (100, 10_000) for pct in (0, 20)
    ]
    assert "call-run@batch_size=100,pct_update=0" in steps(set="procedures", **given)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tab_rows": 500}, "batch_size_setup has to be from 1 to tab_rows"),
        ({"run_rows": 2_000_000}, "run_rows has to be from 1 to tab_rows"),
        ({"pct_update": 101}, "pct_update has to be from 0 to 100"),
        ({"batch_size": 0}, "batch_size has to be at least 1"),
        ({"unit": "pages"}, "unit has to be rows or blocks"),
        ({"filler": 0}, "filler has to be at least 1"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(given: dict[str, Any], sentence: str) -> None:
    for engine in ENGINES:
        with pytest.raises(WorkloadError, match=sentence):
            steps(engine, **given)


def test_the_procedures_are_of_postgresql_alone() -> None:
    with pytest.raises(WorkloadError, match="take the set outside"):
        steps("mysql", set="procedures")


def test_the_study_calls_the_procedures_of_the_post_and_so_does_a_plan_that_names_no_set() -> None:
    """The post of 2023-11-24: CALL setup by 100,000 rows, CALL runit with pct_update 100."""
    (use,) = plan.load(PLAN.parent / "studies" / "ybio.toml").workloads
    loaded = workload.load("ybio", set=use.set)
    made = workload.expand(loaded, dict(use.parameters), "postgres")
    assert [step.name for step in made] == [
        *("call-setup", "call-run@batch_size=1", "call-run@batch_size=10000")
    ]
    load, *runs = [str(job_of(step)["statements"][0]["pieces"]) for step in made]
    assert "CALL setup(" in load
    assert "tab_rows => 1000000, batch_size => 100000," in load
    assert all("CALL runit(" in run and "pct_update => 100," in run for run in runs)
    assert workload.load("ybio").set == "procedures"


@pytest.mark.parametrize(("clients", "repeat"), [(1, "false"), (4, "false"), (5, "true")])
def test_a_batch_is_a_subtransaction_only_where_jobs_meet_in_a_table(clients: int, repeat: str):
    """Its block for deadlocks takes a second transaction id of each batch, as not published."""
    run = steps(set="procedures", clients=clients, tables=4)["call-run"]
    assert f"repeat_deadlocks => {repeat}," in str(job_of(run)["statements"][0]["pieces"])


def test_the_replica_is_read_cold_where_its_caches_may_be_emptied() -> None:
    reads = ["read-first", "empty-buffers", "read-cold", "read-again"]
    assert list(steps(set="replica", cold=1)) == ["call-setup", "call-run", *reads]
    assert list(steps(set="replica")) == ["call-setup", "call-run", "read-first", "read-again"]


def test_the_plan_has_both_sets() -> None:
    loaded = plan.load(PLAN)
    (use,) = loaded.workloads
    assert use.steps is not None
    assert {"setup", "run", "call-run"} <= set(use.steps)
